"""An interpreter becomes a compiler: evaluate it for a program that is known.

The interpreter of a small language of formulas is written in Relay. Partial evaluation for one
formula leaves that formula (the first Futamura projection), which is compiled to native code.
"""

import numpy as np

import relay
from relay.transform import PartialEvaluate, RemoveUnusedFunctions, Sequential

INTERPRETER = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Term {
  Number(float32), Name(int32), Sum(Term, Term), Product(Term, Term), Let(Term, Term),
  IfPositive(Term, Term, Term)
}
def @lookup(%n: int32, %known: List[float32]) -> float32 {
  match? (%known) { Cons(%v, %rest) => if (%n == 0) { %v } else { @lookup(%n - 1, %rest) } }
}
def @value(%t: Term, %known: List[float32]) -> float32 {
  match (%t) {
    Number(%c) => %c,
    Name(%n) => @lookup(%n, %known),
    Sum(%a, %b) => @value(%a, %known) + @value(%b, %known),
    Product(%a, %b) => @value(%a, %known) * @value(%b, %known),
    Let(%a, %b) => @value(%b, Cons(@value(%a, %known), %known)),
    IfPositive(%c, %a, %b) =>
      if (@value(%c, %known) > 0f) { @value(%a, %known) } else { @value(%b, %known) },
  }
}
"""
# let y = x * x + 1 in if x > 0 then y * y else y + 2 * x; names are numbered from inside
FORMULA = """Let(Sum(Product(Name(0), Name(0)), Number(1f)),
  IfPositive(Name(1), Product(Name(0), Name(0)), Sum(Name(0), Product(Number(2f), Name(1)))))"""

module = relay.fromtext(
    f"{INTERPRETER} def @main(%x: float32) {{ @value({FORMULA}, Cons(%x, Nil)) }}"
)
compiled = Sequential([PartialEvaluate(), RemoveUnusedFunctions()])(module)
print(compiled["main"])
text = str(compiled["main"])
assert "match" not in text
assert "Cons" not in text
assert [name.name_hint for name in compiled.functions] == ["main"]


def formula(x):
    y = x * x + 1
    return y * y if x > 0 else y + 2 * x


interpreted, native = relay.compile(module), relay.compile(compiled)
for x in (-1.5, 0.0, 2.5):
    x = np.float32(x)
    assert np.isclose(np.asarray(interpreted(x)), formula(x))
    assert np.isclose(np.asarray(native(x)), formula(x))
times = [one.benchmark(np.float32(2.5)).median for one in (interpreted, native)]
print(f"a call takes {times[0] * 1e6:.1f} µs interpreted, {times[1] * 1e6:.1f} µs evaluated")
