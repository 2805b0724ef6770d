"""Sums of products that tensor cores compute: matrix products and convolutions.

    c[i, j] = sum(float32(a[i, k]) * float32(b[k, j]))       rows (i), columns (j), inner (k)

The factors are reads, also where an index lies inside of an image only; the axes of the result
index the left factor (rows), the right one (columns), or both (batch).
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.te import access
from relay.te import expr as te
from relay.te.reduction import SUM
from relay.te.schedule import Stage
from relay.te.simplify import Simplifier

# The types of factors, and the types of sums that tensor cores give for them.
FACTORS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
    "float32": ("float32",),
    "int8": ("int32",),
}
_FEW = 8  # rows or columns that are not worth a tile


@frozen
class Product:
    """A sum of products in terms of axes."""

    left: te.Expr
    right: te.Expr
    batch: tuple[te.Axis, ...]
    rows: tuple[te.Axis, ...]
    columns: tuple[te.Axis, ...]
    inner: tuple[te.Axis, ...]  # of which the last is contiguous in the left factor

    @property
    def dtype(self) -> str:
        """The type of the factors."""
        return self.left.dtype


def recognize(stage: Stage) -> Product | None:
    """The sum of products that a stage is, if it is one."""
    if not stage.is_reduction:
        return None
    op = stage.computation
    reduction = op.reduction
    assert reduction is not None
    if reduction.combiner is not SUM or len(op.bodies) != 1:
        return None
    value = uncast(reduction.values[0])
    if not isinstance(value, te.Binary) or value.op != "mul":
        return None
    left, right = uncast(value.left), uncast(value.right)
    if left.dtype != right.dtype or reduction.dtype not in FACTORS.get(left.dtype, ()):
        return None
    if not (_is_factor(left) and _is_factor(right)):
        return None
    in_left, in_right = te.variables(left), te.variables(right)
    axes = [axis for axis in op.axes if int(axis.extent.value) > 1]
    inner = [axis for axis in op.reduction_axes if axis in in_left and axis in in_right]
    if len(inner) != len(op.reduction_axes) or not all(a in in_left | in_right for a in axes):
        return None
    batch = [axis for axis in axes if axis in in_left and axis in in_right]
    rows = [axis for axis in axes if axis in in_left and axis not in in_right]
    columns = [axis for axis in axes if axis in in_right and axis not in in_left]
    if axes and axes[-1] in rows and axes[-1] not in columns:
        # columns are contiguous in the result
        left, right, rows, columns = right, left, columns, rows
    if _count(rows) * _count(columns) == 0 or max(_count(rows), _count(columns)) <= _FEW:
        return None
    if min(_count(rows), _count(columns)) < 2 or _count(inner) < 16:
        return None
    ordered = _contiguous_last(inner, left)
    return Product(left, right, tuple(batch), tuple(rows), tuple(columns), ordered)


def uncast(expr: te.Expr) -> te.Expr:
    """What is converted without loss to a wider type."""
    while isinstance(expr, te.Cast) and _widens(expr.operand.dtype, expr.dtype):
        expr = expr.operand
    return expr


def _widens(narrow: str, wide: str) -> bool:
    return (narrow, wide) in {
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("int8", "int32"),
        ("int8", "int16"),
        ("int16", "int32"),
    }


def _is_factor(expr: te.Expr) -> bool:
    """Whether an expression is a read, or a read in a part of the points and 0 in the others."""
    while isinstance(expr, te.Select):
        other = expr.if_false
        if not isinstance(other, te.Const) or other.value != 0:
            return False
        if any(isinstance(part, te.Read) for part in te.reads(expr.condition)):
            return False
        expr = expr.if_true
    return isinstance(expr, te.Read)


def _contiguous_last(inner: list[te.Axis], left: te.Expr) -> tuple[te.Axis, ...]:
    """The axes by their strides in a factor, the smallest last."""
    simplify = Simplifier()
    for axis in inner:
        simplify.bind(axis, axis.extent)
    (read,) = te.reads(left)[-1:]
    strides = {axis: access.stride(read, axis, simplify) or 0 for axis in inner}
    return tuple(sorted(inner, key=lambda axis: -strides[axis]))


def _count(axes: list[te.Axis]) -> int:
    total = 1
    for axis in axes:
        total *= int(axis.extent.value)
    return total
