"""Known elements of the shapes that a graph computes (`common/elements.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.frontend.common.elements import ELEMENT_TYPES, Elements, propagate
from relay.frontend.common.slices import END
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Value
from relay.ir.expr import Expr, Var
from relay.ir.types import TensorType

# the names of operators by which elements are propagated
_NAMES: Mapping[str, str] = {
    "Shape": "Shape",
    "Size": "Size",
    "Add": "Add",
    "AddV2": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "FloorDiv": "Div",
    "Div": "Div",
    "FloorMod": "Mod",
    "Minimum": "Min",
    "Maximum": "Max",
    "Less": "Less",
    "LessEqual": "LessOrEqual",
    "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
    "Equal": "Equal",
    "LogicalAnd": "And",
    "LogicalNot": "Not",
    "Neg": "Neg",
    "Select": "Where",
    "SelectV2": "Where",
    "Cast": "Cast",
    "Squeeze": "Squeeze",
    "ExpandDims": "Unsqueeze",
    "Reshape": "Reshape",
    "Identity": "Identity",
    "Pack": "Concat",
    "ConcatV2": "Concat",
    "Concat": "Concat",
    "Prod": "ReduceProd",
    "Sum": "ReduceSum",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
    "StridedSlice": "Slice",
    "Slice": "Slice",
    "GatherV2": "Gather",
    "Gather": "Gather",
}
_FIRST_ALONE = ("Reshape", "Unsqueeze", "Squeeze", "ReduceProd", "ReduceSum", "ReduceMax")


def note_elements(node: Node, inputs: Sequence[Value], results: Sequence[Value]) -> None:
    """Record what is known of the elements of a result."""
    name = _NAMES.get(node.operator)
    if name is None or not results or not isinstance(results[0], Var):
        return
    ty = results[0].type_annotation
    if not isinstance(ty, TensorType) or len(ty.shape) > 1 or ty.dtype not in ELEMENT_TYPES:
        return
    given = [node.known.of(one) if isinstance(one, Expr) else None for one in inputs]
    first = node.type_of(inputs[0]) if inputs and isinstance(inputs[0], Expr) else None
    shape = first.shape if isinstance(first, TensorType) else None
    attributes: dict[str, Any] = {}
    if name in _FIRST_ALONE or name == "ReduceMin":
        given = given[:1]
    elif node.operator == "ConcatV2":
        given = given[:-1]
    elif node.operator == "Concat":
        given = given[1:]
    elif name == "Gather":
        given = given[:2]
    elif name == "Slice":
        bounds = _bounds(node, given)
        if bounds is None:
            return
        given = [given[0], *bounds]
    found = propagate(name, given, attributes, shape)
    if found is not None and (not ty.shape or len(found) == ty.shape[0]):
        node.known.found[results[0]] = found


def _bounds(node: Node, given: Sequence[Elements | None]) -> list[Elements | None] | None:
    """The bounds of a slice of a vector as those of Python."""
    if len(given) < 3 or not given[1] or not given[2] or len(given[1]) != 1:
        return None
    first, last = given[1][0], given[2][0]
    if node.operator == "Slice":
        if not isinstance(first, int) or not isinstance(last, int):
            return None
        return [(first,), (END if last < 0 else first + last,), None, None]
    masks = [node.integer(f"{one}_mask") for one in ("ellipsis", "new_axis")]
    if any(masks) or len(given) < 4 or given[3] != (1,):
        return None
    low: Any = 0 if node.integer("begin_mask") else first
    high: Any = END if node.integer("end_mask") else last
    if node.integer("shrink_axis_mask"):
        low = first
        high = END if low == -1 else None if low is None else low + 1
    return [(low,), (high,), None, None]
