"""Functions that nodes stand for: the model's own, and those the standard defines operators by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from relay.errors import Diagnostic, FrontendError
from relay.frontend.onnx.types import ELEMENT_TYPES
from relay.ir.types import GlobalTypeVar, TensorType, Type, TypeCall

if TYPE_CHECKING:
    from relay.frontend.onnx.node import Node

Name = tuple[str, str, str]  # domain, name, overload


@dataclass
class Bodies:
    """The functions of a model, and how many nodes have been translated."""

    local: Mapping[Name, FunctionProto] = field(default_factory=dict)
    nodes: int = 0

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Bodies:
        return cls({(f.domain, f.name, f.overload): f for f in model.functions})

    def count(self, most: int) -> None:
        """One more node; an error when there are too many."""
        self.nodes += 1
        if self.nodes > most:
            raise FrontendError(
                Diagnostic(
                    f"the model has more than {most} nodes, once its functions are written out"
                )
            )

    def is_local(self, node: NodeProto) -> bool:
        """Whether the model has a function for a node."""
        return (node.domain, node.op_type, node.overload) in self.local

    def find(self, proto: NodeProto, node: Node) -> FunctionProto:
        """The function a node stands for."""
        own = self.local.get((proto.domain, proto.op_type, proto.overload))
        if own is not None:
            return own
        found = standard_body(proto, node.version, _input_types(node))
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
    """The function that the standard defines an operator by, in a version of the operator set."""
    plain, dependent = _versions(proto, version)
    if not plain and not dependent:
        return None
    schema: Any = onnx.defs.get_schema(proto.op_type, version, proto.domain)
    found = FunctionProto()
    if plain:
        found.ParseFromString(schema.get_function_with_opset_version(max(plain)))
        return found
    types = [one.SerializeToString() for one in input_types]
    if not schema.min_input <= len(types) <= schema.max_input:
        return None  # what makes the function takes it for granted
    body = schema.get_context_dependent_function_with_opset_version(
        max(dependent), proto.SerializeToString(), types
    )
    found.ParseFromString(body)
    return found


def _input_types(node: Node) -> Iterator[TypeProto]:
    for value in node.inputs:
        yield TypeProto() if value is None else _type_proto(node.type_of(value))


def _type_proto(ty: Type) -> TypeProto:
    """A type as ONNX writes it; sizes that are not numbers are left open."""
    proto = TypeProto()
    inside, kinds = ty, []
    while isinstance(inside, TypeCall) and isinstance(inside.func, GlobalTypeVar):
        kinds.append("sequence_type" if inside.func.name_hint == "List" else "optional_type")
        inside = inside.args[0]
    place = proto
    for kind in kinds:
        place = getattr(place, kind).elem_type
    assert isinstance(inside, TensorType)
    place.tensor_type.elem_type = _NUMBERS[inside.dtype]
    place.tensor_type.shape.SetInParent()
    for size in inside.shape:
        dim = place.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
    return proto


_NUMBERS = {name: number for number, name in ELEMENT_TYPES.items()}


def bound_nodes(function: FunctionProto, call: NodeProto) -> list[NodeProto]:
    """The nodes of a function, with the attributes of a call in place of their names."""
    given = {one.name: one for one in function.attribute_proto}
    given.update((one.name, one) for one in call.attribute)
    if not given and not function.attribute:
        return list(function.node)
    nodes = []
    for proto in function.node:
        node = NodeProto()
        node.CopyFrom(proto)
        node.name = f"{call.name or call.op_type}/{proto.name or proto.op_type}"
        _bind(node, given)
        nodes.append(node)
    return nodes


def _bind(root: NodeProto, given: Mapping[str, AttributeProto]) -> None:
    pending = [root]
    while pending:
        node = pending.pop()
        kept = []
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name not in given:
                    continue  # the operator's own default holds
                value = AttributeProto()
                value.CopyFrom(given[attribute.ref_attr_name])
                value.name = attribute.name
                kept.append(value)
                continue
            kept.append(attribute)
            if attribute.HasField("g"):
                pending += attribute.g.node
            for graph in attribute.graphs:
                pending += graph.node
        if len(kept) < len(node.attribute) or any(a.ref_attr_name for a in node.attribute):
            copies = []
            for one in kept:
                copy = AttributeProto()
                copy.CopyFrom(one)
                copies.append(copy)
            del node.attribute[:]
            node.attribute.extend(copies)
            # the graphs are others now
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    pending += attribute.g.node
