"""Which constants of a frozen graph are weights: what layers compute with and a user may change.

All others (shapes, axes, small numbers of formulas) are better known as constants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from relay.frontend.tensorflow.messages import GraphInfo
from relay.frontend.tensorflow.types import REFERENCE

_LAYERS: Final[Mapping[str, Collection[int]]] = {  # inputs that may be weights
    "Conv2D": (1,),
    "Conv3D": (1,),
    "DepthwiseConv2dNative": (1,),
    "Conv2DBackpropInput": (1,),
    "Conv3DBackpropInputV2": (1,),
    "MatMul": (0, 1),
    "BatchMatMul": (0, 1),
    "BatchMatMulV2": (0, 1),
    "BatchMatMulV3": (0, 1),
    "Einsum": (0, 1),
    "BiasAdd": (1,),
    "BiasAddV1": (1,),
    "FusedBatchNorm": (1, 2, 3, 4),
    "FusedBatchNormV2": (1, 2, 3, 4),
    "FusedBatchNormV3": (1, 2, 3, 4),
    "Gather": (0,),
    "GatherV2": (0,),
}
_FLOATS = (1, 2, 14, 19)  # float32, float64, bfloat16, float16


def weights_of(graph: GraphInfo, outputs: Collection[str]) -> list[str]:
    """The names of the constants that are weights."""
    used: dict[str, None] = {}
    others = {_source(graph, name) for name in outputs}
    for node in graph.nodes.values():
        if node.op == "Identity":
            continue
        places = _LAYERS.get(node.op, ())
        for place, (name, _) in enumerate(node.inputs):
            source = _source(graph, name)
            if place in places:
                used[source] = None
            else:
                others.add(source)
    return [name for name in used if name not in others and _is_weight(graph, name)]


def _source(graph: GraphInfo, name: str) -> str:
    """The node behind identities."""
    for _ in range(len(graph.nodes)):
        node = graph.nodes.get(name)
        if node is None or node.op != "Identity" or not node.inputs:
            break
        name = node.inputs[0][0]
    return name


def _is_weight(graph: GraphInfo, name: str) -> bool:
    node = graph.nodes.get(name)
    if node is None or node.op != "Const" or node.controls:
        return False
    kind, value = node.attributes.get("dtype"), node.attributes.get("value")
    if kind is None or value is None or (tensor := value.message(8)) is None:
        return False
    shape = tensor.message(2)
    has_axes = shape is not None and bool(shape.messages(2))
    return has_axes and kind.integer(6) % REFERENCE in _FLOATS
