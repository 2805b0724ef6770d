"""Cumulative sums and products along an axis, from either end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relay import op
from relay.frontend.common.checking import as_scalar, within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Call, Expr, If

table = Converters()


def _scan(operator: Callable[..., Call], node: Node, data: Expr, axis: Expr) -> Expr:
    """The axis is an input; where it is known at run time only, there is a branch per axis."""
    rank = node.rank(data)
    if rank == 0:
        raise node.misfit("a scalar has no axis", found=str(node.type_of(data)))
    known = node.constant(axis)
    if known is not None:
        if known.size != 1:
            raise node.misfit("the axis is not one number", found=str(node.type_of(axis)))
        return _along(operator, node, data, node.axis_of(known.item(), rank))
    given = as_scalar(node, axis, "the axis is not one number")
    expected = f"an axis of {rank}"
    data = within(node, given, -rank, rank - 1, "the axis is out of range", expected, of=data)
    found = _along(operator, node, data, rank - 1)
    for front in range(rank - 1):
        chosen = [op.equal(given, node.number(one, axis)) for one in (front, front - rank)]
        test = node.let(op.logical_or(*chosen))
        found = If(test, _along(operator, node, data, front), found)
    return found


def _along(operator: Callable[..., Call], node: Node, data: Expr, axis: int) -> Expr:
    exclusive = bool(node.attribute("exclusive", 0))
    if not node.attribute("reverse", 0):
        return operator(data, axis=axis, exclusive=exclusive)
    backwards = op.reverse(data, axis=axis)
    return op.reverse(operator(backwards, axis=axis, exclusive=exclusive), axis=axis)


table.add("CumSum", partial(_scan, op.cumsum))
table.add("CumProd", partial(_scan, op.cumprod))
