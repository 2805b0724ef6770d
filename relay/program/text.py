"""The text form of a program: what `print(exe.program)` shows and an artifact stores.

    relay program 1

    data List[int32] { Cons(int32, List[int32]); Nil }

    kernel @relu_4(float32[4]) -> (float32[4]) in_place=((0, 0),) operators=("nn.relu",)

    constant "weight": float32[4]

    function @main("x" = %0: float32[4]) {
      %1: float32[4] = alloc
      invoke @relu_4(%0) -> (%1)
      return %1
    }

The text has everything but the code of kernels, which is in object files under the same names:
`parse(to_text(program))` is the program without it. Instructions are described in
`relay.program.program`; whitespace is insignificant. A register has its type where it is written;
its number is its index in the registers of the function. Names that are not identifiers are quoted.
"""

from relay.program.printer import VERSION as VERSION
from relay.program.printer import instruction_text as instruction_text
from relay.program.printer import to_text as to_text
from relay.program.reader import parse as parse

__all__ = ["VERSION", "instruction_text", "parse", "to_text"]
