"""Tensors made from a shape or a few numbers."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.elements import Elements
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.shaping import whole_shape
from relay.frontend.onnx.types import element_type
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const

table = Converters()


@table("ConstantOfShape")
def constant_of_shape(node: Node, wanted: Expr) -> Expr:
    given = np.asarray(node.attribute("value", np.zeros(1, "float32")))
    if given.size != 1:
        raise node.refused("`value` has other than one element", "1", str(given.size))
    value = node.importer.constant(given.reshape(()))
    wanted = whole_shape(node, wanted)
    found = op.full(value, wanted, dtype=node.dtype(value))
    known = node.elements(wanted)
    if known is None or node.constant(wanted) is not None:
        return found
    return node.declare(found, known, node.dtype(value))


@table("Range")
def arange(node: Node, start: Expr, limit: Expr, delta: Expr) -> Expr:
    dtype = node.dtype(start)
    first, last, step = (_scalar(node, one) for one in (start, limit, delta))
    found = op.arange(first, last, step, dtype=dtype)
    length = _steps(node.elements(start), node.elements(limit), node.elements(delta))
    return found if length is None else node.declare(found, (length,), dtype)


def _scalar(node: Node, value: Expr) -> Expr:
    """A scalar; the extent of a tensor is a constant where it is static."""
    known = node.elements(value)
    if known and isinstance(known[0], int):
        return const(known[0], node.dtype(value))
    return node.let(op.reshape(value, ()))


def _steps(start: Elements | None, limit: Elements | None, delta: Elements | None) -> Dim | None:
    """The number of elements, where it is a named dimension."""
    if delta != (1,) or not start or not limit or start[0] is None or limit[0] is None:
        return None
    length = limit[0] - start[0]
    return length if not isinstance(length, int) and dims.sign_of(length) in (0, 1) else None


@table("EyeLike")
def eye_like(node: Node, data: Expr) -> Expr:
    wanted = node.attribute("dtype")
    dtype = node.dtype(data) if wanted is None else element_type(wanted)
    diagonal = node.attribute("k", 0)
    # the upper triangle with the diagonal, less the one without it
    ones = op.ones_like(op.cast(data, "int8"))
    upper, above = (op.trilu(ones, int64(k)) for k in (diagonal, diagonal + 1))
    return op.cast(upper - above, dtype)
