"""What nodes give besides tensors: variables, lists of tensors, complex numbers.

These are no values of a program: a variable is the value that it has at one place of it, and a list
is a tensor of its elements, stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from relay.immutable import frozen
from relay.ir.expr import Expr


@frozen
class Variable:
    """A variable by its name; a reference is read where a tensor is asked for."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None = None
    is_reference: bool = False


@frozen
class TensorList:
    """A `TensorList` or the content of a `TensorArray`: the elements stacked along a first axis, or
    only their number, as long as nothing is known of their shapes."""

    dtype: str
    rows: Expr | None
    count: Expr  # as an int64 scalar
    shape: tuple[int, ...] | None = None  # of an element, as it is declared: -1 for dynamic extents


@frozen
class Complex:
    """Complex numbers."""

    real: Expr
    imaginary: Expr


@frozen
class Nothing:
    """No value: the handle of a `TensorArray`, whose content is its flow."""

    about: TensorList | None = None


Value: TypeAlias = "Expr | Variable | TensorList | Complex | Nothing"
KINDS = {Variable: "a variable", TensorList: "a list", Complex: "complex", Nothing: "no tensor"}


def parts_of(value: Value) -> Sequence[Expr]:
    """The tensors in a value."""
    match value:
        case Expr():
            return (value,)
        case Complex(real=real, imaginary=imaginary):
            return real, imaginary
        case TensorList(rows=rows, count=count):
            return (count,) if rows is None else (rows,)
    return ()


def with_parts(value: Value, parts: Sequence[Expr]) -> Value:
    """A value of the same kind with other tensors."""
    match value:
        case Expr():
            return parts[0]
        case Complex():
            return Complex(parts[0], parts[1])
        case TensorList(rows=None):
            return replace(value, count=parts[0])
        case TensorList():
            return replace(value, rows=parts[0])
    return value
