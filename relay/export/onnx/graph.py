"""A graph of ONNX under construction: nodes, constants, unique names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from relay import dtypes
from relay.export.onnx.weights import NUMBERS, Weights
from relay.immutable import frozen
from relay.ir.types import TensorType


class Unwritable(Exception):
    """Raised by an exporter for a call that cannot be exported; the message says why."""


@frozen
class Value:
    """A named tensor of the graph."""

    name: str
    type: TensorType
    array: np.ndarray | None = None  # of a constant

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which must not have dynamic dimensions."""
        if not all(isinstance(extent, int) for extent in self.type.shape):
            raise Unwritable(f"a shape has to be known: {self.type}")
        return tuple(int(extent) for extent in self.type.shape)  # type: ignore[arg-type]

    @property
    def rank(self) -> int:
        return len(self.type.shape)


@dataclass
class Names:
    """The names in use in all graphs of a model."""

    taken: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def fresh(self, wish: str) -> str:
        """That name, or one like it that is not in use."""
        name = wish
        while not name or name in self.taken:
            number = self.counts[wish] = self.counts.get(wish, 0) + 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name


@dataclass
class Graph:
    """The nodes and constants of a graph; nested graphs see its names."""

    names: Names
    weights: Weights
    opset: int
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    outer: Graph | None = None
    elements: dict[str, str] = field(default_factory=dict)  # element types by name
    made: set[str] = field(default_factory=set)  # outputs of nodes of this graph

    def inside(self) -> Graph:
        """A graph for an attribute of a node of this one."""
        return Graph(self.names, self.weights, self.opset, outer=self, elements=self.elements)

    def node(self, operator: str, *inputs: str | Value | None, **attributes: Any) -> str:
        """Adds a node, and returns the name of its output."""
        return self.several(operator, 1, *inputs, **attributes)[0]

    def several(
        self, operator: str, outputs: int, *inputs: str | Value | None, **attributes: Any
    ) -> list[str]:
        """Adds a node, and returns the names of its outputs."""
        given = [one.name if isinstance(one, Value) else one or "" for one in inputs]
        while given and not given[-1]:
            given.pop()
        kind = _schema(operator, self.opset)
        self._check(operator, kind, given)
        results = [self.names.fresh(f"{_plain(operator)}_output") for _ in range(outputs)]
        made = helper.make_node(operator, given, results, **attributes)
        made.name = self.names.fresh(_plain(operator))
        self.nodes.append(made)
        self.made.update(results)
        for name, element in zip(results, self._results(kind, made), strict=False):
            if element is not None:
                self.elements[name] = element
        return results

    def constant(self, array: Any, wish: str = "constant", dtype: str | None = None) -> str:
        """A constant in the outermost graph, which all nested ones see."""
        home = self
        while home.outer is not None:
            home = home.outer
        found = np.asarray(array)
        found = found if dtype is None else found.astype(dtypes.to_numpy(dtype))
        name = self.names.fresh(wish)
        home.constants.append(self.weights.tensor(name, found))
        self.elements[name] = _element(NUMBERS, home.constants[-1].data_type)
        return name

    def integers(self, *numbers: int) -> str:
        """A vector of integers: axes, extents."""
        return self.constant(np.array(numbers, np.int64), "sizes")

    def written(
        self, name: str, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
    ) -> GraphProto:
        return helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def _check(self, operator: str, kind: Any, inputs: Sequence[str]) -> None:
        """Refuse element types that the operator does not take."""
        for place, name in enumerate(inputs):
            formal = kind.inputs[min(place, len(kind.inputs) - 1)]
            element = self.elements.get(name)
            if element is not None and formal.types and _spelled(element) not in formal.types:
                raise Unwritable(f"{operator} of ONNX takes no {element} for `{formal.name}`")

    def _results(self, kind: Any, node: NodeProto) -> list[str | None]:
        """The element types of results, where the schema or an attribute tells them."""
        known: dict[str, str] = {}
        for place, name in enumerate(node.input):
            formal = kind.inputs[min(place, len(kind.inputs) - 1)]
            if name in self.elements:
                known.setdefault(formal.type_str, self.elements[name])
        if node.op_type == "Cast":
            number = next(one.i for one in node.attribute if one.name == "to")
            return [_element(NUMBERS, number)]
        found: list[str | None] = []
        for place in range(len(node.output)):
            formal = kind.outputs[min(place, len(kind.outputs) - 1)]
            only = [_SPELLED[one] for one in formal.types if one in _SPELLED]
            found.append(known.get(formal.type_str, only[0] if len(formal.types) == 1 else None))
        return found


@cache
def _schema(operator: str, opset: int) -> Any:
    return onnx.defs.get_schema(operator, opset, "")


def _plain(operator: str) -> str:
    return re.sub(r"\W", "_", operator)


def _element(numbers: dict[str, int], number: int) -> str:
    return next(name for name, one in numbers.items() if one == number)


def _spelled(dtype: str) -> str:
    """An element type as ONNX spells it."""
    name = {"float32": "float", "float64": "double", "float8_e4m3fn": "float8e4m3fn"}.get(dtype)
    return f"tensor({name or dtype.replace('float8_', 'float8')})"


_SPELLED = {_spelled(dtype): dtype for dtype in NUMBERS}
