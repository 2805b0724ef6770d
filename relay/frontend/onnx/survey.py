"""The report of all operators and element types of a model that are not supported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.onnx.converters import DEFAULT_DOMAINS, find
from relay.frontend.onnx.functions import Bodies, all_nodes, graphs_of, has_standard_body
from relay.frontend.onnx.types import ELEMENT_TYPES, element_name, innermost
from relay.frontend.onnx.versions import versions_of

# operators that other libraries provide, and what to write instead
_INSTEAD = {
    "ImageDecoder": "decode images before the call, with Pillow: "
    'numpy.asarray(PIL.Image.open(path).convert("RGB"))'
}

# attributes of the default domain that are element types
_NAMES_ELEMENTS = ("to", "dtype", "output_dtype")


def survey(
    model: onnx.ModelProto,
    tables: Sequence[Converters],
    bodies: Bodies,
    versions: Mapping[str, int],
) -> None:
    """Refuse a model with unsupported operators or element types: all are named, with how often and
    where they occur."""
    operators: dict[str, list[str]] = {}
    elements: dict[str, list[str]] = {}
    for name, number in _types_of_graph(model.graph):
        elements.setdefault(element_name(number), []).append(name)
    for node, imported in _all_nodes(model, versions):
        name = node.name or next(iter(node.output), "")
        version = imported.get(node.domain, imported.get("", 1))
        if (
            not bodies.is_local(node)
            and find(tables, node.domain, node.op_type, version) is None
            and not has_standard_body(node, version)
        ):
            kind = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            operators.setdefault(kind, []).append(name)
            continue
        for number in _types_of_node(node):
            elements.setdefault(element_name(number), []).append(name)
    if not operators and not elements:
        return
    hints = [_INSTEAD[kind] for kind in sorted(operators) if kind in _INSTEAD]
    if len(hints) < len(operators):
        hints.append("operators of your own: from_onnx(model, operators=[table])")
    found = {f"operator {quoted(kind)}": names for kind, names in operators.items()}
    found |= {f"tensors of {kind}": names for kind, names in elements.items()}
    raise unsupported(found, "; ".join(hints) or None)


def _all_nodes(
    model: onnx.ModelProto, versions: Mapping[str, int]
) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    """All nodes, of subgraphs and functions too, with the operator sets they belong to."""
    yield from ((node, versions) for node in all_nodes(model.graph.node))
    for function in model.functions:
        who = f"function {quoted(function.name)}"
        own = {**versions, **versions_of(function.opset_import, who)}
        yield from ((node, own) for node in all_nodes(function.node))


def _types_of_graph(graph: GraphProto) -> Iterator[tuple[str, int]]:
    """The unsupported element types of inputs, outputs and constants."""
    for value in [*graph.input, *graph.output]:
        inside = innermost(value.type)
        if inside.WhichOneof("value") != "tensor_type":
            continue
        number = inside.tensor_type.elem_type
        if number not in (TensorProto.UNDEFINED, *ELEMENT_TYPES):
            yield value.name, number
    for tensor in graph.initializer:
        if tensor.data_type not in ELEMENT_TYPES:
            yield tensor.name, tensor.data_type


def _types_of_node(node: NodeProto) -> Iterator[int]:
    """The unsupported element types in the attributes of a node."""
    is_standard = node.domain in DEFAULT_DOMAINS
    for attribute in node.attribute:
        match attribute.type:
            case AttributeProto.TENSOR:
                numbers = [attribute.t.data_type]
            case AttributeProto.TENSORS:
                numbers = [tensor.data_type for tensor in attribute.tensors]
            case AttributeProto.INT if is_standard and attribute.name in _NAMES_ELEMENTS:
                numbers = [attribute.i] if attribute.i else []
            case AttributeProto.STRING | AttributeProto.STRINGS if node.op_type == "Constant":
                numbers = [TensorProto.STRING]
            case _:
                numbers = []
        yield from (number for number in numbers if number not in ELEMENT_TYPES)
        for graph in graphs_of(attribute):
            yield from (number for _, number in _types_of_graph(graph))
