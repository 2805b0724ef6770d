"""Operators defined by operators of the standard.

FusedConv(x, w, b, activation="Relu")   ->   Relu(Conv(x, w, b))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from relay import op
from relay.frontend.onnx.converters import find
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

VERSION = 21  # of the standard


def standard(
    node: Node,
    operator: str,
    *inputs: Expr | None,
    attributes: Mapping[str, Any] | None = None,
    outputs: Sequence[str] | None = None,
    version: int = VERSION,
) -> list[Expr]:
    """The outputs of a standard operator, with the attributes of the node, and its first output
    only, unless others are given."""
    converter = find(node.importer.tables, "", operator, version)
    if converter is None:
        raise node.refused(f"it needs {operator}, of which there is no translation")
    stand_in = replace(
        node,
        operator=operator,
        domain="",
        version=version,
        inputs=inputs,
        outputs=node.outputs[:1] if outputs is None else tuple(outputs),
        attributes=node.attributes if attributes is None else attributes,
    )
    found = converter(stand_in, *inputs)
    results = [found] if isinstance(found, Expr) else found
    return [node.let(one) for one in results]


def activated(node: Node, data: Expr, name: str, numbers: Sequence[float]) -> Expr:
    """The activation of that name, with its parameters in order."""
    if not name:
        return data
    if name == "Clip":
        low, high = numbers
        return node.let(op.clip(data, low, high))
    names = _PARAMETERS.get(name)
    if names is None:
        raise node.refused(f"there is no activation `{name}`", ", ".join(sorted(_PARAMETERS)))
    attributes = dict(zip(names, numbers, strict=False))
    if name in _OPERATORS:
        return node.let(_OPERATORS[name](data))
    return standard(node, name, data, attributes=attributes)[0]


_OPERATORS = {"Sigmoid": op.sigmoid, "Tanh": op.tanh}

# the attributes that are parameters, in order
_PARAMETERS: Mapping[str, Sequence[str]] = {
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "Softplus": (),
    "Softsign": (),
    "HardSwish": (),
    "Gelu": (),
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "HardSigmoid": ("alpha", "beta"),
    "Clip": ("min", "max"),
}
