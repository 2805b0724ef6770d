"""Known elements of the shapes that a model computes (`common/elements.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.frontend.common.elements import ELEMENT_TYPES, Elements, propagate
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, Var
from relay.ir.types import TensorType

# the names of operators by which elements are propagated
_NAMES: Mapping[str, str] = {
    "SHAPE": "Shape",
    "ADD": "Add",
    "SUB": "Sub",
    "MUL": "Mul",
    "DIV": "Div",
    "FLOOR_DIV": "Div",
    "FLOOR_MOD": "Mod",
    "MINIMUM": "Min",
    "MAXIMUM": "Max",
    "LESS": "Less",
    "GREATER": "Greater",
    "EQUAL": "Equal",
    "LOGICAL_AND": "And",
    "LOGICAL_NOT": "Not",
    "NEG": "Neg",
    "SELECT": "Where",
    "SELECT_V2": "Where",
    "CAST": "Cast",
    "SQUEEZE": "Squeeze",
    "EXPAND_DIMS": "Unsqueeze",
    "RESHAPE": "Reshape",
    "CONCATENATION": "Concat",
    "PACK": "Concat",
    "REDUCE_PROD": "ReduceProd",
    "SUM": "ReduceSum",
    "REDUCE_MAX": "ReduceMax",
    "REDUCE_MIN": "ReduceMin",
    "STRIDED_SLICE": "Slice",
    "GATHER": "Gather",
}
END = 2**31 - 1


def note_elements(node: Node, inputs: Sequence[Expr | None], results: Sequence[Expr]) -> None:
    """Record what is known of the elements of a result."""
    name = None if node.info.is_custom else _NAMES.get(node.operator)
    if name is None or not results or not isinstance(results[0], Var):
        return
    ty = results[0].type_annotation
    if not isinstance(ty, TensorType) or len(ty.shape) > 1 or ty.dtype not in ELEMENT_TYPES:
        return
    known = node.known.of
    given = [None if one is None else known(one) for one in inputs]
    data = inputs[0]
    first = None if data is None else node.type_of(data)
    shape = first.shape if isinstance(first, TensorType) else None
    attributes: dict[str, Any] = {}
    if name in ("Reshape", "Unsqueeze", "Squeeze", "ReduceProd", "ReduceSum"):
        given = given[:1]
    if name == "Slice":
        bounds = _bounds(node, given)
        if bounds is None:
            return
        given = [given[0], *bounds]
    found = propagate(name, given, attributes, shape)
    if found is not None and (not ty.shape or len(found) == ty.shape[0]):
        node.known.found[results[0]] = found


def _bounds(node: Node, given: Sequence[Elements | None]) -> list[Elements | None] | None:
    """The bounds of a slice of a vector as those of Python."""
    masks = [node.option(f"{one}_mask", 0) for one in ("ellipsis", "new_axis")]
    if any(masks) or node.option("offset", False) or len(given) < 4:
        return None
    low, high, step = given[1:4]
    if not low or not high or step != (1,) or len(low) != 1:
        return None
    first: Any = 0 if node.option("begin_mask", 0) else low[0]
    last: Any = END if node.option("end_mask", 0) else high[0]
    if node.option("shrink_axis_mask", 0):
        last = END if first == -1 else first + 1
    return [(first,), (last,), None, None]
