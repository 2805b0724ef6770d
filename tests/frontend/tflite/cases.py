"""Models of one operator, with options away from their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontend.tflite.further_cases import further
from tests.frontend.tflite.models import Case, Given, Out, fixed
from tests.frontend.tflite.recurrent_cases import recurrent

RANDOM = np.random.default_rng(7)


def reals(*shape: int, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    return RANDOM.uniform(low, high, shape).astype("float32")


def whole(*shape: int, dtype: str = "int32", low: int = -9, high: int = 10) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(dtype)


def steps(*shape: int, dtype: str = "int8") -> np.ndarray:
    info = np.iinfo(dtype)
    return RANDOM.integers(max(info.min, -30000), min(info.max, 30000), shape).astype(dtype)


def held(array: np.ndarray, **more: Any) -> Given:
    return Given(array, fixed=True, **more)


def images(dtype: str, *shape: int) -> np.ndarray:
    return reals(*shape) if dtype == "float32" else steps(*shape, dtype=dtype)


def all_cases() -> list[Case]:
    families = (
        unary,
        binary,
        activations,
        convolutions,
        pools,
        products,
        shapes,
        parts,
        reductions,
        resizing,
        quantized,
        spread,
        selection,
        recurrent,
        further,
    )
    return [case for family in families for case in family()]


def unary() -> Iterator[Case]:
    for name, low, high in (
        ("ABS", -3, 3),
        ("CEIL", -3, 3),
        ("COS", -9, 9),
        ("EXP", -5, 5),
        ("FLOOR", -3, 3),
        ("LOG", 0.01, 9),
        ("NEG", -3, 3),
        ("ROUND", -3, 3),
        ("RSQRT", 0.01, 9),
        ("SIGN", -1, 1),
        ("SIN", -9, 9),
        ("SQRT", 0, 9),
        ("SQUARE", -3, 3),
        ("ZEROS_LIKE", -3, 3),
    ):
        for shape in ((7,), (2, 3, 4)):
            yield Case(name, [reals(*shape, low=low, high=high)])
    yield Case("ROUND", [np.array([0.5, 1.5, 2.5, -0.5, -1.5], "float32")])
    for dtype in ("int32", "int64"):
        yield Case("NEG", [whole(3, 4, dtype=dtype)], [Out(dtype)])
        yield Case("ZEROS_LIKE", [whole(3, 4, dtype=dtype)], [Out(dtype)])
    yield Case("ABS", [whole(3, 4)], [Out("int32")])
    yield Case("LOGICAL_NOT", [whole(3, 4, low=0, high=2, dtype="bool")], [Out("bool")])
    codes = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
    for one in codes:
        for other in codes:
            data = whole(2, 5, low=0, high=2 if one == "bool" else 50).astype(one)
            values = {"inDataType": codes[one], "outDataType": codes[other]}
            yield Case("CAST", [data], [Out(other)], "CastOptions", values)


SHAPES = (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (1, 3, 1)), ((5,), ()))


def binary() -> Iterator[Case]:
    for name, kind in (
        ("ADD", "AddOptions"),
        ("SUB", "SubOptions"),
        ("MUL", "MulOptions"),
        ("DIV", "DivOptions"),
    ):
        for left, right in SHAPES:
            for activation in (0, 1, 2, 3):
                values = {"fusedActivationFunction": activation}
                given = [reals(*left), reals(*right, low=0.5)]
                yield Case(name, given, [Out()], kind, values)
        yield Case(name, [reals(2, 3), held(reals(3, low=0.5))], [Out()], kind)
        data, divisor = whole(3, 4, low=-50, high=50), whole(4, low=1, high=9)
        yield Case(name, [data, divisor], [Out("int32")], kind)
        opened = Given(reals(3, 4), open=(0,))
        yield Case(name, [opened, Given(reals(3, 4, low=0.5), open=(0,))], [Out()], kind)
    for dtype in ("int8", "uint8", "int16"):
        for name in ("ADD", "SUB", "MUL"):
            for activation in (0, 1, 3):
                zero = 0 if dtype == "int16" else 3
                unit = 1e-4 if dtype == "int16" else 0.03
                given = [
                    Given(steps(2, 3, 4, dtype=dtype), unit, zero),
                    Given(steps(1, 3, 1, dtype=dtype), 2 * unit, zero),
                ]
                end = unit * (60 if name == "MUL" and dtype != "int16" else 3)
                values = {"fusedActivationFunction": activation}
                kind = f"{name.title()}Options"
                yield Case(name, given, [Out(dtype, end, zero)], kind, values)
    for name in ("MAXIMUM", "MINIMUM"):
        for left, right in SHAPES[:3]:
            yield Case(name, [reals(*left), reals(*right)], [Out()], "MaximumMinimumOptions")
        given = [whole(3, 4), whole(4)]
        yield Case(name, given, [Out("int32")], "MaximumMinimumOptions")
        given = [Given(steps(3, 4), 0.1, 2), Given(steps(3, 4), 0.1, 2)]
        yield Case(name, given, [Out("int8", 0.1, 2)], "MaximumMinimumOptions")
    for left, right in SHAPES[:3]:
        given = [reals(*left), reals(*right)]
        yield Case("SQUARED_DIFFERENCE", given, [Out()], "SquaredDifferenceOptions")
        positive = [reals(*left, low=0.1), reals(*right)]
        yield Case("POW", positive, [Out()], "PowOptions")
        yield Case("FLOOR_DIV", given, [Out()], "FloorDivOptions")
        yield Case("FLOOR_MOD", given, [Out()], "FloorModOptions", rtol=1e-4)
    for dtype in ("int32", "int64"):
        divisors = whole(4, low=1, high=9, dtype=dtype) * np.array([1, -1, 1, -1], dtype)
        given = [whole(3, 4, dtype=dtype), divisors]
        yield Case("FLOOR_MOD", given, [Out(dtype)], "FloorModOptions")
    given = [whole(3, 4), whole(4, low=1, high=9) * np.array([1, -1, 1, -1], "int32")]
    yield Case("FLOOR_DIV", given, [Out("int32")], "FloorDivOptions")
    for name, kind in (
        ("EQUAL", "EqualOptions"),
        ("NOT_EQUAL", "NotEqualOptions"),
        ("LESS", "LessOptions"),
        ("LESS_EQUAL", "LessEqualOptions"),
        ("GREATER", "GreaterOptions"),
        ("GREATER_EQUAL", "GreaterEqualOptions"),
    ):
        for left, right in SHAPES[:2]:
            pair = [np.round(reals(*left)), np.round(reals(*right))]
            yield Case(name, pair, [Out("bool")], kind)
            pair = [whole(*left, low=0, high=3), whole(*right, low=0, high=3)]
            yield Case(name, pair, [Out("bool")], kind)
    for name in ("LOGICAL_AND", "LOGICAL_OR"):
        pair = [whole(2, 3, 4, low=0, high=2, dtype="bool") for _ in range(2)]
        kind = "LogicalAndOptions" if name.endswith("AND") else "LogicalOrOptions"
        yield Case(name, pair, [Out("bool")], kind)
    for count in (2, 4):
        yield Case("ADD_N", [reals(2, 3) for _ in range(count)], [Out()], "AddNOptions")
    test = whole(3, 4, low=0, high=2, dtype="bool")
    yield Case("SELECT", [test, reals(3, 4), reals(3, 4)], [Out()], "SelectOptions")
    yield Case("SELECT", [test[:, 0], reals(3, 4), reals(3, 4)], [Out()], "SelectOptions")
    yield Case("SELECT_V2", [test, reals(3, 4), reals(4)], [Out()], "SelectV2Options")
    yield Case("SELECT_V2", [test, whole(3, 1), whole(4)], [Out("int32")], "SelectV2Options")


def activations() -> Iterator[Case]:
    for name in ("RELU", "RELU6", "RELU_N1_TO_1", "LOGISTIC", "TANH", "ELU", "HARD_SWISH"):
        yield Case(name, [reals(3, 5, low=-8, high=8)])
        yield Case(name, [Given(reals(2, 3, 5), open=(0, 1))])
    yield Case("RELU_0_TO_1", [reals(3, 5)])
    for approximate in (True, False):
        yield Case("GELU", [reals(3, 5)], [Out()], "GeluOptions", {"approximate": approximate})
    for alpha in (0.1, 0.7):
        yield Case("LEAKY_RELU", [reals(3, 5)], [Out()], "LeakyReluOptions", {"alpha": alpha})
    yield Case("PRELU", [reals(2, 3, 4, 5), held(reals(1, 1, 5))])
    yield Case("PRELU", [reals(2, 3, 4, 5), held(reals(3, 4, 5))])
    for beta in (1.0, 0.3):
        for shape in ((2, 5), (5,), (2, 3, 4), (2, 2, 3, 4)):
            yield Case("SOFTMAX", [reals(*shape)], [Out()], "SoftmaxOptions", {"beta": beta})
    yield Case("LOG_SOFTMAX", [reals(2, 3, 4)], [Out()], "LogSoftmaxOptions")
    yield Case("L2_NORMALIZATION", [reals(2, 3, 4, 5)], [Out()], "L2NormOptions")
    for radius, bias, alpha, beta in ((1, 1.0, 0.5, 0.75), (2, 2.0, 0.1, 0.5)):
        values = {"radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
        kind = "LocalResponseNormalizationOptions"
        yield Case("LOCAL_RESPONSE_NORMALIZATION", [reals(1, 2, 3, 8)], [Out()], kind, values)
    for dtype, zero in (("int8", 5), ("uint8", 120)):
        given = [Given(steps(4, 16, dtype=dtype), 0.05, zero)]
        low = 0 if dtype == "uint8" else -128
        yield Case("LOGISTIC", given, [Out(dtype, 1 / 256, low)])
        yield Case("TANH", given, [Out(dtype, 1 / 128, low + 128)])
        yield Case("SOFTMAX", given, [Out(dtype, 1 / 256, low)], "SoftmaxOptions", {"beta": 1.0})
        yield Case("RELU", given, [Out(dtype, 0.03, low + 10)])
        yield Case("RELU6", given, [Out(dtype, 0.03, low + 10)])
        yield Case("HARD_SWISH", given, [Out(dtype, 0.03, low + 20)])
        yield Case(
            "LEAKY_RELU", given, [Out(dtype, 0.04, zero)], "LeakyReluOptions", {"alpha": 0.3}
        )
    given = [Given(steps(4, 16), 0.05, 5)]
    yield Case("ELU", given, [Out("int8", 0.05, -20)])
    yield Case("PRELU", [*given, Given(steps(16), 0.01, 0, fixed=True)], [Out("int8", 0.08, 0)])


def convolutions() -> Iterator[Case]:
    """Strides, dilations, padding, groups, channel multipliers, functions after it, open sizes."""
    for padding in (0, 1):
        for strides in ((1, 1), (2, 1), (2, 3)):
            for dilations in ((1, 1), (2, 1)):
                if strides != (1, 1) and dilations != (1, 1):
                    continue
                values = {
                    "padding": padding,
                    "strideH": strides[0],
                    "strideW": strides[1],
                    "dilationHFactor": dilations[0],
                    "dilationWFactor": dilations[1],
                }
                for activation in (0, 3):
                    values = {**values, "fusedActivationFunction": activation}
                    yield from _convolutions(values)
    values = {"padding": 0, "strideH": 2, "strideW": 2}
    for axes in ((0,), (0, 1, 2)):
        data = Given(reals(2, 7, 9, 3), open=axes)
        given = [data, held(reals(4, 3, 3, 3)), held(reals(4))]
        yield Case("CONV_2D", given, [Out()], "Conv2DOptions", values)
        given = [data, held(reals(1, 3, 3, 3)), held(reals(3))]
        yield Case("DEPTHWISE_CONV_2D", given, [Out()], "DepthwiseConv2DOptions", values)
    given = [reals(1, 6, 6, 6), held(reals(6, 3, 3, 2)), held(reals(6))]
    yield Case("CONV_2D", given, [Out()], "Conv2DOptions", values)


def _convolutions(values: dict[str, int]) -> Iterator[Case]:
    data, outputs = reals(2, 8, 9, 3), 5
    weight = held(reals(outputs, 3, 2, 3))
    given = [data, weight, held(reals(outputs))]
    yield Case("CONV_2D", given, [Out()], "Conv2DOptions", values)
    multiplier = 2
    kind, more = "DepthwiseConv2DOptions", {**values, "depthMultiplier": multiplier}
    if values["strideH"] == values["strideW"]:
        given = [data, held(reals(1, 3, 2, 3 * multiplier)), held(reals(3 * multiplier))]
        yield Case("DEPTHWISE_CONV_2D", given, [Out()], kind, more)
    for dtype in ("int8", "uint8", "int16"):
        if dtype == "uint8" and values["dilationHFactor"] > 1:
            continue
        zero = {"int8": 4, "uint8": 120, "int16": 0}[dtype]
        unit = {"int16": 1e-3}.get(dtype, 0.05)
        x = Given(steps(2, 8, 9, 3, dtype=dtype), unit, zero)
        wide = "int64" if dtype == "int16" else "int32"
        end = Out(dtype, unit * 20, zero)
        if dtype == "uint8":
            w = held(steps(outputs, 3, 2, 3, dtype="uint8"), scale=0.02, zero=110)
        else:
            w = held(steps(outputs, 3, 2, 3), scale=RANDOM.uniform(0.01, 0.04, outputs))
        bias = held(whole(outputs, low=-900, high=900, dtype=wide))
        yield Case("CONV_2D", [x, w, bias], [end], "Conv2DOptions", values)
        if values["strideH"] != values["strideW"]:
            continue
        channels = 3 * multiplier
        if dtype == "uint8":
            w = held(steps(1, 3, 2, channels, dtype="uint8"), scale=0.02, zero=110)
        else:
            scale = RANDOM.uniform(0.01, 0.04, channels)
            w = held(steps(1, 3, 2, channels), scale=scale, axis=3)
        bias = held(whole(channels, low=-900, high=900, dtype=wide))
        yield Case("DEPTHWISE_CONV_2D", [x, w, bias], [end], kind, more)


def pools() -> Iterator[Case]:
    for name in ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"):
        for padding in (0, 1):
            for size, stride in (((2, 2), (2, 2)), ((3, 2), (1, 2)), ((3, 3), (2, 1))):
                for activation in (0, 1):
                    values = {
                        "padding": padding,
                        "filterHeight": size[0],
                        "filterWidth": size[1],
                        "strideH": stride[0],
                        "strideW": stride[1],
                        "fusedActivationFunction": activation,
                    }
                    data = reals(2, 7, 8, 3)
                    yield Case(name, [data], [Out()], "Pool2DOptions", values)
                    opened = Given(data, open=(0, 1, 2))
                    yield Case(name, [opened], [Out()], "Pool2DOptions", values)
                    if name == "L2_POOL_2D":
                        continue
                    for dtype, zero in (("int8", 4), ("uint8", 120), ("int16", 0)):
                        x = Given(steps(2, 7, 8, 3, dtype=dtype), 0.05, zero)
                        yield Case(name, [x], [Out(dtype, 0.05, zero)], "Pool2DOptions", values)


def products() -> Iterator[Case]:
    for activation in (0, 1):
        values = {"fusedActivationFunction": activation}
        kind = "FullyConnectedOptions"
        for shape in ((2, 6), (2, 3, 6), (2, 2, 3)):
            given = [reals(*shape), held(reals(4, 6)), held(reals(4))]
            yield Case("FULLY_CONNECTED", given, [Out()], kind, values)
            yield Case("FULLY_CONNECTED", [*given[:2], None], [Out()], kind, values)
        given = [reals(2, 3, 6), held(reals(4, 6)), held(reals(4))]
        kept = {**values, "keepNumDims": True}
        yield Case("FULLY_CONNECTED", given, [Out()], kind, kept)
        given = [Given(reals(5, 6), open=(0,)), held(reals(4, 6)), held(reals(4))]
        yield Case("FULLY_CONNECTED", given, [Out()], kind, values)
        for dtype in ("int8", "uint8", "int16"):
            zero = {"int8": 4, "uint8": 120, "int16": 0}[dtype]
            unit = {"int16": 1e-3}.get(dtype, 0.05)
            weight = steps(4, 16, dtype="uint8" if dtype == "uint8" else "int8")
            w = held(weight, scale=0.02, zero=110 if dtype == "uint8" else 0)
            wide = "int64" if dtype == "int16" else "int32"
            bias = held(whole(4, low=-900, high=900, dtype=wide))
            x = Given(steps(3, 16, dtype=dtype), unit, zero)
            yield Case("FULLY_CONNECTED", [x, w, bias], [Out(dtype, unit * 20, zero)], kind, values)
        w = held(steps(4, 16), scale=RANDOM.uniform(0.01, 0.04, 4))
        given = [Given(steps(3, 16), 0.05, 4), w, held(whole(4, low=-900, high=900))]
        yield Case("FULLY_CONNECTED", given, [Out("int8", 1.0, 4)], kind, values, version=5)
    for left, right in (((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 5))):
        for adj_x in (False, True):
            for adj_y in (False, True):
                a, b = reals(*left), reals(*right)
                a = a.swapaxes(-1, -2).copy() if adj_x else a
                b = b.swapaxes(-1, -2).copy() if adj_y else b
                values = {"adjX": adj_x, "adjY": adj_y}
                yield Case("BATCH_MATMUL", [a, b], [Out()], "BatchMatMulOptions", values)
    pair = [Given(steps(2, 3, 8), 0.05, 3), Given(steps(2, 8, 4), 0.04, -2)]
    yield Case("BATCH_MATMUL", pair, [Out("int8", 0.5, 1)], "BatchMatMulOptions")


def shapes() -> Iterator[Case]:
    for wanted in ((24,), (4, 6), (2, -1), (2, 3, 4, 1)):
        given = [reals(2, 3, 4), fixed(wanted)]
        yield Case("RESHAPE", given, [Out()], "ReshapeOptions", {"newShape": wanted})
        opened = [Given(reals(2, 3, 4), open=(0,)), fixed((-1, 12))]
        yield Case("RESHAPE", opened, [Out()], "ReshapeOptions", {"newShape": (-1, 12)})
    for dims in ((), (0,), (2,), (-2, 0)):
        values = {"squeezeDims": dims}
        yield Case("SQUEEZE", [reals(1, 3, 1, 4)], [Out()], "SqueezeOptions", values)
    for axis in (0, 2, -1):
        yield Case("EXPAND_DIMS", [reals(2, 3), fixed([axis])], [Out()], "ExpandDimsOptions")
    for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1)):
        given = [reals(2, 3, 4), fixed(order)]
        yield Case("TRANSPOSE", given, [Out()], "TransposeOptions")
        given = [whole(2, 3, 4), fixed(order)]
        yield Case("TRANSPOSE", given, [Out("int32")], "TransposeOptions")
    for dtype, code in (("int32", 2), ("int64", 4)):
        yield Case("SHAPE", [reals(2, 3, 4)], [Out(dtype)], "ShapeOptions", {"outType": code})
        opened = Given(reals(2, 3, 4), open=(1,))
        yield Case("SHAPE", [opened], [Out(dtype)], "ShapeOptions", {"outType": code})
    yield Case("RANK", [reals(2, 3, 4)], [Out("int32")], "RankOptions")
    for wanted in ((2, 3, 4), (5, 2, 3, 4)):
        given = [reals(2, 1, 4), fixed(wanted)]
        yield Case("BROADCAST_TO", given, [Out()], "BroadcastToOptions", version=2)
    given = [Given(reals(2, 1, 4)), np.array((2, 3, 4), "int32")]
    yield Case("BROADCAST_TO", given, [Out()], "BroadcastToOptions", version=2)
    pair = [np.array((2, 1, 4), "int32"), np.array((3, 1), "int32")]
    yield Case("BROADCAST_ARGS", pair, [Out("int32")])
    for times in ((1, 2), (3, 1), (2, 2)):
        yield Case("TILE", [reals(2, 3), fixed(times)], [Out()], "TileOptions")
        yield Case("TILE", [reals(2, 3), np.array(times, "int32")], [Out()], "TileOptions")
    for value in (np.float32(2.5), np.int32(7), np.int64(-3)):
        given = [fixed((2, 3)), Given(np.array(value))]
        yield Case("FILL", given, [Out(value.dtype.name)], "FillOptions")
        given = [np.array((2, 3), "int32"), Given(np.array(value))]
        yield Case("FILL", given, [Out(value.dtype.name)], "FillOptions")
    for low, high, by in ((0, 7, 2), (5, -3, -2), (0.5, 3.1, 0.4)):
        dtype = "float32" if isinstance(by, float) else "int32"
        given = [np.array(one, dtype) for one in (low, high, by)]
        yield Case("RANGE", given, [Out(dtype)], "RangeOptions")
    for size in (2, 3):
        data = reals(2, 6, 12, 9 * 4)
        values = {"blockSize": size}
        yield Case("DEPTH_TO_SPACE", [data], [Out()], "DepthToSpaceOptions", values)
        yield Case("SPACE_TO_DEPTH", [data], [Out()], "SpaceToDepthOptions", values)
    block, pads = fixed((2, 3)), fixed(((0, 1), (2, 1)))
    given = [reals(2, 5, 6, 3), block, pads]
    yield Case("SPACE_TO_BATCH_ND", given, [Out()], "SpaceToBatchNDOptions")
    x = Given(steps(2, 5, 6, 3), 0.1, 7)
    yield Case("SPACE_TO_BATCH_ND", [x, block, pads], [Out("int8", 0.1, 7)])
    given = [reals(12, 3, 3, 2), block, pads]
    yield Case("BATCH_TO_SPACE_ND", given, [Out()], "BatchToSpaceNDOptions")
    widths = fixed(((0, 1), (2, 0), (1, 1)))
    yield Case("PAD", [reals(2, 3, 4), widths], [Out()], "PadOptions")
    yield Case("PAD", [Given(steps(2, 3, 4), 0.1, 7), widths], [Out("int8", 0.1, 7)], "PadOptions")
    yield Case("PAD", [reals(2, 3, 4), widths.array], [Out()], "PadOptions")
    value = Given(np.array(1.5, "float32"), fixed=True)
    yield Case("PADV2", [reals(2, 3, 4), widths, value], [Out()], "PadV2Options")
    for mode in (0, 1):
        given = [reals(2, 3, 4), fixed(((1, 1), (2, 0), (1, 2)))]
        yield Case("MIRROR_PAD", given, [Out()], "MirrorPadOptions", {"mode": mode})


def parts() -> Iterator[Case]:
    for axis in (0, 1, -1):
        shapes = [[2, 3, 4], [2, 3, 4]]
        shapes[1][axis] = 5
        given = [reals(*shape) for shape in shapes]
        yield Case("CONCATENATION", given, [Out()], "ConcatenationOptions", {"axis": axis})
    for dtype, zero in (("int8", 3), ("uint8", 100)):
        given = [Given(steps(2, 3, dtype=dtype), 0.05, zero) for _ in range(3)]
        values = {"axis": 1}
        kind = "ConcatenationOptions"
        yield Case("CONCATENATION", given, [Out(dtype, 0.05, zero)], kind, values)
    given = [Given(steps(2, 3, dtype="uint8"), 0.05 * n, 90 + n) for n in (1, 2)]
    yield Case("CONCATENATION", given, [Out("uint8", 0.11, 95)], kind, values)
    for axis in (0, 1, -1):
        values = {"axis": axis, "valuesCount": 3}
        yield Case("PACK", [reals(2, 4) for _ in range(3)], [Out()], "PackOptions", values)
    for axis, count in ((0, 2), (1, 3), (-1, 4)):
        values = {"axis": axis, "num": count}
        yield Case("UNPACK", [reals(2, 3, 4)], [Out()] * count, "UnpackOptions", values)
    for axis, count in ((0, 2), (1, 3), (-1, 4)):
        given = [fixed(np.array(axis, "int32")), reals(4, 6, 8)]
        yield Case("SPLIT", given, [Out()] * count, "SplitOptions", {"numSplits": count})
    for sizes in ((1, 5), (2, -1, 1)):
        given = [reals(2, 6), fixed(sizes), fixed(np.array(1, "int32"))]
        values = {"numSplits": len(sizes)}
        yield Case("SPLIT_V", given, [Out()] * len(sizes), "SplitVOptions", values)
    for begin, size in (((0, 1, 0), (1, 2, 4)), ((1, 0, 2), (-1, 2, -1))):
        given = [reals(2, 3, 4), fixed(begin), fixed(size)]
        yield Case("SLICE", given, [Out()], "SliceOptions")
        given = [reals(2, 3, 4), *(np.array(one, "int32") for one in (begin, size))]
        yield Case("SLICE", given, [Out()], "SliceOptions")
    for begin, end, by, masks in (
        ((0, 1, 1), (2, 3, 4), (1, 1, 2), {}),
        ((1, -1, 3), (0, 0, -5), (-1, -1, -2), {}),
        ((0, 1, 1), (0, 0, 3), (1, 1, 1), {"beginMask": 1, "endMask": 3}),
        ((1, 0, 1), (2, 3, 4), (1, 1, 1), {"shrinkAxisMask": 1}),
        ((-1, 0, -2), (0, 3, 0), (1, 1, 1), {"shrinkAxisMask": 5}),
        ((0, 0, 0), (0, 0, 0), (-1, 1, -1), {"beginMask": 7, "endMask": 7}),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), {"ellipsisMask": 1, "newAxisMask": 2}),
        ((1, 0, 2), (2, 0, 3), (1, 1, 1), {"ellipsisMask": 2}),
        ((0, 0), (0, 0), (1, 1), {"ellipsisMask": 1, "newAxisMask": 2}),
        ((0, 0, 1, 0), (2, 0, 3, 2), (1, 1, 1, 1), {"newAxisMask": 2}),
    ):
        given = [reals(2, 3, 4), *map(fixed, (begin, end, by))]
        yield Case("STRIDED_SLICE", given, [Out()], "StridedSliceOptions", masks)
    bounds = [np.array(one, "int32") for one in ((0, 1, -1), (2, 3, 4))]
    for masks in ({}, {"shrinkAxisMask": 4}, {"beginMask": 2, "endMask": 1}):
        given = [reals(2, 3, 4), *bounds, fixed((1, 1, 1))]
        yield Case("STRIDED_SLICE", given, [Out()], "StridedSliceOptions", masks)
    for axis, batch, at in (
        (0, 0, (3, 1)),
        (1, 0, (2,)),
        (-1, 0, ()),
        (1, 1, (2, 3)),
        (2, 1, (2, 2)),
    ):
        high = (2, 3, 4)[axis]
        given = [reals(2, 3, 4), whole(*at, low=0, high=high)]
        values = {"axis": axis, "batchDims": batch}
        yield Case("GATHER", given, [Out()], "GatherOptions", values)
    for depth in (1, 2, 3):
        at = np.stack([whole(5, low=0, high=size) for size in (2, 3, 4)[:depth]], -1)
        yield Case("GATHER_ND", [reals(2, 3, 4), at], [Out()], "GatherNdOptions")
    for axes in ((1,), (0,), (2,)):
        yield Case("REVERSE_V2", [reals(2, 3, 4), fixed(axes)], [Out()], "ReverseV2Options")


def reductions() -> Iterator[Case]:
    for name in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"):
        for axes in ((0,), (1, 2), (-1,), (0, 1, 2)):
            for keeps in (False, True):
                values = {"keepDims": keeps}
                given = [reals(2, 3, 4), fixed(axes)]
                yield Case(name, given, [Out()], "ReducerOptions", values)
        given = [whole(2, 3, 4, low=1, high=5), fixed((1,))]
        yield Case(name, given, [Out("int32")], "ReducerOptions")
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        test = whole(3, 4, low=0, high=2, dtype="bool")
        yield Case(name, [test, fixed((1,))], [Out("bool")], "ReducerOptions")
    for dtype, zero in (("int8", 3), ("uint8", 100)):
        for axes, keeps in (((1, 2), True), ((1, 2), False), ((3,), False)):
            given = [Given(steps(2, 4, 5, 3, dtype=dtype), 0.05, zero), fixed(axes)]
            out = Out(dtype, 0.02, zero)
            yield Case("MEAN", given, [out], "ReducerOptions", {"keepDims": keeps})
        given = [Given(steps(2, 4, 5, dtype=dtype), 0.05, zero), fixed((1,))]
        for name in ("REDUCE_MAX", "REDUCE_MIN"):
            yield Case(name, given, [Out(dtype, 0.05, zero)], "ReducerOptions")
    for name in ("ARG_MAX", "ARG_MIN"):
        for axis in (0, 1, -1):
            for dtype, code in (("int32", 2), ("int64", 4)):
                given = [reals(2, 3, 4), fixed(np.array(axis, "int32"))]
                kind = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
                yield Case(name, given, [Out(dtype)], kind, {"outputType": code})
        ties = np.array([[1, 3, 3], [2, 2, 0]], "float32")
        yield Case(
            name, [ties, fixed(np.array(1, "int32"))], [Out("int32")], kind, {"outputType": 2}
        )
    for exclusive in (False, True):
        for backwards in (False, True):
            values = {"exclusive": exclusive, "reverse": backwards}
            given = [reals(2, 5), fixed(np.array(1, "int32"))]
            yield Case("CUMSUM", given, [Out()], "CumsumOptions", values)


def resizing() -> Iterator[Case]:
    for name, kind in (
        ("RESIZE_BILINEAR", "ResizeBilinearOptions"),
        ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    ):
        for size in ((8, 10), (3, 4), (7, 3), (4, 5)):
            for values in ({}, {"alignCorners": True}, {"halfPixelCenters": True}):
                given = [reals(2, 4, 5, 3), fixed(size)]
                yield Case(name, given, [Out()], kind, values)
                opened = [Given(reals(2, 4, 5, 3), open=(0, 1)), fixed(size)]
                yield Case(name, opened, [Out()], kind, values)
        given = [Given(steps(1, 4, 5, 3), 0.1, 3), fixed((8, 10))]
        yield Case(name, given, [Out("int8", 0.1, 3)], kind, {"halfPixelCenters": True})
        given = [Given(steps(1, 4, 5, 3, dtype="uint8"), 0.1, 3), fixed((7, 9))]
        yield Case(name, given, [Out("uint8", 0.1, 3)], kind)


def quantized() -> Iterator[Case]:
    for dtype, zero in (("int8", 3), ("uint8", 100), ("int16", 0)):
        yield Case("QUANTIZE", [reals(3, 5)], [Out(dtype, 0.02, zero)], "QuantizeOptions")
        given = [Given(steps(3, 5, dtype=dtype), 0.02, zero)]
        yield Case("DEQUANTIZE", given, [Out()], "DequantizeOptions")
        yield Case("QUANTIZE", given, [Out(dtype, 0.03, zero)], "QuantizeOptions")
    given = [Given(steps(3, 5), 0.02, 3)]
    yield Case("QUANTIZE", given, [Out("uint8", 0.02, 131)], "QuantizeOptions")
    half = [held(reals(3, 5).astype("float16"))]
    yield Case("DEQUANTIZE", half, [Out()], "DequantizeOptions")
    scales = RANDOM.uniform(0.01, 0.1, 5)
    given = [Given(steps(3, 5), scales, 0, axis=1)]
    yield Case("DEQUANTIZE", given, [Out()], "DequantizeOptions", version=5)
    for low, high, bits, narrow in (
        (-1.0, 2.0, 8, False),
        (-3.0, 1.0, 4, False),
        (0.0, 5.0, 8, False),
    ):
        values = {"min": low, "max": high, "numBits": bits, "narrowRange": narrow}
        yield Case("FAKE_QUANT", [reals(3, 5)], [Out()], "FakeQuantOptions", values)


def spread() -> Iterator[Case]:
    """Transposed convolutions, and those of volumes."""
    for padding in (0, 1):
        for strides in ((1, 1), (2, 2), (3, 2)):
            values = {"padding": padding, "strideH": strides[0], "strideW": strides[1]}
            ends = [
                size * stride if padding == 0 else (size - 1) * stride + kernel
                for size, stride, kernel in zip((4, 5), strides, (3, 2), strict=True)
            ]
            wanted, kind = fixed((2, *ends, 6)), "TransposeConvOptions"
            given = [wanted, held(reals(6, 3, 2, 3)), reals(2, 4, 5, 3)]
            yield Case("TRANSPOSE_CONV", given, [Out()], kind, values)
            biased = [*given, held(reals(6))]
            yield Case("TRANSPOSE_CONV", biased, [Out()], kind, values, version=3)
            w = held(steps(6, 3, 2, 3), scale=RANDOM.uniform(0.01, 0.04, 6))
            bias = held(whole(6, low=-900, high=900))
            quantized = [wanted, w, Given(steps(2, 4, 5, 3), 0.05, 4), bias]
            yield Case("TRANSPOSE_CONV", quantized, [Out("int8", 1.0, 4)], kind, values, version=3)
    for padding in (0, 1):
        for strides in ((1, 1, 1), (2, 1, 2)):
            values = dict(zip(("strideD", "strideH", "strideW"), strides, strict=True))
            values |= {"padding": padding}
            given = [reals(2, 4, 5, 6, 3), held(reals(2, 3, 2, 3, 4)), held(reals(4))]
            yield Case("CONV_3D", given, [Out()], "Conv3DOptions", values)
            ends = [
                size * stride if padding == 0 else (size - 1) * stride + kernel
                for size, stride, kernel in zip((2, 3, 4), strides, (2, 3, 2), strict=True)
            ]
            given = [fixed((1, *ends, 4)), held(reals(2, 3, 2, 4, 3)), reals(1, 2, 3, 4, 3)]
            yield Case("CONV_3D_TRANSPOSE", given, [Out()], "Conv3DOptions", values)


def selection() -> Iterator[Case]:
    for count in (1, 3):
        given = [reals(2, 5), fixed(np.array(count, "int32"))]
        yield Case("TOPK_V2", given, [Out(), Out("int32")], "TopKV2Options")
    ties = np.array([[1, 3, 3, 2], [2, 2, 2, 0]], "int32")
    given = [ties, fixed(np.array(3, "int32"))]
    yield Case("TOPK_V2", given, [Out("int32"), Out("int32")], "TopKV2Options")
    for axis in (-1, 0, 1):
        scalars = [Given(np.array(one, "float32"), fixed=True) for one in (5.0, -1.0)]
        given = [whole(2, 3, low=-1, high=5), fixed(np.array(4, "int32")), *scalars]
        yield Case("ONE_HOT", given, [Out()], "OneHotOptions", {"axis": axis})
    yield Case("WHERE", [whole(3, 4, low=0, high=2, dtype="bool")], [Out("int64")], "WhereOptions")
    at = np.array([[0, 1], [2, 3], [0, 1]], "int32")
    yield Case("SCATTER_ND", [at, reals(3), fixed((3, 4))], [Out()], "ScatterNdOptions")
    yield Case("SCATTER_ND", [at[:, :1], reals(3, 4), fixed((3, 4))], [Out()], "ScatterNdOptions")
    rest = [fixed((3, 4)), reals(2), Given(np.array(0.5, "float32"), fixed=True)]
    yield Case("SPARSE_TO_DENSE", [at[:2], *rest], [Out()], "SparseToDenseOptions")
    for name in ("SUM", "PROD", "MAX", "MIN"):
        for data in (reals(5, 3), whole(5, 3)):
            given = [data, np.array([2, 0, 2, -1, 0], "int32"), fixed(np.array(4, "int32"))]
            if name == "SUM":
                given[1] = np.array([2, 0, 2, 1, 0], "int32")
            options = f"UnsortedSegment{name.title()}Options"
            yield Case(f"UNSORTED_SEGMENT_{name}", given, [Out(data.dtype.name)], options)
    given = [reals(5, 3), np.array([0, 0, 1, 2, 2], "int32")]
    yield Case("SEGMENT_SUM", given, [Out()], "SegmentSumOptions")
    for start in ((0, 1), (2, 3), (-1, 9)):
        given = [reals(3, 5), reals(2, 2), np.array(start, "int32")]
        yield Case("DYNAMIC_UPDATE_SLICE", given, [Out()], "DynamicUpdateSliceOptions")
    lengths = np.array([2, 4, 0], "int32")
    values = {"seqDim": 1, "batchDim": 0}
    yield Case(
        "REVERSE_SEQUENCE", [reals(3, 4, 2), lengths], [Out()], "ReverseSequenceOptions", values
    )
    yield Case("MATRIX_DIAG", [reals(2, 3)], [Out()], "MatrixDiagOptions")
    yield Case("MATRIX_SET_DIAG", [reals(2, 3, 4), reals(2, 3)], [Out()], "MatrixSetDiagOptions")
    data = np.array([-1.0, 0.0, 0.5, 1.0, 7.0], "float32")
    bounds = {"boundaries": [0.0, 1.0, 5.0]}
    yield Case("BUCKETIZE", [data], [Out("int32")], "BucketizeOptions", bounds)
    data = np.array([3, 1, 3, 2, 1], "int32")
    yield Case("UNIQUE", [data], [Out("int32"), Out("int32")], "UniqueOptions", {"idxOutType": 2})
    at = np.array([3, 0, 2], "int32")
    yield Case("EMBEDDING_LOOKUP", [at, held(reals(4, 5))])
    given = [reals(2, 3), fixed((2, 3)), Given(np.array(0.5, "float32"), fixed=True)]
    yield Case("DILATE", given, [Out()], "DilateOptions")
    corners = np.sort(RANDOM.uniform(0, 1, (12, 2, 2)), axis=1).reshape(12, 4).astype("float32")
    numbers = [Given(np.array(one, "float32"), fixed=True) for one in (0.3, 0.2, 0.0)]
    for most in (3, 20):
        given = [corners, reals(12, low=0, high=1), fixed(np.array(most, "int32")), *numbers]
        outs = [Out("int32"), Out("int32")]
        yield Case("NON_MAX_SUPPRESSION_V4", given[:5], outs, "NonMaxSuppressionV4Options")
        outs = [Out("int32"), Out(), Out("int32")]
        yield Case("NON_MAX_SUPPRESSION_V5", given, outs, "NonMaxSuppressionV5Options")
