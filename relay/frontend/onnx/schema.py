"""Checks of nodes by the schema of their operator, on which converters rely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import onnx
from onnx import AttributeProto, NodeProto

from relay.errors import FrontendError, Span
from relay.frontend.onnx.converters import DEFAULT_DOMAINS
from relay.frontend.onnx.microsoft import DOMAIN, attribute_kind
from relay.immutable import frozen


@frozen
class Schema:
    """The inputs, outputs and attributes of an operator."""

    inputs: Sequence[tuple[str, bool]]  # names, and whether each is required
    is_variadic: bool  # in the last input
    most_inputs: int
    most_outputs: int
    attributes: Mapping[str, tuple[int, bool]]  # types, and whether each is required


@cache
def find_schema(domain: str, operator: str, version: int) -> Schema | None:
    """The schema of an operator in a version of its operator set, if there is one."""
    found: Any
    try:
        found = onnx.defs.get_schema(operator, version, domain)
    except onnx.defs.SchemaError:
        # some models use operators before their first version
        if not onnx.defs.has(operator, domain):
            return None
        found = onnx.defs.get_schema(operator, domain)
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    several = onnx.defs.OpSchema.FormalParameterOption.Variadic
    inputs = [
        (one.name, one.option == single or (one.option == several and one.min_arity > 0))
        for one in found.inputs
    ]
    attributes = {
        name: (int(one.type.value), bool(one.required)) for name, one in found.attributes.items()
    }
    is_variadic = bool(found.inputs) and found.inputs[-1].option == several
    return Schema(tuple(inputs), is_variadic, found.max_input, found.max_output, attributes)


def check_node(proto: NodeProto, version: int, span: Span) -> None:
    """Refuse a node that does not fit the schema of its operator."""
    domain = "" if proto.domain in DEFAULT_DOMAINS else proto.domain
    schema = find_schema(domain, proto.op_type, version)

    def refused(message: str, expected: str, found: str) -> FrontendError:
        return FrontendError.of(f"{proto.op_type}: {message}", span, expected, found)

    if schema is None:
        for one in proto.attribute:
            wanted = attribute_kind(proto.op_type, one.name) if domain == DOMAIN else None
            if wanted is not None and wanted != one.type:
                text = f"attribute `{one.name}` is of another type"
                raise refused(text, _kind(wanted), _kind(one.type))
        return
    for kind, names, most in (
        ("inputs", proto.input, schema.most_inputs),
        ("outputs", proto.output, schema.most_outputs),
    ):
        if len(names) > most:
            raise refused(f"there are too many {kind}", f"at most {most}", str(len(names)))
    for place, (name, is_needed) in enumerate(schema.inputs):
        if is_needed and (place >= len(proto.input) or not proto.input[place]):
            raise refused(f"input `{name}` is missing", name, f"{len(proto.input)} inputs")
    if schema.is_variadic and "" in proto.input[len(schema.inputs) - 1 :]:
        raise refused(f"one of `{schema.inputs[-1][0]}` is missing", "a name for each", "none")
    given = {one.name: one.type for one in proto.attribute}
    for name, (kind_of, is_needed) in schema.attributes.items():
        if name not in given:
            if is_needed:
                raise refused(f"attribute `{name}` is missing", _kind(kind_of), "nothing")
        elif given[name] != kind_of:
            text = f"attribute `{name}` is of another type"
            raise refused(text, _kind(kind_of), _kind(given[name]))


def _kind(number: int) -> str:
    names = {value: name.lower() for name, value in AttributeProto.AttributeType.items()}
    return str(names.get(number, f"type {number}"))
