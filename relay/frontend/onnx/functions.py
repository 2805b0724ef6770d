"""Functions that nodes call: those of the model, and definitions of operators in the standard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto
from onnx.helper import (
    make_optional_type_proto,
    make_sequence_type_proto,
    make_tensor_type_proto,
)

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.onnx.types import ELEMENT_TYPES
from relay.ir.types import GlobalTypeVar, TensorType, Type, TypeCall

if TYPE_CHECKING:
    from relay.frontend.onnx.node import Node

Name = tuple[str, str, str]  # domain, name, overload

# the limit of converted nodes: a constant, and a multiple of those in the file
NODES = 100_000
TIMES = 10
DEEPEST = 60  # nested graphs and functions
SHOWN = 6  # functions of a cycle


@dataclass
class Bodies:
    """The functions of a model, and the number of converted nodes."""

    local: Mapping[Name, FunctionProto] = field(default_factory=dict)
    most: int = NODES
    nodes: int = 0

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Bodies:
        """The functions of a model, checked not to be recursive."""
        local: dict[Name, FunctionProto] = {}
        for function in model.functions:
            name = (function.domain, function.name, function.overload)
            if name in local:
                raise FrontendError.of(f"the model has function {quoted(function.name)} twice")
            local[name] = function
        written = len([*all_nodes(model.graph.node)])
        written += sum(len([*all_nodes(one.node)]) for one in model.functions)
        found = cls(local, NODES + TIMES * written)
        found._check_growth(model)
        return found

    def _check_growth(self, model: onnx.ModelProto) -> None:
        """Refuse functions that are recursive, or too large when they are inlined."""
        calls = {name: self._calls(one.node) for name, one in self.local.items()}
        try:
            order = [*TopologicalSorter({n: set(c) for n, (c, _) in calls.items()}).static_order()]
        except CycleError as error:
            cycle = " -> ".join(quoted(name) for _, name, _ in error.args[1][:SHOWN])
            raise FrontendError.of("a function of the model calls itself", found=cycle) from None
        sizes: dict[Name, int] = {}
        for name in order:
            called, others = calls[name]
            sizes[name] = others + sum(sizes[one] for one in called)
        called, others = self._calls(model.graph.node)
        if others + sum(sizes[one] for one in called) > self.most:
            raise self._too_many()

    def _calls(self, nodes: Iterable[NodeProto]) -> tuple[list[Name], int]:
        """The functions that nodes call, and the number of other nodes."""
        everything = [(n.domain, n.op_type, n.overload) for n in all_nodes(nodes)]
        called = [name for name in everything if name in self.local]
        return called, len(everything) - len(called)

    def count(self) -> None:
        """Count a converted node; refuse too many."""
        self.nodes += 1
        if self.nodes > self.most:
            raise self._too_many()

    def _too_many(self) -> FrontendError:
        return FrontendError.of(
            "the model has too many nodes, once its functions and loops are written out",
            expected=f"at most {self.most}, for a model of this size",
        )

    def is_local(self, node: NodeProto) -> bool:
        """Whether a node calls a function of the model."""
        return (node.domain, node.op_type, node.overload) in self.local

    def find(self, proto: NodeProto, node: Node) -> FunctionProto:
        """The function that a node calls."""
        own = self.local.get((proto.domain, proto.op_type, proto.overload))
        if own is not None:
            return own
        types = [
            TypeProto() if value is None else _type_proto(node.type_of(value))
            for value in node.inputs
        ]
        found = standard_body(proto, node.version, types)
        if found is None:
            raise node.refused("there is no such operator, or no translation of it")
        return found


def has_standard_body(proto: NodeProto, version: int) -> bool:
    """Whether the standard defines an operator by a function."""
    return any(_versions(proto, version))


def _versions(proto: NodeProto, version: int) -> tuple[list[int], list[int]]:
    """The versions of the functions of an operator: plain ones, and those that depend on a node."""
    schema: Any
    try:
        schema = onnx.defs.get_schema(proto.op_type, version, proto.domain)
    except onnx.defs.SchemaError:
        return [], []
    plain: Sequence[int] = schema.function_opset_versions if schema.has_function else ()
    dependent: Sequence[int] = ()
    if schema.has_context_dependent_function:
        dependent = schema.context_dependent_function_opset_versions
    return [n for n in plain if n <= version], [n for n in dependent if n <= version]


def standard_body(
    proto: NodeProto, version: int, input_types: Iterable[TypeProto]
) -> FunctionProto | None:
    """The function that defines an operator in a version of the standard."""
    plain, dependent = _versions(proto, version)
    if not plain and not dependent:
        return None
    schema: Any = onnx.defs.get_schema(proto.op_type, version, proto.domain)
    found = FunctionProto()
    if plain:
        found.ParseFromString(schema.get_function_with_opset_version(max(plain)))
        # defaults of attributes are those of the operator, not of the function
        defaults = [one.default_value for one in schema.attributes.values()]
        found.attribute_proto.extend(one for one in defaults if one.type)
        return found
    types = [one.SerializeToString() for one in input_types]
    if not schema.min_input <= len(types) <= schema.max_input:
        return None  # its builder relies on them
    body = schema.get_context_dependent_function_with_opset_version(
        max(dependent), proto.SerializeToString(), types
    )
    found.ParseFromString(body)
    return found


def _type_proto(ty: Type) -> TypeProto:
    """A type as a TypeProto, without dynamic dimensions."""
    holders = []
    while isinstance(ty, TypeCall):
        is_list = ty.func == GlobalTypeVar("List")
        holders.append(make_sequence_type_proto if is_list else make_optional_type_proto)
        ty = ty.args[0]
    if not isinstance(ty, TensorType):
        return TypeProto()  # the element type is not known
    shape = [size if isinstance(size, int) else None for size in ty.shape]
    found = make_tensor_type_proto(_NUMBERS[ty.dtype], shape)
    for holder in reversed(holders):
        found = holder(found)
    return found


_NUMBERS = {name: number for number, name in ELEMENT_TYPES.items()}


def bound_nodes(function: FunctionProto, call: NodeProto) -> list[NodeProto]:
    """The nodes of a function with the attributes of a call."""
    given = {one.name: one for one in function.attribute_proto}
    given.update((one.name, one) for one in call.attribute)
    if not given and not function.attribute:
        return list(function.node)
    nodes = []
    for proto in function.node:
        node = deepcopy(proto)
        node.name = f"{call.name or call.op_type}/{proto.name or proto.op_type}"
        _bind(node, given)
        nodes.append(node)
    return nodes


def _bind(root: NodeProto, given: Mapping[str, AttributeProto]) -> None:
    """Substitute attribute references in a node and its subgraphs by the attributes of a call."""
    pending = [root]
    while pending:
        node = pending.pop()
        own = [one for one in node.attribute if not one.ref_attr_name]
        if len(own) < len(node.attribute):
            bound = [*map(deepcopy, own)]
            for attribute in node.attribute:
                if attribute.ref_attr_name in given:  # otherwise the operator's default holds
                    bound.append(deepcopy(given[attribute.ref_attr_name]))
                    bound[-1].name = attribute.name
            del node.attribute[:]
            # passed graphs are the caller's, without references to this function's attributes
            node.attribute.extend(bound)
        for attribute in node.attribute[: len(own)]:
            for graph in graphs_of(attribute):
                pending += graph.node


def all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes, and those of their subgraphs, at most `DEEPEST` levels deep."""
    pending = [(nodes, 0)]
    while pending:
        level, depth = pending.pop()
        if depth > DEEPEST:
            raise too_deep()
        for node in level:
            yield node
            for attribute in node.attribute:
                pending += [(graph.node, depth + 1) for graph in graphs_of(attribute)]


def graphs_of(attribute: AttributeProto) -> list[GraphProto]:
    """The graphs of an attribute."""
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def too_deep() -> FrontendError:
    """The error for graphs nested too deeply."""
    return FrontendError.of(f"more than {DEEPEST} graphs and functions are inside each other")
