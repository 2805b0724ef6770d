"""The element types of results: torch's type promotion.

int32[3] + float32[3]     float32
int32[3] + 1.5            float32    a Python number only decides the kind of number
int8[3] + int64[]         int8       so does a tensor without axes beside one with axes
uint8[3] + int8[3]        int16
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from relay import dtypes, op
from relay.frontend.pytorch.node import Node, Number
from relay.ir.dims import Symbol
from relay.ir.expr import Expr

DEFAULT = "float32"  # torch's default element type
_SIGNED = ("int8", "int16", "int32", "int64")
_FLOATS = ("float16", "float32", "float64")


def category(dtype: str) -> int:
    """0 for bool, 1 for integers, 2 for floats."""
    return 0 if dtype == "bool" else 2 if dtypes.is_float(dtype) else 1


def joined(one: str, other: str) -> str:
    """The element type that two element types promote to."""
    if one == other:
        return one
    if category(one) != category(other):
        return max(one, other, key=category)
    if category(one) == 2:
        halves = {one, other} & {"float16", "bfloat16"}
        wide = {one, other} & {"float32", "float64"}
        return (
            max(wide, key=_FLOATS.index) if wide else DEFAULT if len(halves) == 2 else halves.pop()
        )
    if "uint8" not in (one, other):
        return max(one, other, key=dtypes.bits)
    signed = other if one == "uint8" else one
    return "int16" if signed == "int8" else signed


def result_type(node: Node, operands: Iterable[Number]) -> str:
    """The element type of a result of operands: tensors with axes, then those without axes, then
    Python's numbers, each deciding only where it is of a larger category."""
    levels: list[list[str]] = [[], [], []]
    for one in operands:
        if isinstance(one, Expr) and one in node.scope.numbers:
            levels[2].append(DEFAULT if node.dtype(one) == "float64" else node.dtype(one))
        elif isinstance(one, Expr):
            levels[0 if node.rank(one) else 1].append(node.dtype(one))
        else:
            levels[2].append(_of_number(one))
    found: str | None = None
    for level in levels:
        if level:
            highest = reduce(joined, level)
            if found is None:
                found = highest
            elif category(highest) > category(found):
                found = DEFAULT if level is levels[2] and category(highest) == 2 else highest
    assert found is not None
    return found


def _of_number(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int | Symbol) else DEFAULT


def promoted(node: Node, *operands: Number, dtype: str | None = None) -> list[Expr]:
    """The operands as tensors of their common element type, or of a given one."""
    wanted = dtype or result_type(node, operands)
    return [node.scalar(one, wanted) for one in operands]


def as_float(node: Node, value: Number) -> Expr:
    """A tensor of integers or bools as floats of the default type; floats unchanged."""
    dtype = result_type(node, [value])
    return node.scalar(value, dtype if dtypes.is_float(dtype) else DEFAULT)


def wide(node: Node, value: Number, function: Callable[[Expr], Expr]) -> Expr:
    """A function of floats, which for narrow ones is computed in float32 and rounded once."""
    data = as_float(node, value)
    dtype = node.dtype(data)
    if dtypes.bits(dtype) >= 32:
        return function(data)
    return op.cast(function(node.as_dtype(data, DEFAULT)), dtype)


def accumulated(node: Node, value: Expr, dtype: str | None) -> Expr:
    """The operand of a sum: of the given element type, integers and truth values as int64."""
    wanted = dtype or ("int64" if category(node.dtype(value)) < 2 else node.dtype(value))
    return node.as_dtype(value, wanted)


def cast(node: Node, value: Expr, dtype: str) -> Expr:
    """A tensor converted as torch does: to bool, what is not 0 is true; integers wrap."""
    found = node.dtype(value)
    if found == dtype:
        return value
    if dtype == "bool":
        return node.let(op.not_equal(value, node.number(0, value)))
    if dtypes.is_float(found) and dtypes.is_integer(dtype) and dtypes.bits(dtype) < 32:
        value = node.as_dtype(value, "int64")
    return node.as_dtype(value, dtype)


def truth(node: Node, value: Number) -> Expr:
    """Whether elements are nonzero."""
    return cast(node, node.tensor(value), "bool")
