"""Uses of supported Python that are refused, each where it stands; `docs/python.md` lists them."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay import Tensor

PAGE = (Path(__file__).parents[3] / "docs/python.md").read_text(encoding="utf-8")
REFUSED = {}  # what the page calls it: the function, what the error says, and what it points at

weights = {"a": 1}
outside = relay.var("outside")


def not_decorated(x):
    return x


class NotDeclared:
    pass


@relay.data
class Shape:
    pass


@relay.data
class Circle(Shape):
    radius: float


@relay.data
class Square(Shape):
    side: float


@relay.function
def grow(n):
    return grow((n, n))


def refused(name, message, at, hint=""):
    def add(function):
        assert name not in REFUSED
        REFUSED[name] = function, message, at, hint
        return function

    return add


# --- calls


@refused("a function that is not decorated", "cannot be called", "not_decorated(x)", "@relay.func")
def _(x: int):
    return not_decorated(x)


@refused("`print`", "`print` cannot be called", "print(x)", "print it outside")
def _(x: int):
    print(x)
    return x


@refused("`isinstance`", "cannot be called", "isinstance(s, Circle)", "match x: case")
def _(s: Shape):
    return isinstance(s, Circle)


@refused("a NumPy function of a tensor", "cannot be called", "np.tanh(x)", "relay.tanh")
def _(x: Tensor[3]):
    return np.tanh(x)


@refused("a `math` function of a value", "cannot be called", "math.sqrt(x)", "relay.sqrt")
def _(x: float):
    return math.sqrt(x)


@refused("a method of a tensor", "values have no method `sum`", "x.sum()", "relay.sum(x, …)")
def _(x: Tensor[3]):
    return x.sum()


@refused("a method that changes a list", "`append` changes a list", "xs.append(3)", "xs + [x]")
def _(xs: list[int]):
    xs.append(3)
    return xs


@refused("arguments that do not fit", "no argument for `radius`", "Circle()")
def _(x: int):
    return Circle()


@refused("a function at ever more types", "more and more types", "grow((n, n))", "")
def _(n: int):
    return grow(n)


# --- values


@refused("text as a value", "not a value of a Relay program", '"text"', "no text")
def _(x: int):
    return "text"


@refused("an expression from outside", "does not belong to the program", "outside", "pass it")
def _(x: int):
    return x + outside


@refused("a number too large for its type", "does not fit into int32", "x + 10**12")
def _(x: int):
    return x + 10**12


@refused("a name that is not defined", "name `undefined` is not defined", "undefined")
def _(x: int):
    return x + undefined


@refused("a computed index into Python's data", "must be known", "i", "relay.stack")
def _(i: int):
    return weights[i]


@refused("a computed index into a tuple", "the index must be known", "i")
def _(t: tuple[int, float], i: int):
    return t[i]


@refused("an index outside of an axis", "index 5 is outside of axis 0", "5")
def _(x: Tensor[3]):
    return x[5]


@refused("`@` of other ranks", "`@` multiplies two matrices", "x @ x", "relay.nn.dense")
def _(x: Tensor[3]):
    return x @ x


@refused("types that do not fit", "operands do not broadcast", "x + y")
def _(x: Tensor[3, 4], y: Tensor[5]):
    return x + y


# --- conditions


@refused("`is` and `in` of values", "`is` and `in` ask about", "x in xs")
def _(x: int, xs: list[int]):
    return x in xs


@refused(
    "`is None` of an option", "found out by taking it apart", "x is None", "match x: case Some"
)
def _(x: int | None):
    return 1 if x is None else 2


@refused("a number as a condition", "not a scalar bool", "n", "say n != 0")
def _(n: int):
    return 1 if n else 2


@refused("a tensor as a condition", "not a scalar bool", "x > 0", "relay.all")
def _(x: Tensor[3]):
    if x > 0:
        x = -x
    return x


# --- variables


@refused("a variable without a value", "has no value on some of the ways", "y")
def _(x: int):
    if x > 0:
        y = 1
    return y


@refused("a variable of two types", "has not one type here", "y")
def _(x: int):
    if x > 0:
        y = x
    else:
        y = relay.zeros((2,), "float32")
    return y


@refused("a variable that a nested function changes", "before it has a value", "y", "return it")
def _(x: int):
    y = x

    def g():
        y += 1  # noqa: F823
        return y

    return g()


@refused("a variable that changes after a nested function took it", "assigned anew", "g")
def _(x: int):
    def g():
        return x

    x = x + 1
    return g()


@refused("an item of a list by assignment", "only a tuple can be taken apart", "a, b = xs")
def _(xs: list[int]):
    a, b = xs
    return a + b


# --- loops


@refused("a type that changes in a loop", "changes its type in the loop", "for _ in range(n):")
def _(x: Tensor[3], n: int):
    for _ in range(n):
        x = x[None]
    return x


@refused("a loop that nothing leaves", "nothing leads out of this loop", "while True:")
def _(x: int):
    while True:
        x += 1


@refused("a computed step of a range", "step of a range", "range(0, n, k)")
def _(n: int, k: int):
    total = 0
    for i in range(0, n, k):
        total += i
    return total


@refused("`break` in a loop over Python's data", "is written out", "break")
def _(n: int):
    for k in (1, 2):
        if n > k:
            break
    return n


@refused("Python's data beside a list in `zip`", "in different ways", "zip(xs, (1, 2))")
def _(xs: list[int]):
    total = 0
    for x, y in zip(xs, (1, 2)):
        total += x * y
    return total


@refused("`zip(…, strict=True)`", "a program cannot fail", "True", "")
def _(xs: list[int], ys: list[int]):
    return [x + y for x, y in zip(xs, ys, strict=True)]


@refused("a computed test of Python's data", "whether there is an element", "k < n")
def _(n: int):
    return [k for k in (1, 2, 3) if k < n]


# --- match


@refused("a match that leaves cases out before the end", "no result", "match s:")
def _(s: Shape):
    match s:
        case Circle(radius):
            return radius


@refused("a class that is not declared", "no constructor of a data type", "NotDeclared")
def _(s: Shape):
    match s:
        case NotDeclared():
            return 1
    return 2


@refused("a field of one of several constructors", "several constructors", "s.radius")
def _(s: Shape):
    return s.radius


@refused("`as` of a part", "`as` names the whole", "[1, *_] as ys", "once more inside")
def _(xs: list[list[int]]):
    match xs:
        case [[1, *_] as ys, *_]:
            return ys
    return []


@refused("`*rest` before the end of a list", "stands at the end", "*rest")
def _(xs: list[int]):
    match xs:
        case [*rest, x]:
            return x
    return 0


@refused("a number as a pattern of data", "only scalars are compared", "3")
def _(s: Shape):
    match s:
        case 3:
            return 1
    return 2


@refused("a guard behind several patterns with numbers", "a guard behind several", "x > 1", "each")
def _(xs: list[int]):
    match xs:
        case [0, x] | [x, 0] if x > 1:
            return x
    return 0


# --- functions and annotations


@refused("a way without a result", "may end without a result", "")
def _(x: int):
    if x > 0:
        return x


@refused("results of two types", "returns values of different types", '(2,), "float32")')
def _(x: int):
    if x > 0:
        return x
    return relay.zeros((2,), "float32")


@refused("a parameter without a type in the entry", "no program without types", "x", ".at(…)")
def _(x):
    return x


@refused("an annotation that is no type", "not a type of a Relay value", "s: NotDeclared")
def _(s: NotDeclared):
    return 1


@refused("an annotation `str`", "not a type of a Relay value", "s: str", "leave it out")
def _(s: str):
    return 1


@refused("an annotation `Any`", "not a type of a Relay value", "s: Any", "leave it out")
def _(s: Any):
    return s


@refused("a choice of types", "not a type of a Relay value", "s: int | float", "relay.data class")
def _(s: int | float):
    return 1


@refused("an element type among dimensions", "is an element type", 'x: Tensor[3, "int8"]')
def _(x: Tensor[3, "int8"]):
    return x


def test_the_page_lists_them():
    table = re.search(r"## Where else an error waits\n(.*?)(\n## |\Z)", PAGE, re.DOTALL)[1]
    rows = re.findall(r"^\| (.*?) \| .*? \|$", table, re.MULTILINE)
    assert [name for name in rows if name not in ("what is written", "---")] == list(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_where_it_stands(name):
    function, message, at, hint = REFUSED[name]
    with pytest.raises(relay.DiagnosticError) as raised:
        _ = relay.function(function).module
    error = raised.value.diagnostics[0]
    assert message in error.message
    assert hint in (error.hint or "")
    assert error.span.source_name.name == __file__
    lines = Path(__file__).read_text().splitlines()
    line = lines[error.span.line - 1]
    end = error.span.end_column - 1 if error.span.end_line == error.span.line else None
    assert at in line[error.span.column - 1 : end]
    assert f"{error.span.line}:{error.span.column}" in str(raised.value)
    assert line.strip() in str(raised.value)
