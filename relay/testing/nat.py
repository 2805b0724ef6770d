"""Natural numbers as data (`std/nat.rly`): from integers to values and programs, and back."""

from __future__ import annotations

from relay.errors import RelayError
from relay.interpreter.values import ConstructorValue
from relay.ir.expr import Call, Expr
from relay.prelude import Prelude


def add_nat_definitions(prelude: Prelude) -> None:
    """Add the type `nat` and its functions to the prelude's module."""
    prelude.mod.import_from_std("nat.rly")


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """The integer that a value of type `nat` stands for."""
    _, zero, succ = prelude.mod.get_type("nat")
    total = 0
    while n.is_built_by(succ):
        (n,) = n.fields  # type: ignore[assignment]
        total += 1
    if not n.is_built_by(zero):
        raise RelayError(f"{n!r} is not a natural number")
    return total


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """The value of type `nat` that stands for `n`."""
    _, zero, succ = prelude.mod.get_type("nat")
    made = ConstructorValue(zero.tag, (), zero)
    for _ in range(_checked(n)):
        made = ConstructorValue(succ.tag, (made,), succ)
    return made


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """A program that computes `make_nat_value(prelude, n)`."""
    _, zero, succ = prelude.mod.get_type("nat")
    made = Call(zero, ())
    for _ in range(_checked(n)):
        made = Call(succ, (made,))
    return made


def _checked(n: int) -> int:
    if n < 0:
        raise RelayError(f"{n} is not a natural number")
    return n
