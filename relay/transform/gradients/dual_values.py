"""Duals while a program is translated: which expressions hold a value and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

from relay.ir import expr as ir
from relay.ir.types import TensorType, TupleType, Type
from relay.transform.gradients.accumulate import is_differentiable
from relay.tree import Steps


@dataclass(eq=False)
class Leaf:
    """A tensor: its value, and the cell with its gradient, if it has one already. One that does not
    vary depends on nothing of interest."""

    ty: TensorType
    value: ir.Expr
    cell: ir.Expr | None = None
    dual: ir.Expr | None = None  # both as one expression
    varies: bool = True


@dataclass(eq=False)
class Parts:
    """A tuple, by its fields."""

    fields: list[Dual]
    dual: ir.Expr | None = None


@dataclass(eq=False)
class Opaque:
    """A value without parts: a function, data or a reference."""

    dual: ir.Expr


Dual = Leaf | Parts | Opaque


def expanded(dual: ir.Expr, ty: Type) -> Steps[Dual]:
    """The parts of an expression for the dual of a value of type `ty`."""
    if isinstance(ty, TupleType):
        fields: list[Dual] = []
        for index, field in enumerate(ty.fields):
            fields.append((yield expanded(ir.TupleGetItem(dual, index), field)))
        return Parts(fields, dual)
    if not isinstance(ty, TensorType):
        return Opaque(dual)
    if not is_differentiable(ty):
        return Leaf(ty, dual, None, dual)
    return Leaf(ty, ir.TupleGetItem(dual, 0), ir.TupleGetItem(dual, 1), dual)


def leaves(dual: Dual) -> list[Leaf]:
    """The tensors in a dual."""
    found: list[Leaf] = []
    pending = [dual]
    while pending:
        match pending.pop():
            case Leaf() as leaf:
                found.append(leaf)
            case Parts(fields=fields):
                pending += reversed(fields)
    return found


def expression(dual: Dual) -> Steps[ir.Expr]:
    """The expression for a dual whose tensors have cells."""
    if dual.dual is not None:
        return dual.dual
    assert isinstance(dual, Parts), "tensors get an expression with their cell"
    fields: list[ir.Expr] = []
    for field in dual.fields:
        fields.append((yield expression(field)))
    return ir.Tuple(tuple(fields))


def value_of(dual: Dual) -> Steps[ir.Expr]:
    """The expression for the value of a dual of tensors."""
    if isinstance(dual, Leaf):
        return dual.value
    assert isinstance(dual, Parts), "operators take tensors and tuples of them"
    fields: list[ir.Expr] = []
    for field in dual.fields:
        fields.append((yield value_of(field)))
    return ir.Tuple(tuple(fields))
