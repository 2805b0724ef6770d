"""Which constants of a model are weights: what layers of floats compute with and a user may change.

All others (shapes, axes, quantized weights) are better known as constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from relay.frontend.tflite.graph import key
from relay.frontend.tflite.reader import ModelInfo, TensorInfo
from relay.frontend.tflite.types import CODES, array_of
from relay.ir.expr import Var
from relay.ir.types import TensorType
from relay.nd import NDArray

_LAYERS: Final[dict[str, tuple[int, ...]]] = {  # inputs that may be weights
    "CONV_2D": (1, 2),
    "CONV_3D": (1, 2),
    "DEPTHWISE_CONV_2D": (1, 2),
    "FULLY_CONNECTED": (1, 2),
    "TRANSPOSE_CONV": (1, 3),
}


def weights_of(model: ModelInfo, taken: Collection[str]) -> Iterator[tuple[str, Var, NDArray]]:
    """The weights of the first subgraph: their keys, variables and values; names that are `taken`
    get a number."""
    graph = model.subgraphs[0]
    others = set(graph.outputs)
    used: dict[int, None] = {}
    for one in graph.operators:
        for place, tensor in enumerate(one.inputs):
            if place in _LAYERS.get(one.name, ()) and _is_weight(graph.tensors, tensor):
                used[tensor] = None
            else:
                others.add(tensor)
    names = set(taken)
    for number in used:
        if number in others:
            continue
        held = graph.tensors[number]
        assert held.data is not None  # `_is_weight`
        name = held.name or "weight"
        name = name if name not in names else f"{name}#{number}"
        names.add(name)
        data = NDArray(array_of(held.data, held.code, held.shape, held.name))
        yield key(0, number), Var(name, TensorType(data.shape, data.dtype)), data


def _is_weight(tensors: Sequence[TensorInfo], number: int) -> bool:
    tensor = tensors[number]
    stored = number >= 0 and tensor.data is not None and tensor.sparsity is None
    return stored and CODES.get(tensor.code) == "FLOAT32" and len(tensor.shape) > 0
