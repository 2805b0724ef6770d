"""Functions hand each other any number of arguments, and whoever calls last leaves no trace."""

import pytest

import relay
from relay.target.llvm.program.signature import Signature
from tests.executors.engines import native


def test_arguments_without_a_register_are_the_last_of_their_kind():
    numbers = Signature(("i64",) * 7, ("i64",))
    assert numbers.rest() == (5, 6)
    assert numbers.rest(closure=True) == (4, 5, 6)
    assert Signature(("i64",) * 7, ("i64",) * 3).rest() == (4, 5, 6)
    assert Signature(("float", "ptr") * 6, ("i64",)).rest() == (11,)
    assert Signature(("double",) * 10, ()).rest() == (8, 9)
    assert numbers.parameters("abcdefg").count("i64") == 5
    assert numbers.arguments("abcdefg", "").count("i64") == 5


# Each calls the next as its last act: one with 17 arguments, one with 2, and a closure that
# remembers 8 and is given 7; what is built on the way is held by the list that @main adds up.
ROUNDS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @many(
  %n: int32, %xs: List[int32], %a: int32, %b: int32, %c: int32, %d: bool, %ys: List[int32],
  %p: float32, %q: float32, %r: float32, %s: float32, %t: float32, %u: float32, %v: float32,
  %w: float32, %x: float64, %y: float32
) -> (int32, float32, List[int32], bool) {
  if (%n <= 0) {
    (%a + %b + %c, %p + %q + %r + %s + %t + %u + %v + %w + cast(%x, dtype="float32") + %y, %ys, %d)
  } else {
    let %late = fn (
      %k: int32, %one: float64, %two: float32, %more: List[int32], %yes: bool, %i: int32, %j: int32
    ) -> (int32, float32, List[int32], bool) {
      @many(
        %k, %more, %b, %a, %c + %i - %j, %yes, %ys, %q, %p, %r, %s, %t, %u, %v, %w, %one, %two
      )
    };
    @few(%late, Cons(%n, %xs), %n - 1, %x, %y)
  }
}
def @few(
  %late: fn (int32, float64, float32, List[int32], bool, int32, int32)
    -> (int32, float32, List[int32], bool),
  %xs: List[int32], %n: int32, %x: float64, %y: float32
) -> (int32, float32, List[int32], bool) {
  %late(%n, %x, %y, %xs, %n == 0, 3, 2)
}
def @main(%n: int32, %times: int32) -> (int32, float32, int32) {
  if (%times == 0) { (0, 0f, 0) } else {
    let %found = @many(
      %n, Nil, 1, 2, 3, False, Cons(%times, Nil), 1f, 2f, 4f, 8f, 16f, 32f, 64f, 128f, 256f64, 512f
    );
    let %rest = @main(%n, %times - 1);
    let %first = match (%found.2) { Cons(%x, _) => if (%found.3) { %x } else { -1 }, Nil => -2 };
    (%rest.0 + %found.0, %rest.1 + %found.1, %rest.2 + %first)
  }
}
"""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("optimized", [1, 2, 3])
def test_functions_with_many_arguments_go_on_in_others(level, optimized, monkeypatch):
    monkeypatch.setattr("relay.target.llvm.program.compile.PROGRAM_LEVEL", optimized)
    run = native(relay.parse(ROUNDS), level=level)
    for n, times in ((1, 1), (1000, 3), (7, 50)):
        found = [part.item() for part in run.evaluate(n, times)]
        assert found == [times * (6 + n), times * 1023.0, times * (times + 1) // 2]


def test_going_on_leaves_nothing_on_the_stack():
    run = native(relay.parse(ROUNDS), level=0, stack=1 << 16)
    assert run.evaluate(1_000_000, 1)[0].item() == 1_000_006
