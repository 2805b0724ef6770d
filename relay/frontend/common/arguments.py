"""The inputs of a node as the signature of its converter asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, signature

from relay.frontend.common.builder import Builder
from relay.frontend.common.converters import Converter
from relay.ir.expr import Expr


def arguments(
    converter: Converter, node: Builder, given: Sequence[Expr | None]
) -> Sequence[Expr | None]:
    """The inputs of a node as its converter takes them, checked by its signature; omitted ones are
    None."""
    parameters = [*signature(converter).parameters.values()][1:]
    inputs = list(given)
    for place, one in enumerate(parameters):
        if one.kind is Parameter.VAR_POSITIONAL:
            return inputs
        if one.kind is Parameter.KEYWORD_ONLY:
            continue
        is_needed = one.annotation in ("Expr", Expr)
        if place >= len(inputs) and one.default is Parameter.empty and not is_needed:
            is_needed = "None" not in str(one.annotation)
            inputs.append(None)
        if is_needed and (place >= len(inputs) or inputs[place] is None):
            raise node.refused(f"input `{one.name}` is missing", found=f"{len(given)} inputs")
    if len(inputs) > len(parameters):
        raise node.refused("there are too many inputs", f"{len(parameters)}", f"{len(inputs)}")
    return inputs
