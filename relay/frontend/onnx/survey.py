"""What of a model has no translation: all of it, before anything is translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import GraphProto, NodeProto, TensorProto

from relay.errors import Diagnostic, FrontendError
from relay.frontend.onnx.converters import Converters, find
from relay.frontend.onnx.functions import Bodies, has_standard_body
from relay.frontend.onnx.types import ELEMENT_TYPES, element_name

SHOWN = 5  # names of each kind


def survey(
    model: onnx.ModelProto,
    tables: Sequence[Converters],
    bodies: Bodies,
    versions: Mapping[str, int],
) -> None:
    """Refuse a model with operators or element types that have no translation: every one is named,
    with how often it occurs and where."""
    operators: dict[str, list[str]] = {}
    elements: dict[str, list[str]] = {}
    for node, imported in _all_nodes(model, versions):
        version = imported.get(node.domain, imported.get("", 1))
        if (
            not bodies.is_local(node)
            and find(tables, node.domain, node.op_type, version) is None
            and not has_standard_body(node, version)
        ):
            kind = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            operators.setdefault(kind, []).append(node.name or next(iter(node.output), ""))
    for name, number in _element_types(model.graph):
        if number not in ELEMENT_TYPES:
            elements.setdefault(element_name(number), []).append(name)
    if not operators and not elements:
        return
    lines = [
        *(f"operator {kind}, {_where(names)}" for kind, names in sorted(operators.items())),
        *(f"tensors of {kind}, {_where(names)}" for kind, names in sorted(elements.items())),
    ]
    raise FrontendError(
        Diagnostic(
            "the model has what cannot be translated:\n    " + "\n    ".join(lines),
            hint="operators of your own: from_onnx(model, operators=[table])",
        )
    )


def _where(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    more = ", …" if len(names) > SHOWN else ""
    return f"{len(names)} time{'s' if len(names) > 1 else ''}: {shown}{more}"


def _all_nodes(
    model: onnx.ModelProto, versions: Mapping[str, int]
) -> Iterator[tuple[NodeProto, Mapping[str, int]]]:
    """Every node, of subgraphs and functions too, with the operator sets it belongs to."""
    pending: list[tuple[NodeProto, Mapping[str, int]]] = [(n, versions) for n in model.graph.node]
    for function in model.functions:
        own = {**versions, **{one.domain: one.version for one in function.opset_import}}
        pending += [(node, own) for node in function.node]
    while pending:
        node, imported = pending.pop()
        yield node, imported
        for attribute in node.attribute:
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                pending += [(inner, imported) for inner in graph.node]


def _element_types(graph: GraphProto) -> Iterator[tuple[str, int]]:
    """The element types of inputs and constants."""
    for value in [*graph.input, *graph.output]:
        proto = value.type
        while (kind := proto.WhichOneof("value")) in ("sequence_type", "optional_type"):
            proto = getattr(proto, kind).elem_type
        if kind == "tensor_type" and proto.tensor_type.elem_type != TensorProto.UNDEFINED:
            yield value.name, proto.tensor_type.elem_type
    for tensor in graph.initializer:
        yield tensor.name, tensor.data_type
