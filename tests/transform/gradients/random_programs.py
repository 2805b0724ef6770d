"""Random programs whose result depends on their parameters, for tests of gradients.

    text = random_program(7)        # `@main(%x: float64, %y: float64) -> float64`

Every construct of the language is in them: closures, recursion, data types with and without
parameters, references to numbers and to functions, matches, branches and tuples. All functions are
smooth, and values stay small.
"""

from __future__ import annotations

from random import Random

LIBRARY = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Shape { Box(float64, int32, float64), Ball(float64), Made(fn (float64) -> float64) }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @total(%l: List[float64]) -> float64 {
  match (%l) { Cons(%h, %t) => sin(%h) + @total(%t), Nil => 0f64 }
}
def @repeat[A](%f: fn (A) -> A, %x: A, %n: int32) -> A {
  if (%n == 0) { %x } else { @repeat(%f, %f(%x), %n - 1) }
}
def @area(%s: Shape, %x: float64) -> float64 {
  match (%s) {
    Box(%a, %n, %b) => @repeat(fn (%z: float64) { tanh(%z * %b) }, %a, %n),
    Ball(%r) => %r * %r * %x,
    Made(%f) => %f(%x),
  }
}
"""


def random_program(seed: int, depth: int = 4) -> str:
    """The text of a program; equal seeds give equal programs."""
    random = Random(seed)
    body = _Writer(random).number(depth, ["x", "y"])
    # so that both parameters matter in every program
    return f"{LIBRARY}def @main(%x: float64, %y: float64) -> float64 {{ %x * {body} + sin(%y) }}\n"


class _Writer:
    """Writes expressions of numbers."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names = 0

    def _name(self, word: str) -> str:
        self._names += 1
        return f"{word}{self._names}"

    def number(self, depth: int, known: list[str]) -> str:
        """An expression over variables of numbers."""
        if depth == 0:
            return self._leaf(known)
        forms = (
            self._operator,
            self._let,
            self._branch,
            self._closure,
            self._tuple,
            self._list,
            self._shape,
            self._reference,
            self._function_reference,
            self._recursion,
            self._state,
        )
        return self._random.choice(forms)(depth - 1, known)

    def _leaf(self, known: list[str]) -> str:
        if self._random.random() < 0.8:
            return f"%{self._random.choice(known)}"
        return f"{self._random.choice((0.25, 0.5, 1.5))}f64"

    def _function(self, depth: int, known: list[str]) -> str:
        name = self._name("a")
        body = self.number(depth, [*known, name, name])
        return f"fn (%{name}: float64) {{ tanh({body}) }}"

    def _operator(self, depth: int, known: list[str]) -> str:
        one, other = self.number(depth, known), self.number(depth, known)
        form = self._random.choice(
            ("({} + {})", "({} * {})", "(sin({}) - {})", "({} / (2f64 + cos({})))")
        )
        return form.format(one, other)

    def _let(self, depth: int, known: list[str]) -> str:
        name, value = self._name("v"), self.number(depth, known)
        return f"(let %{name} = {value}; %{name} * {self.number(depth, [*known, name])})"

    def _branch(self, depth: int, known: list[str]) -> str:
        condition = f"{self._leaf(known)} > 0.6f64"
        one, other = self.number(depth, known), self.number(depth, known)
        name = self._name("b")
        return f"(let %{name} = if ({condition}) {{ {one} }} else {{ {other} }}; %{name})"

    def _closure(self, depth: int, known: list[str]) -> str:
        name, function = self._name("f"), self._function(depth, known)
        one, other = self.number(depth - 1 if depth else 0, known), self._leaf(known)
        return f"(let %{name} = {function}; %{name}({one}) * %{name}({other}))"

    def _tuple(self, depth: int, known: list[str]) -> str:
        name, one, other = self._name("t"), self.number(depth, known), self._leaf(known)
        return f"(let %{name} = ({one}, ({other}, 3)); %{name}.0 + (%{name}.1).0)"

    def _list(self, depth: int, known: list[str]) -> str:
        values = [self.number(depth // 2, known) for _ in range(3)]
        cells = f"Cons({values[0]}, Cons({values[1]}, Cons({values[2]}, Nil)))"
        return f"@total(@map({self._function(depth, known)}, {cells}))"

    def _shape(self, depth: int, known: list[str]) -> str:
        one, other = self.number(depth, known), self._leaf(known)
        made = self._random.choice(
            (f"Box({one}, 2, {other})", f"Ball({one})", f"Made({self._function(depth, known)})")
        )
        return f"@area({made}, {self._leaf(known)})"

    def _reference(self, depth: int, known: list[str]) -> str:
        cell, done, old = self._name("r"), self._name("u"), self._name("o")
        value = self.number(depth, [*known, old])
        return (
            f"(let %{cell} = ref({self.number(depth, known)}); let %{old} = ref_read(%{cell}); "
            f"let %{done} = ref_write(%{cell}, tanh({value})); ref_read(%{cell}) * %{old})"
        )

    def _function_reference(self, depth: int, known: list[str]) -> str:
        cell, function, done = self._name("r"), self._name("f"), self._name("u")
        inside = self._name("a")
        again = f"fn (%{inside}: float64) {{ %{function}(%{function}(%{inside})) }}"
        return (
            f"(let %{cell} = ref({self._function(depth, known)}); "
            f"let %{function} = ref_read(%{cell}); let %{done} = ref_write(%{cell}, {again}); "
            f"let %{(last := self._name('g'))} = ref_read(%{cell}); %{last}({self._leaf(known)}))"
        )

    def _recursion(self, depth: int, known: list[str]) -> str:
        start, count = self.number(depth, known), self._random.randint(1, 3)
        return f"@repeat({self._function(depth, known)}, {start}, {count})"

    def _state(self, depth: int, known: list[str]) -> str:
        """A loop that carries a pair and writes to a reference on its way."""
        cell, pair, done = self._name("r"), self._name("p"), self._name("u")
        step = (
            f"fn (%{pair}: (float64, float64)) {{ let %{done} = ref_write(%{cell}, "
            f"ref_read(%{cell}) + sin(%{pair}.0)); "
            f"(cos(%{pair}.1), {self._leaf(known)} * %{pair}.0) }}"
        )
        name, start = self._name("e"), f"({self.number(depth, known)}, {self._leaf(known)})"
        return (
            f"(let %{cell} = ref({self._leaf(known)}); "
            f"let %{name} = @repeat({step}, {start}, 2); "
            f"%{name}.0 + %{name}.1 * ref_read(%{cell}))"
        )
