"""Products, windows, normalized and quantized values."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.frontend.onnx.random_models.making import Maker, Nothing, Rules

rule = Rules()


@rule(4)
def product(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "float64"))
    inner = data.shape[-1]
    outputs = make.choices.number(1, 5)
    large = data.large * inner
    shape = [*data.shape[:-1], outputs]
    other = make.weights(inner, outputs, dtype=data.dtype)
    if data.rank == 2 and make.yes():
        bias = make.weights(outputs, dtype=data.dtype)
        alpha = make.choices.choice([1.0, 0.5])
        make.add("Gemm", [data, other, bias], data.dtype, shape, data.exact, large + 2, alpha=alpha)
    else:
        make.add("MatMul", [data, other], data.dtype, shape, data.exact, large)


@rule()
def of_two(make: Maker) -> None:
    left = make.some(lambda one: one.rank >= 2 and one.dtype == "float32")
    right = make.some(lambda one: one.rank >= 2 and one.dtype == "float32")
    if left.shape[-1] != right.shape[-2]:
        raise Nothing
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise Nothing from None
    shape = [*batch, left.shape[-2], right.shape[-1]]
    large = left.large * right.large * left.shape[-1]
    make.add("MatMul", [left, right], "float32", shape, left.exact and right.exact, large)


@rule(4)
def convolution(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    space = data.shape[2:]
    channels = data.shape[1]
    groups = channels if make.yes() else 1
    outputs = groups * make.choices.number(1, 3)
    window = [make.choices.number(1, min(3, size)) for size in space]
    strides = [make.choices.number(1, 2) for _ in space]
    pads = [make.choices.number(0, 1) for _ in (*space, *space)]
    weight = make.weights(outputs, channels // groups, *window)
    inputs = [data, weight, *([make.weights(outputs)] if make.yes() else [])]
    rank = len(space)
    shape = [data.shape[0], outputs]
    for at, size in enumerate(space):
        shape.append((size + pads[at] + pads[rank + at] - window[at]) // strides[at] + 1)
    large = data.large * prod(window) * (channels // groups) + 2
    make.add(
        "Conv", inputs, "float32", shape, data.exact, large,
        strides=strides, pads=pads, group=groups, kernel_shape=window,
    )  # fmt: skip


@rule()
def spread(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    space = data.shape[2:]
    outputs = make.choices.number(1, 3)
    window = [make.choices.number(1, 3) for _ in space]
    strides = [make.choices.number(1, 2) for _ in space]
    shape = [data.shape[0], outputs]
    for at, size in enumerate(space):
        shape.append((size - 1) * strides[at] + window[at])
    weight = make.weights(data.shape[1], outputs, *window)
    large = data.large * prod(window) * data.shape[1]
    make.add(
        "ConvTranspose", [data, weight], "float32", shape, data.exact, large,
        strides=strides, kernel_shape=window,
    )  # fmt: skip


@rule()
def named_sums(make: Maker) -> None:
    left = make.some(lambda one: one.rank == 2 and one.dtype == "float32")
    right = make.some(lambda one: one.rank == 2 and one.dtype == "float32")
    if left.shape[1] != right.shape[1] or make.opset < 12:
        raise Nothing
    shape = [left.shape[0], right.shape[0]]
    large = left.large * right.large * left.shape[1]
    exact = left.exact and right.exact
    equation = make.choices.choice(["ij,kj->ik", "aB,cB->ac"])
    make.add("Einsum", [left, right], "float32", shape, exact, large, equation=equation)


@rule(2)
def pool(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    if make.yes():
        shape = [*data.shape[:2], *[1] * (data.rank - 2)]
        name = make.choices.choice(["GlobalAveragePool", "GlobalMaxPool"])
        make.add(name, [data], "float32", shape, False, data.large)
        return
    space = data.shape[2:]
    window = [make.choices.number(1, min(3, size)) for size in space]
    strides = [make.choices.number(1, 2) for _ in space]
    shape = list(data.shape[:2])
    for at, size in enumerate(space):
        shape.append((size - window[at]) // strides[at] + 1)
    name = make.choices.choice(["MaxPool", "AveragePool"])
    exact = data.exact and name == "MaxPool"
    make.add(
        name, [data], "float32", shape, exact, data.large, kernel_shape=window, strides=strides
    )


@rule(2)
def normalized(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2 and one.dtype == "float32" and one.large <= 100)
    channels = data.shape[1]
    how = make.choices.number(0, 3)
    if how == 0:
        factors = [make.weights(channels) for _ in range(3)]
        inputs = [data, *factors, make.constant(np.ones(channels), "float32")]
        make.add("BatchNormalization", inputs, "float32", data.shape, False, data.large * 2)
    elif how == 1 and make.opset >= 17:
        factors = [make.weights(data.shape[-1]) for _ in range(2)]
        # a variance of nearly nothing would make much of little
        make.add(
            "LayerNormalization", [data, *factors], "float32", data.shape, False, 10, epsilon=0.5
        )
    else:
        axis = make.axis(data)
        name = make.choices.choice(["Softmax", "LogSoftmax"])
        place = make.signed(axis, data.rank)
        make.add(name, [data], "float32", data.shape, False, data.large * 2 + 5, axis=place)


@rule()
def quantized(make: Maker) -> None:
    data = make.some(lambda one: one.dtype == "float32" and one.exact)
    scale, point = make.constant(0.25, "float32"), make.constant(3, "uint8")
    whole = make.add("QuantizeLinear", [data, scale, point], "uint8", data.shape, True, 255)
    make.add("DequantizeLinear", [whole, scale, point], "float32", data.shape, True, 64)
