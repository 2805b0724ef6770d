"""Peano numbers (`std/nat.rly`): conversions between integers, values and programs."""

from __future__ import annotations

from relay.errors import RelayError
from relay.interpreter.values import ConstructorValue
from relay.ir.expr import Call, Expr
from relay.prelude import Prelude


def add_nat_definitions(prelude: Prelude) -> None:
    """Add the type `nat` and its functions to the prelude's module."""
    prelude.mod.import_from_std("nat.rly")


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """Convert a value of type `nat` to an integer."""
    _, zero, succ = prelude.mod.get_type("nat")
    total = 0
    while n.is_built_by(succ):
        (n,) = n.fields  # type: ignore[assignment]
        total += 1
    if not n.is_built_by(zero):
        raise RelayError(f"{n!r} is not a natural number")
    return total


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """Convert an integer to a value of type `nat`."""
    _, zero, succ = prelude.mod.get_type("nat")
    made = ConstructorValue(zero.tag, (), zero)
    for _ in range(_checked(n)):
        made = ConstructorValue(succ.tag, (made,), succ)
    return made


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """Convert an integer to an expression of type `nat`."""
    _, zero, succ = prelude.mod.get_type("nat")
    made = Call(zero, ())
    for _ in range(_checked(n)):
        made = Call(succ, (made,))
    return made


def _checked(n: int) -> int:
    if n < 0:
        raise RelayError(f"{n} is not a natural number")
    return n
