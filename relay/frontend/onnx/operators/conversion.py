"""Constants, and conversions of element types."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.frontend.onnx.computations.narrowing import narrowed
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir.expr import Expr

table = Converters()
table.add_unary({"Identity": lambda data: data})


@table("Constant")
def constant(node: Node) -> Expr:
    """The value is one of several attributes, by type."""
    for name, dtype in _VALUES.items():
        if name in node.attributes:
            return node.importer.constant(np.asarray(node.attribute(name), dtype))
    given = ", ".join(f"`{name}`" for name in node.attributes)
    raise node.refused("there is no value", "numbers", given or "no attribute")


# attributes that hold a value, and its element type where it is not a tensor
_VALUES: dict[str, str | None] = {
    "value": None,
    "sparse_value": None,
    "value_int": "int64",
    "value_ints": "int64",
    "value_float": "float32",
    "value_floats": "float32",
}


@table("Cast")
def cast(node: Node, data: Expr) -> Expr:
    wanted = node.required("to")
    # the name of the type in version 1, its number in others
    dtype = wanted.lower() if isinstance(wanted, str) else element_type(wanted)
    return converted(node, data, _NAMES.get(dtype, dtype))


_NAMES = {"float": "float32", "double": "float64"}


@table("CastLike")
def cast_like(node: Node, data: Expr, like: Expr) -> Expr:
    return converted(node, data, node.dtype(like))


def converted(node: Node, data: Expr, dtype: str) -> Expr:
    """Data in another element type, by the attributes of the node."""
    saturate, rounding = node.attribute("saturate", 1), node.attribute("round_mode", "up")
    return narrowed(node, data, dtype, bool(saturate), rounding)


@table("BitCast")
def bit_cast(node: Node, data: Expr) -> Expr:
    wanted = element_type(node.required("to"))
    # a bool is stored in eight bits
    if "bool" in (wanted, node.dtype(data)):
        return op.cast(data, wanted)
    return op.reinterpret(data, dtype=wanted)
