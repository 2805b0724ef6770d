"""Which initializers of a model are weights, which layers compute with and a user may change.

All others (scales of a resize, quantization parameters, masks) are better known as constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onnx import GraphProto, NodeProto, TensorProto

from relay.frontend.onnx.functions import all_nodes, graphs_of
from relay.frontend.onnx.types import ELEMENT_TYPES

_LAYERS: Final[dict[str, tuple[int, ...]]] = {  # inputs that may be weights
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Gemm": (0, 1, 2),
    "MatMul": (0, 1),
    "BatchNormalization": (1, 2, 3, 4),
    "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "RMSNormalization": (1,),
    "PRelu": (1,),
    "LSTM": (1, 2, 3, 5, 6, 7),
    "GRU": (1, 2, 3, 5),
    "RNN": (1, 2, 3, 5),
    "Gather": (0,),
    # of com.microsoft
    "FusedConv": (1, 2),
    "FusedMatMul": (0, 1),
    "BiasGelu": (1,),
    "FastGelu": (1,),
    "SkipLayerNormalization": (2, 3, 4),
    "Attention": (1, 2),
}
_ARITHMETIC: Final = frozenset({"Add", "Sub", "Mul", "Div"})
_PASSED_ON: Final = frozenset({"Identity", "Transpose"})  # the result is still the weight
_DOMAINS: Final = frozenset({"", "ai.onnx", "com.microsoft"})


def weights_of(graph: GraphProto) -> set[str]:
    """The names of the initializers that are weights."""
    tensors = {
        tensor.name: tensor
        for tensor in graph.initializer
        if "float" in ELEMENT_TYPES.get(tensor.data_type, "") and len(tensor.dims) > 0
    }
    stands_for = {name: name for name in tensors}  # results that are weights
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {sparse.values.name for sparse in graph.sparse_initializer}
    used: set[str] = set()
    others = {value.name for value in graph.output}
    for node in graph.node:
        others.update(_captured(node))
        given = [name for name in node.input if name]
        if all(name in constant for name in given):
            constant.update(node.output)
            if node.op_type in _PASSED_ON and node.domain in _DOMAINS:
                stands_for.update(
                    (out, stands_for[given[0]]) for out in node.output if given[0] in stands_for
                )
            else:
                others.update(given)
            continue
        for place, name in enumerate(node.input):
            if name in stands_for:
                tensor = tensors[stands_for[name]]
                (used if _is_weight_of(node, place, tensor) else others).add(stands_for[name])
    return used - {stands_for.get(name, name) for name in others}


def _is_weight_of(node: NodeProto, place: int, tensor: TensorProto) -> bool:
    if node.domain not in _DOMAINS:
        return False
    if node.op_type in _ARITHMETIC:  # a scalar is better known
        return tuple(tensor.dims) != (1,) * len(tensor.dims)
    return place in _LAYERS.get(node.op_type, ())


def _captured(node: NodeProto) -> Iterator[str]:
    """The names that subgraphs of a node may capture."""
    for inner in all_nodes([node]):
        if inner is not node:
            yield from inner.input
        for attribute in inner.attribute:
            yield from (value.name for graph in graphs_of(attribute) for value in graph.output)
