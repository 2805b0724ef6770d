"""A quantized model cut where it rounds to steps.

    parts = cut(model)
    parts.asked        the model, with all that it rounds among its results
    parts.answered     every rounded tensor computed from those before it, which are inputs now

A number between two steps is rounded up by one implementation and down by another that differs in
its last bit; what follows differs by a step, ranges that are measured differ with it, and a network
that is deep enough carries that to its results. So each rounding is compared by itself, computed
from the very numbers that the oracle rounded, which are inputs of `answered`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

# The outputs of an operator that stand for others: how far from those of an oracle is still right.
ROUNDING = {
    "QuantizeLinear": ("steps",),
    "DynamicQuantizeLinear": ("steps", "scale", "steps"),
    "DynamicQuantizeLSTM": ("states", "states", "states"),
}


@dataclass(frozen=True)
class Cut:
    """A model, and the same one cut."""

    asked: onnx.ModelProto
    answered: onnx.ModelProto
    kinds: Mapping[str, str]  # of the tensors in between, by name


def cut(model: onnx.ModelProto) -> Cut:
    asked, answered = onnx.ModelProto(), onnx.ModelProto()
    asked.CopyFrom(model)
    answered.CopyFrom(model)
    kinds: dict[str, str] = {}
    for node in answered.graph.node:
        for place, kind in enumerate(ROUNDING.get(node.op_type, ())):
            if place < len(node.output) and node.output[place]:
                kinds[node.output[place]] = kind
                node.output[place] = found(node.output[place])
    for name in kinds:
        asked.graph.output.append(onnx.ValueInfoProto(name=name))
        answered.graph.output.append(onnx.ValueInfoProto(name=found(name)))
    return Cut(asked, answered, kinds)


def found(name: str) -> str:
    """The result of the cut model that stands for a tensor."""
    return f"{name} found"


def with_inputs(model: onnx.ModelProto, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The model with arrays of these kinds as further inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for name, array in arrays.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        result.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    return result
