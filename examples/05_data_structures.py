"""Lists, closures and recursion: programs in the Relay language, run by the interpreter."""

import numpy as np

import relay
from relay.prelude import Prelude

mod = relay.IRModule()
prelude = Prelude(mod)
mod = relay.parse(
    """
    #[version = "0.0.5"]
    def @running_sums(%xs: List[float32]) -> List[float32] {
      let %step = fn (%total: float32, %x: float32) -> (float32, float32) {
        let %next = %total + %x;
        (%next, %next)
      };
      @map_accuml(%step, 0f, %xs).1
    }
    def @countdown(%n: int32) -> List[float32] {
      if (%n == 0) { Nil } else { Cons(cast(%n, dtype="float32"), @countdown(%n - 1)) }
    }
    def @main(%n: int32) {
      let %sums = @running_sums(@countdown(%n));
      (@length(%sums), @foldl(fn (%a: float32, %x: float32) { maximum(%a, %x) }, 0f, %sums))
    }
    """.strip(),
    init_module=mod,
)
run = relay.create_executor("debug", mod).evaluate()
count, largest = run(np.int32(100))
print("length:", count.numpy(), " largest:", largest.numpy())
assert count.numpy() == 100
assert largest.numpy() == 5050.0
