"""A call of an operator as its exporter sees it.

    @table("nn.leaky_relu")
    def leaky_relu(step, data):
        return step.node("LeakyRelu", data, alpha=step.attrs.alpha)

Arguments are values of known type, or tuples of them. An exporter returns the name of the result,
or a list of names; it raises `step.refused` where ONNX has no equivalent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.export.onnx.graph import Graph, Unwritable, Value
from relay.export.onnx.weights import NUMBERS
from relay.immutable import frozen
from relay.ir.expr import Call, Op
from relay.ir.types import TensorType, TupleType


@frozen
class Step:
    """One call while it is exported."""

    graph: Graph
    call: Call

    @property
    def operator(self) -> str:
        """The name of the operator."""
        assert isinstance(self.call.op, Op)
        return self.call.op.name

    @property
    def attrs(self) -> Any:
        """The attributes of the call, by name."""
        return self.call.attrs

    @property
    def result(self) -> TensorType:
        """The type of the result, or of its first field."""
        ty = self.call.checked_type
        first = ty.fields[0] if isinstance(ty, TupleType) else ty
        assert isinstance(first, TensorType)
        return first

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, which must not have dynamic dimensions."""
        return Value("", self.result).shape

    def node(self, operator: str, *inputs: str | Value | None, **attributes: Any) -> str:
        """Adds a node, and returns the name of its output."""
        return self.graph.node(operator, *inputs, **attributes)

    def number(self, value: float, like: str) -> str:
        """A scalar of an element type."""
        return self.graph.constant(value, "number", like)

    def constant(self, array: Any) -> str:
        """A constant tensor."""
        return self.graph.constant(array)

    def integers(self, *numbers: int) -> str:
        return self.graph.integers(*numbers)

    def cast(self, value: str | Value, dtype: str) -> str:
        return self.node("Cast", value, to=NUMBERS[dtype])

    def as_result(self, value: str, dtype: str) -> str:
        """A value converted to the element type of the result."""
        return value if dtype == self.result.dtype else self.cast(value, self.result.dtype)

    def reshape(self, value: str | Value, shape: Sequence[int]) -> str:
        # without `allowzero` an extent of 0 copies that of the input
        attributes = {"allowzero": 1} if 0 in shape else {}
        return self.node("Reshape", value, self.integers(*shape), **attributes)

    def transpose(self, value: str | Value, axes: Sequence[int]) -> str:
        """A transposition, unless it is the identity."""
        if [*axes] == [*range(len(axes))]:
            return value.name if isinstance(value, Value) else value
        return self.node("Transpose", value, perm=[*axes])

    def refused(self, reason: str) -> Unwritable:
        return Unwritable(reason)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis + rank if axis < 0 else axis
