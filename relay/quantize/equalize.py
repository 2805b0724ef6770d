"""Equalize the ranges of channels between two convolutions or dense layers:

nn.dense(nn.relu(nn.dense(%x, W)), V)
->
nn.dense(nn.relu(nn.dense(%x, W / s)), V * s)

ReLU, pooling and reshapes of whole channels commute with a positive factor per channel. `s` gives
the weights that compute a channel and those that read it the same range, so that a per-tensor scale
loses less precision in channels with small weights (cross-layer equalization).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from relay import tree
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.op.quantization import by_layout
from relay.quantize.network import Network, is_depthwise, is_known

ROUNDS: Final = 3  # a layer in the middle of a chain is in two pairs
# what lets a factor of a channel through, and keeps the channels where they are
THROUGH: Final = frozenset(
    {
        "nn.relu",
        "nn.leaky_relu",
        "nn.max_pool2d",
        "nn.avg_pool2d",
        "nn.global_avg_pool2d",
        "nn.global_max_pool2d",
        "nn.dropout",
    }
)
BIASES: Final = ("nn.bias_add", "add")


@frozen
class _Pair:
    """Two layers, with the constants that change: the weight and the bias of the first one, and the
    weight of the second one; the axes of their channels."""

    first: Constant
    rows: int
    biases: tuple[Constant, ...]
    second: Constant
    columns: int


def equalized(module: IRModule) -> IRModule:
    """The module, whose normalizations are folded, with equal ranges between layers."""
    for _ in range(ROUNDS):
        main = module["main"]
        changed: dict[Expr, np.ndarray] = {}
        for pair in _pairs(Network(main)):
            first, second = (changed.get(e, e.data.array) for e in (pair.first, pair.second))
            factor = _factor(_reach(first, pair.rows), _reach(second, pair.columns))
            changed[pair.first] = first / _along(factor, first.ndim, pair.rows)
            changed[pair.second] = second * _along(factor, second.ndim, pair.columns)
            for bias in pair.biases:
                values = changed.get(bias, bias.data.array)
                changed[bias] = values / factor.reshape(values.shape)
        module = module.copy()
        module["main"] = _with_constants(main, changed)
        module = infer_module(module)
    return module


def _with_constants(main: Function, changed: dict[Expr, np.ndarray]) -> Function:
    made = {e: Constant(NDArray(value.astype(np.float32))) for e, value in changed.items()}
    body = tree.transform(main.body, lambda before, after: made.get(before, after))
    return tree.replace(main, body=body, ret_type=None)


def _pairs(network: Network) -> list[_Pair]:
    readers = network.readers
    found = []
    for layer in network.layers.values():
        second = _weight(layer.call)
        axis = None if second is None else _inputs(layer.call)
        if second is None or axis is None or readers[second] != 1:
            continue
        biases: list[Constant] = []
        e = layer.call.args[0]
        while isinstance(e, Call) and readers[e] == 1:
            name = getattr(e.op, "name", "")
            if name in THROUGH:
                e = e.args[0]
            elif name in BIASES and _is_bias(e, readers[e.args[1]]):
                assert isinstance(e.args[1], Constant)
                biases.append(e.args[1])
                e = e.args[0]
            else:
                break
        if e not in network.layers or readers[e] != 1 or not isinstance(e, Call):
            continue
        first, rows = _weight(e), _outputs(e)
        if first is None or rows is None or readers[first] != 1 or first is second:
            continue
        channels = first.data.array.shape[rows]
        if second.data.array.shape[axis] == channels and all(
            bias.data.array.size == channels for bias in biases
        ):
            found.append(_Pair(first, rows, tuple(biases), second, axis))
    return found


def _weight(call: Call) -> Constant | None:
    """The weight of a layer that has one for each output."""
    weight = call.args[1]
    named = getattr(call.op, "name", "") in ("nn.conv2d", "nn.dense")
    return weight if named and is_known(weight) and isinstance(weight, Constant) else None


def _outputs(call: Call) -> int | None:
    known: Any = call.attrs
    if not hasattr(known, "kernel_layout"):
        return 0
    return by_layout(known) if known.groups == 1 or is_depthwise(call) else None


def _inputs(call: Call) -> int | None:
    """The axis of the weight along the channels that a layer reads."""
    known: Any = call.attrs
    if not hasattr(known, "kernel_layout"):
        data = call.args[0]
        return 1 if len(getattr(data.ty, "shape", ())) == 2 else None
    if not known.kernel_layout.isalpha() or not known.data_layout.isalpha():
        return None
    if known.groups == 1:
        return int(known.kernel_layout.index("I"))
    return by_layout(known) if is_depthwise(call) else None


def _is_bias(call: Call, readers: int) -> bool:
    """Whether a constant is added to each channel."""
    bias = call.args[1]
    if not is_known(bias) or not isinstance(bias, Constant) or readers != 1:
        return False
    shape = bias.data.array.shape
    return max(shape, default=1) == bias.data.array.size > 1


def _reach(weight: np.ndarray, axis: int) -> np.ndarray:
    others = tuple(place for place in range(weight.ndim) if place != axis)
    found: np.ndarray = np.abs(weight.astype(np.float64)).max(others, initial=0)
    return found


def _factor(made: np.ndarray, read: np.ndarray) -> np.ndarray:
    """What the first weight is divided by; 1 for channels that nobody makes or reads."""
    is_used = (made > 0) & (read > 0)
    found: np.ndarray = np.where(
        is_used, np.sqrt(np.where(is_used, made, 1) / np.where(is_used, read, 1)), 1.0
    )
    limited: np.ndarray = np.clip(found, 1e-3, 1e3)
    return limited


def _along(factor: np.ndarray, rank: int, axis: int) -> np.ndarray:
    return factor.reshape([-1 if place == axis else 1 for place in range(rank)])
