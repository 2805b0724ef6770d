"""Operators of TensorFlow as test cases, with attributes away from their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontend.tensorflow.models import Case, case, held, opened

RANDOM = np.random.default_rng(17)


def reals(*shape: int, low: float = -3.0, high: float = 3.0, dtype: str = "float32") -> Any:
    return RANDOM.uniform(low, high, shape).astype(dtype)


def whole(*shape: int, dtype: str = "int32", low: int = -9, high: int = 10) -> Any:
    return RANDOM.integers(low, high, shape).astype(dtype)


def truth(*shape: int) -> Any:
    return RANDOM.integers(0, 2, shape).astype("bool")


def numbers(*values: int, dtype: str = "int32") -> Any:
    return held(np.array(values, dtype))


def scalar(value: Any, dtype: str = "int32") -> Any:
    return held(np.array(value, dtype))


def all_cases() -> list[Case]:
    families = (
        unary,
        binary,
        activations,
        convolutions,
        transposed,
        pools,
        normalization,
        products,
        shapes,
        parts,
        reductions,
        selection,
        writing,
        segments,
        resizing,
        regions,
        matrices,
        spectral,
        quantized,
        special,
        further,
    )
    return [one for family in families for one in family()]


# --- element by element --------------------------------------------------------------------------

_UNARY = (
    ("Abs", -3, 3),
    ("Acos", -1, 1),
    ("Acosh", 1, 5),
    ("Asin", -1, 1),
    ("Asinh", -3, 3),
    ("Atan", -3, 3),
    ("Atanh", -0.9, 0.9),
    ("Ceil", -3, 3),
    ("Cos", -9, 9),
    ("Cosh", -3, 3),
    ("Erf", -3, 3),
    ("Erfc", -3, 5),
    ("Exp", -5, 5),
    ("Expm1", -2, 2),
    ("Floor", -3, 3),
    ("Inv", 0.5, 3),
    ("Log", 0.01, 9),
    ("Log1p", -0.5, 3),
    ("Neg", -3, 3),
    ("Reciprocal", 0.5, 3),
    ("Rint", -3, 3),
    ("Round", -3, 3),
    ("Rsqrt", 0.1, 9),
    ("Sigmoid", -9, 9),
    ("Sign", -1, 1),
    ("Sin", -9, 9),
    ("Sinh", -3, 3),
    ("Sqrt", 0, 9),
    ("Square", -3, 3),
    ("Tan", -1, 1),
    ("Tanh", -3, 3),
    ("ZerosLike", -3, 3),
    ("OnesLike", -3, 3),
    ("IsFinite", -3, 3),
)


def unary() -> Iterator[Case]:
    for name, low, high in _UNARY:
        key = "features" if name in ("Relu",) else "x"
        yield case(name, {key: opened(reals(2, 3, 4, low=low, high=high), 0)})
        if name not in ("Tan", "Asinh", "Acosh", "Atanh"):
            yield case(name, {key: reals(7, low=low, high=high, dtype="float64")}, rtol=1e-6)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], "float32")
    for name in ("IsNan", "IsInf", "IsFinite", "Sign", "Abs", "Round", "Floor", "Neg", "Rint"):
        yield case(name, {"x": special})
    for dtype in ("int32", "int64"):
        for name in ("Abs", "Neg", "Sign", "Square", "ZerosLike", "OnesLike"):
            yield case(name, {"x": whole(3, 4, dtype=dtype)})
    for dtype in ("int8", "uint8", "int32", "uint16"):
        yield case("Invert", {"x": whole(3, 4, dtype=dtype, low=0)})
        yield case("PopulationCount", {"x": whole(3, 4, dtype=dtype, low=0)})
    yield case("LogicalNot", {"x": truth(3, 4)})
    kinds = ("float32", "float64", "int32", "int64", "uint8", "int8", "bool", "float16")
    for one in kinds:
        for other in kinds:
            data = whole(2, 5, low=0, high=2 if one == "bool" else 50).astype(one)
            yield case("Cast", {"x": data}, DstT=other)
    yield case("Cast", {"x": reals(3, 4)}, DstT="int32")
    yield case("Bitcast", {"input": reals(3, 4)}, type="int32")
    yield case("Identity", {"input": reals(3)})
    yield case("IdentityN", {"input": [reals(3), whole(2)]})
    yield case("StopGradient", {"input": reals(3)})


SHAPES = (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (1, 3, 1)), ((5,), ()))


def binary() -> Iterator[Case]:
    for name in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
        for left, right in SHAPES:
            yield case(name, {"x": reals(*left), "y": reals(*right)})
        for dtype in ("int32", "int64", "float64"):
            yield case(name, {"x": whole(3, 4, dtype=dtype), "y": whole(4, dtype=dtype)})
        both = {"x": opened(reals(3, 4), 0), "y": opened(reals(3, 4), 0, 1)}
        yield case(name, both)
    for left, right in SHAPES[:3]:
        pair = {"x": reals(*left), "y": reals(*right, low=0.5)}
        for name in ("Div", "RealDiv", "FloorDiv", "FloorMod", "Atan2"):
            key = ("y", "x") if name == "Atan2" else ("x", "y")
            given = dict(zip(key, pair.values(), strict=True))
            yield case(name, given, rtol=1e-4 if name == "FloorMod" else 1e-5)
        yield case("Pow", {"x": reals(*left, low=0.1), "y": reals(*right)})
    signs = np.array([1, -1, 1, -1], "int32")
    for dtype in ("int32", "int64"):
        divisors = whole(4, low=1, high=9, dtype=dtype) * signs.astype(dtype)
        for name in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Div"):
            yield case(name, {"x": whole(3, 4, dtype=dtype, low=-50, high=50), "y": divisors})
    zeros = np.array([0.0, 2.0, 0.0, -1.0], "float32")
    for name in ("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py"):
        yield case(name, {"x": np.abs(zeros), "y": np.array([0.0, 0.5, 3.0, 0.0], "float32")})
        yield case(name, {"x": reals(2, 3), "y": reals(3, low=0.5)})
    corners = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 0.0, -0.0], "float32")
    yield case("Atan2", {"y": corners, "x": corners[::-1].copy()})
    yield case("Atan2", {"y": corners, "x": np.array([-1, -1, 0, 0, 1, -1, 2, 3], "float32")})
    for name in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        for left, right in SHAPES[:2]:
            yield case(name, {"x": np.round(reals(*left)), "y": np.round(reals(*right))})
            yield case(name, {"x": whole(*left, high=3), "y": whole(*right, high=3)})
    for name in ("LogicalAnd", "LogicalOr"):
        yield case(name, {"x": truth(2, 3, 4), "y": truth(4)})
    for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for dtype in ("int32", "uint8", "int64"):
            yield case(
                name, {"x": whole(3, 4, dtype=dtype, low=0), "y": whole(4, dtype=dtype, low=0)}
            )
    for name in ("LeftShift", "RightShift"):
        yield case(name, {"x": whole(3, 4), "y": whole(4, low=0, high=5)})
    for count in (1, 2, 4):
        yield case("AddN", {"inputs": [reals(2, 3) for _ in range(count)]})
    yield case("ApproximateEqual", {"x": reals(9), "y": reals(9)}, tolerance=1.5)
    ends = {"x1": np.array([1.0, -1.0, 0.0, 2.0, 0.0], "float32")}
    yield case("NextAfter", {**ends, "x2": np.array([2.0, 3.0, -1.0, 2.0, 1.0], "float32")})
    given = {"condition": truth(3, 4), "x": reals(3, 4), "y": reals(3, 4)}
    yield case("Select", given)
    yield case("Select", {**given, "condition": truth(3)})
    given = {"condition": truth(3, 4), "t": reals(3, 4), "e": reals(4)}
    yield case("SelectV2", given)
    yield case("SelectV2", {"condition": truth(3, 1), "t": whole(4), "e": whole(3, 4)})
    limits = {"clip_value_min": scalar(-1.0, "float32"), "clip_value_max": scalar(0.5, "float32")}
    yield case("ClipByValue", {"t": reals(3, 4), **limits})


def activations() -> Iterator[Case]:
    for name in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"):
        yield case(name, {"features": reals(3, 5, low=-8, high=8)})
        yield case(name, {"features": opened(reals(2, 3, 5), 0, 1)})
        yield case(name, {"features": reals(9, dtype="float64")})
    for alpha in (0.2, 0.7):
        yield case("LeakyRelu", {"features": reals(3, 5)}, alpha=alpha)
    for shape in ((2, 5), (5,), (2, 3, 4)):
        yield case("Softmax", {"logits": reals(*shape)})
        yield case("LogSoftmax", {"logits": reals(*shape)})


# --- images --------------------------------------------------------------------------------------

STRIDES = ((1, 1), (2, 2), (2, 1))


def convolutions() -> Iterator[Case]:
    data = reals(2, 8, 9, 3)
    for padding in ("SAME", "VALID"):
        for strides in STRIDES:
            for rates in ((1, 1), (2, 2)):
                if strides != (1, 1) and rates != (1, 1):
                    continue
                more = {
                    "strides": [1, *strides, 1],
                    "dilations": [1, *rates, 1],
                    "padding": padding,
                }
                given = {"input": data, "filter": held(reals(3, 2, 3, 5))}
                yield case("Conv2D", given, **more)
                if strides[0] == strides[1]:
                    given = {"input": data, "filter": held(reals(3, 3, 3, 2))}
                    yield case("DepthwiseConv2dNative", given, **more)
        for axes in ((0,), (0, 1, 2)):
            more = {"strides": [1, 2, 2, 1], "padding": padding}
            given = {"input": opened(data, *axes), "filter": held(reals(3, 3, 3, 4))}
            yield case("Conv2D", given, **more)
            given = {"input": opened(data, *axes), "filter": held(reals(3, 3, 3, 1))}
            yield case("DepthwiseConv2dNative", given, **more)
        for strides in ((1, 1, 1), (2, 1, 2)):
            given = {"input": reals(2, 4, 5, 6, 3), "filter": held(reals(2, 3, 2, 3, 4))}
            yield case("Conv3D", given, strides=[1, *strides, 1], padding=padding)
        for rates in ((1, 1), (2, 1)):
            given = {"input": data, "filter": held(reals(3, 2, 3))}
            more = {"strides": [1, 2, 1, 1], "rates": [1, *rates, 1], "padding": padding}
            yield case("Dilation2D", given, **more)
    explicit = {"explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0], "padding": "EXPLICIT"}
    given = {"input": data, "filter": held(reals(3, 2, 3, 5))}
    yield case("Conv2D", given, strides=[1, 2, 1, 1], **explicit)
    yield case(
        "DepthwiseConv2dNative",
        {"input": data, "filter": held(reals(3, 3, 3, 2))},
        strides=[1, 1, 1, 1],
        **explicit,
    )
    given = {"input": reals(1, 6, 6, 6), "filter": held(reals(3, 3, 2, 6))}
    yield case("Conv2D", given, strides=[1, 1, 1, 1], padding="SAME")
    given = {
        "input": reals(1, 5, 5, 2, dtype="float64"),
        "filter": reals(3, 3, 2, 3, dtype="float64"),
    }
    yield case("Conv2D", given, strides=[1, 1, 1, 1], padding="VALID")


def transposed() -> Iterator[Case]:
    for padding in ("SAME", "VALID"):
        for strides in ((1, 1), (2, 2), (3, 2)):
            ends = [
                size * stride if padding == "SAME" else (size - 1) * stride + kernel
                for size, stride, kernel in zip((4, 5), strides, (3, 2), strict=True)
            ]
            given = {
                "input_sizes": numbers(2, *ends, 6),
                "filter": held(reals(3, 2, 6, 3)),
                "out_backprop": reals(2, 4, 5, 3),
            }
            more = {"strides": [1, *strides, 1], "padding": padding}
            yield case("Conv2DBackpropInput", given, **more)
        more = {"strides": [1, 2, 2, 1], "padding": padding}
        ends = (7, 9) if padding == "SAME" else (10, 12)
        given = {
            "input_sizes": numbers(2, *ends, 2),
            "filter": held(reals(3, 3, 2, 3)),
            "out_backprop": reals(2, 4, 5, 3),
        }
        yield case("Conv2DBackpropInput", given, **more)
        for strides in ((1, 1, 1), (2, 1, 2)):
            ends = [
                size * stride if padding == "SAME" else (size - 1) * stride + kernel
                for size, stride, kernel in zip((2, 3, 4), strides, (2, 3, 2), strict=True)
            ]
            given = {
                "input_sizes": numbers(1, *ends, 4),
                "filter": held(reals(2, 3, 2, 4, 3)),
                "out_backprop": reals(1, 2, 3, 4, 3),
            }
            yield case("Conv3DBackpropInputV2", given, strides=[1, *strides, 1], padding=padding)


def pools() -> Iterator[Case]:
    data = reals(2, 7, 8, 3)
    for name in ("MaxPool", "AvgPool"):
        key = "input" if name == "MaxPool" else "value"
        for padding in ("SAME", "VALID"):
            for size, stride in (((2, 2), (2, 2)), ((3, 2), (1, 2)), ((3, 3), (2, 1))):
                more = {"ksize": [1, *size, 1], "strides": [1, *stride, 1], "padding": padding}
                yield case(name, {key: data}, **more)
                yield case(name, {key: opened(data, 0, 1, 2)}, **more)
            more = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 2, 1], "padding": padding}
            yield case(f"{name}3D", {"input": reals(1, 4, 5, 6, 2)}, **more)
    for padding in ("SAME", "VALID"):
        for batch in (False, True):
            more = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
            yield case(
                "MaxPoolWithArgmax",
                {"input": reals(2, 6, 6, 3)},
                **more,
                include_batch_in_index=batch,
            )
        given = {"input": data, "ksize": numbers(1, 2, 2, 1), "strides": numbers(1, 2, 1, 1)}
        yield case("MaxPoolV2", given, padding=padding)


def normalization() -> Iterator[Case]:
    for training in (False, True):
        for version in ("", "V2", "V3"):
            given = {
                "x": reals(2, 4, 5, 3),
                "scale": held(reals(3, low=0.5)),
                "offset": held(reals(3)),
                "mean": held(reals(3)) if not training else held(np.zeros(0, "float32")),
                "variance": held(reals(3, low=0.5))
                if not training
                else held(np.zeros(0, "float32")),
            }
            more = {"epsilon": 0.01, "is_training": training}
            if not training:
                yield case(f"FusedBatchNorm{version}", given, rtol=1e-4, **more)
    for radius, bias, alpha, beta in ((1, 1.0, 0.5, 0.75), (2, 2.0, 0.1, 0.5)):
        more = {"depth_radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
        yield case("LRN", {"input": reals(1, 2, 3, 8)}, **more)
    yield case("BiasAdd", {"value": reals(2, 3, 4), "bias": held(reals(4))})
    yield case("BiasAdd", {"value": reals(2, 4, 3, 3), "bias": held(reals(4))}, data_format="NCHW")
    yield case("BiasAddV1", {"value": reals(2, 4), "bias": held(reals(4))})
    given = {"features": reals(3, 5), "labels": reals(3, 5, low=0, high=1)}
    yield case("SoftmaxCrossEntropyWithLogits", given)
    given = {"features": reals(3, 5), "labels": whole(3, low=0, high=5)}
    yield case("SparseSoftmaxCrossEntropyWithLogits", given)
    yield case("L2Loss", {"t": reals(3, 4)})


# --- products, shapes ----------------------------------------------------------------------------


def products() -> Iterator[Case]:
    for first in (False, True):
        for second in (False, True):
            a, b = reals(4, 3) if first else reals(3, 4), reals(5, 4) if second else reals(4, 5)
            more = {"transpose_a": first, "transpose_b": second}
            yield case("MatMul", {"a": a, "b": b}, **more)
            yield case("MatMul", {"a": opened(a, 0, 1), "b": held(b)}, **more)
            x = reals(2, 4, 3) if first else reals(2, 3, 4)
            y = reals(2, 5, 4) if second else reals(2, 4, 5)
            turned = {"adj_x": first, "adj_y": second}
            for name in ("BatchMatMul", "BatchMatMulV2"):
                yield case(name, {"x": x, "y": y}, **turned)
            yield case("BatchMatMulV3", {"x": x, "y": y}, **turned, Tout="float32")
    yield case("BatchMatMulV2", {"x": reals(2, 1, 3, 4), "y": reals(5, 4, 2)})
    yield case("BatchMatMulV2", {"x": opened(reals(2, 3, 4), 0), "y": opened(reals(2, 4, 2), 0)})
    yield case("MatMul", {"a": whole(3, 4), "b": whole(4, 2)})
    for equation, *extents in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("abc,cde->abde", (2, 3, 4), (4, 2, 5)),
        ("aecd,abcd->acbe", (2, 3, 4, 5), (2, 6, 4, 5)),
        ("acbe,aecd->abcd", (2, 4, 6, 3), (2, 3, 4, 5)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("...ij,jk->...ik", (2, 5, 3, 4), (4, 2)),
        ("ijk->kji", (2, 3, 4)),
        ("ij->i", (2, 3)),
    ):
        yield case("Einsum", {"inputs": [reals(*one) for one in extents]}, equation=equation)
    yield case("Cross", {"a": reals(4, 3), "b": reals(4, 3)})


def shapes() -> Iterator[Case]:
    for dtype in ("int32", "int64"):
        yield case("Shape", {"input": opened(reals(2, 3, 4), 0)}, out_type=dtype)
        yield case("Shape", {"input": reals(2, 3)}, out_type=dtype)
        yield case("Size", {"input": opened(reals(2, 3, 4), 0)}, out_type=dtype)
        yield case("ShapeN", {"input": [reals(2, 3), opened(reals(4, 5), 1)]}, out_type=dtype)
    yield case("Rank", {"input": reals(2, 3)})
    for data, wanted in (((2, 3, 4), (6, 4)), ((2, 3, 4), (-1, 2)), ((2, 3, 4), (24,)), ((1,), ())):
        yield case("Reshape", {"tensor": reals(*data), "shape": numbers(*wanted)})
    yield case("Reshape", {"tensor": opened(reals(2, 3, 4), 0), "shape": numbers(-1, 12)})
    computed = {"tensor": reals(2, 6), "shape": np.array([3, 4], "int32")}
    yield case("Reshape", computed)
    for axes in ([], [0], [2], [0, 2], [-1]):
        yield case("Squeeze", {"input": reals(1, 3, 1)}, axis=axes)
    for axis in (0, 1, -1):
        yield case("ExpandDims", {"input": reals(2, 3), "axis": scalar(axis)})
    for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1)):
        yield case("Transpose", {"x": reals(2, 3, 4), "perm": numbers(*order)})
        yield case("Transpose", {"x": opened(reals(2, 3, 4), 1), "perm": numbers(*order)})
    yield case("ConjugateTranspose", {"x": reals(2, 3), "perm": numbers(1, 0)})
    yield case("BroadcastTo", {"input": reals(3, 1), "shape": numbers(2, 3, 4)})
    yield case("BroadcastTo", {"input": reals(3, 1), "shape": np.array([2, 3, 4], "int32")})
    yield case("BroadcastArgs", {"s0": whole(3, low=1, high=2), "s1": numbers(4, 1)})
    for times in ((2, 1), (1, 3), (2, 2)):
        yield case("Tile", {"input": reals(2, 3), "multiples": numbers(*times)})
    yield case("Tile", {"input": reals(2, 3), "multiples": np.array([2, 3], "int32")})
    yield case("Fill", {"dims": numbers(2, 3), "value": scalar(1.5, "float32")})
    yield case("Fill", {"dims": np.array([2, 3], "int32"), "value": np.array(4, "int64")})
    for start, stop, by in ((0, 5, 1), (2, 11, 3), (5, -1, -2)):
        yield case("Range", {"start": scalar(start), "limit": scalar(stop), "delta": scalar(by)})
        given = {"start": np.array(start, "int32"), "limit": np.array(stop, "int32")}
        yield case("Range", {**given, "delta": scalar(by)})
    for count in (1, 2, 5):
        ends = {"start": np.array(0.5, "float32"), "stop": np.array(3.0, "float32")}
        yield case("LinSpace", {**ends, "num": scalar(count)})
    yield case("InvertPermutation", {"x": np.array([2, 0, 1], "int32")})
    yield case("DepthToSpace", {"input": reals(1, 2, 3, 8)}, block_size=2)
    yield case("SpaceToDepth", {"input": reals(1, 4, 6, 2)}, block_size=2)
    for pads in (((0, 0), (0, 0)), ((1, 1), (0, 2))):
        given = {"block_shape": numbers(2, 2), "paddings": held(np.array(pads, "int32"))}
        yield case("SpaceToBatchND", {"input": reals(1, 4, 6, 2), **given})
        crops = {"block_shape": numbers(2, 2), "crops": held(np.array(pads, "int32"))}
        yield case("BatchToSpaceND", {"input": reals(4, 3, 4, 2), **crops})
    given = {"block_shape": numbers(2, 2), "paddings": np.array([[1, 1], [0, 2]], "int32")}
    yield case("SpaceToBatchND", {"input": reals(1, 4, 6, 2), **given})
    crops = {"block_shape": numbers(2, 2), "crops": np.array([[1, 1], [0, 2]], "int32")}
    yield case("BatchToSpaceND", {"input": reals(4, 3, 4, 2), **crops})
    widths = np.array([[1, 2], [0, 3]], "int32")
    yield case("Pad", {"input": reals(2, 3), "paddings": held(widths)})
    yield case("Pad", {"input": reals(2, 3), "paddings": widths})
    value = scalar(2.5, "float32")
    yield case("PadV2", {"input": reals(2, 3), "paddings": held(widths), "constant_values": value})
    for mode in ("REFLECT", "SYMMETRIC"):
        given = {"input": reals(3, 4), "paddings": held(np.array([[1, 2], [0, 3]], "int32"))}
        yield case("MirrorPad", given, mode=mode)
    for shift, axes in (((2,), (0,)), ((-1, 3), (1, 0)), ((1,), (-1,))):
        given = {"input": reals(3, 4), "shift": numbers(*shift), "axis": numbers(*axes)}
        yield case("Roll", given)


def parts() -> Iterator[Case]:
    for axis in (0, 1, -1):
        given = [reals(2, 3), reals(2, 3), reals(2, 3)]
        yield case("ConcatV2", {"values": given, "axis": scalar(axis)})
        yield case("Concat", {"concat_dim": scalar(axis % 2), "values": given[:2]})
        yield case("Pack", {"values": given}, axis=axis)
        yield case("Unpack", {"value": reals(3, 3)}, num=3, axis=axis)
        yield case("Split", {"axis": scalar(axis), "value": reals(4, 4)}, num_split=2)
    wide = [opened(reals(2, 3), 0), opened(reals(2, 4), 0)]
    yield case("ConcatV2", {"values": wide, "axis": scalar(1)})
    given = {"concat_dim": scalar(1), "shape": [numbers(2, 3), numbers(2, 4), numbers(2, 1)]}
    yield case("ConcatOffset", given)
    for sizes in ((1, 3), (2, -1), (0, 4)):
        given = {"value": reals(2, 4), "size_splits": numbers(*sizes), "axis": scalar(1)}
        yield case("SplitV", given, num_split=2)
    for begin, size in (((0, 1), (2, 2)), ((1, 0), (-1, -1)), ((0, 3), (1, 0))):
        yield case(
            "Slice", {"input": reals(2, 4), "begin": numbers(*begin), "size": numbers(*size)}
        )
        computed = {"begin": np.array(begin, "int32"), "size": numbers(*size)}
        yield case("Slice", {"input": reals(2, 4), **computed})
    yield from slices()
    at = whole(2, 3, low=0, high=4)
    for axis in (0, 1, -1):
        yield case("GatherV2", {"params": reals(4, 4), "indices": at, "axis": scalar(axis)})
    yield case("Gather", {"params": reals(4, 3), "indices": at})
    batched = {"params": reals(2, 4, 3), "indices": at, "axis": scalar(1)}
    yield case("GatherV2", batched, batch_dims=1)
    for depth in (1, 2, 3):
        columns = [whole(5, low=0, high=high) for high in (2, 3, 4)[:depth]]
        yield case("GatherNd", {"params": reals(2, 3, 4), "indices": np.stack(columns, -1)})
    for axes in ((1,), (0,), (0, 2), ()):
        yield case("ReverseV2", {"tensor": reals(2, 3, 4), "axis": numbers(*axes)})
    yield case("Reverse", {"tensor": reals(2, 3), "dims": held(np.array([True, False]))})
    for seq, batch in ((1, 0), (0, 1)):
        given = {"input": reals(4, 4, 2), "seq_lengths": whole(4, low=0, high=5)}
        yield case("ReverseSequence", given, seq_dim=seq, batch_dim=batch)


def slices() -> Iterator[Case]:
    for begin, end, by, masks in (
        ((0, 1), (2, 3), (1, 1), {}),
        ((0, 0), (0, 0), (1, 1), {"begin_mask": 3, "end_mask": 3}),
        ((-1, 3), (0, 0), (-1, -1), {"end_mask": 3}),
        ((1, 0), (0, 2), (1, 1), {"shrink_axis_mask": 1}),
        ((0, -1), (0, 0), (1, 1), {"shrink_axis_mask": 2, "begin_mask": 1, "end_mask": 1}),
        ((0, 0), (0, 2), (1, 1), {"ellipsis_mask": 1}),
        ((0, 1), (0, 2), (1, 1), {"new_axis_mask": 1}),
        ((-100, 0), (100, 4), (1, 2), {}),
    ):
        bounds = {"begin": numbers(*begin), "end": numbers(*end), "strides": numbers(*by)}
        yield case("StridedSlice", {"input": reals(3, 4, 2), **bounds}, **masks)
        yield case("StridedSlice", {"input": opened(reals(3, 4, 2), 0), **bounds}, **masks)
        if "new_axis_mask" not in masks:
            computed = {**bounds, "begin": np.array(begin, "int32")}
            yield case("StridedSlice", {"input": reals(3, 4, 2), **computed}, **masks)


def reductions() -> Iterator[Case]:
    for name in ("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"):
        for axes in ((0,), (1, 2), (-1,), (0, 1, 2), ()):
            for keeps in (False, True):
                given = {"input": reals(2, 3, 4), "axis": numbers(*axes)}
                yield case(name, given, keep_dims=keeps)
        given = {"input": opened(reals(2, 3, 4), 0, 1), "axis": numbers(1)}
        yield case(name, given)
        if name not in ("Mean", "EuclideanNorm"):
            given = {"input": whole(2, 3, low=1, high=5), "axis": scalar(1)}
            yield case(name, given)
    for name in ("All", "Any"):
        for axes in ((0,), (0, 1)):
            yield case(name, {"input": truth(3, 4), "axis": numbers(*axes)}, keep_dims=True)
    ties = np.array([[1, 3, 3], [2, 2, 0]], "float32")
    for name in ("ArgMax", "ArgMin"):
        for axis in (0, 1, -1):
            for dtype in ("int32", "int64"):
                given = {"input": reals(2, 3, 4), "dimension": scalar(axis)}
                yield case(name, given, output_type=dtype)
        yield case(name, {"input": ties, "dimension": scalar(1)})
    for name in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for exclusive in (False, True):
            for backwards in (False, True):
                given = {"x": reals(2, 5), "axis": scalar(1)}
                yield case(name, given, exclusive=exclusive, reverse=backwards)
    given = {"arr": whole(9, low=0, high=6), "size": scalar(5)}
    yield case("Bincount", {**given, "weights": held(np.zeros(0, "float32"))})
    yield case("Bincount", {**given, "weights": reals(9)})
    for binary_output in (False, True):
        given = {"input": whole(2, 6, low=0, high=5), "size": scalar(5)}
        empty = held(np.zeros(0, "float32"))
        yield case("DenseBincount", {**given, "weights": empty}, binary_output=binary_output)
    given = {"input": whole(2, 6, low=0, high=5), "size": scalar(5)}
    yield case("DenseBincount", {**given, "weights": reals(2, 6)})


# --- positions -----------------------------------------------------------------------------------


def selection() -> Iterator[Case]:
    for count in (1, 3, 5):
        yield case("TopKV2", {"input": reals(2, 5), "k": scalar(count)})
    yield case("TopKV2", {"input": reals(2, 5), "k": np.array(2, "int32")})
    yield case("TopKV2", {"input": whole(2, 3, 5), "k": scalar(3)})
    scores = reals(4, 5)
    yield case(
        "InTopKV2", {"predictions": scores, "targets": whole(4, low=0, high=5), "k": scalar(2)}
    )
    for axis in (-1, 0, 1):
        ends = {"on_value": scalar(5.0, "float32"), "off_value": scalar(-1.0, "float32")}
        given = {"indices": whole(2, 3, low=-1, high=5), "depth": scalar(4), **ends}
        yield case("OneHot", given, axis=axis)
    yield case("Where", {"condition": truth(3, 4)})
    repeated = np.array([3, 1, 3, 2, 1, 7], "int32")
    for dtype in ("int32", "int64"):
        yield case("Unique", {"x": repeated}, out_idx=dtype)
        yield case("UniqueWithCounts", {"x": repeated}, out_idx=dtype)
        yield case("UniqueV2", {"x": repeated, "axis": numbers(0)}, out_idx=dtype)
    rows = np.sort(reals(2, 6), axis=1)
    for name in ("LowerBound", "UpperBound"):
        for dtype in ("int32", "int64"):
            given = {"sorted_inputs": rows, "values": reals(2, 4)}
            yield case(name, given, out_type=dtype)
    yield case("Bucketize", {"input": reals(7)}, boundaries=[-1.0, 0.5, 2.0])
    yield case("ListDiff", {"x": repeated, "y": np.array([1, 2], "int32")})


def writing() -> Iterator[Case]:
    at = np.array([[0, 1], [2, 3], [0, 1]], "int32")
    yield case("ScatterNd", {"indices": at, "updates": reals(3), "shape": numbers(3, 4)})
    given = {"indices": at[:, :1], "updates": reals(3, 4), "shape": numbers(3, 4)}
    yield case("ScatterNd", given)
    for name in ("Update", "Add", "Sub", "Max", "Min"):
        given = {"tensor": reals(3, 4), "indices": at[:2], "updates": reals(2)}
        yield case(f"TensorScatter{name}", given)
        given = {"tensor": reals(3, 4), "indices": at[:2, :1], "updates": reals(2, 4)}
        yield case(f"TensorScatter{name}", given)
    for begin, end, by, masks in (
        ((0, 1), (2, 3), (1, 1), {}),
        ((0, 0), (0, 0), (1, 1), {"begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 1}),
        ((0, 0), (3, 4), (2, 3), {}),
    ):
        bounds = {"begin": numbers(*begin), "end": numbers(*end), "strides": numbers(*by)}
        shape = np.zeros((3, 4))[
            0 if masks.get("shrink_axis_mask") else slice(begin[0], end[0], by[0]),
            slice(None) if masks else slice(begin[1], end[1], by[1]),
        ].shape
        given = {"input": reals(3, 4), **bounds, "value": reals(*shape)}
        yield case("TensorStridedSliceUpdate", given, **masks)
    indices = [np.array([0, 3], "int32"), np.array([1, 2, 4], "int32")]
    held_indices = [held(one) for one in indices]
    rows = [reals(2, 3), reals(3, 3)]
    yield case("DynamicStitch", {"indices": held_indices, "data": rows})
    yield case("DynamicStitch", {"indices": indices, "data": rows})


def segments() -> Iterator[Case]:
    numbered = np.array([2, 0, 2, 1, 0], "int32")
    for name in ("Sum", "Prod", "Max", "Min"):
        for data in (reals(5, 3), whole(5, 3)):
            given = {"data": data, "segment_ids": numbered, "num_segments": scalar(4)}
            yield case(f"UnsortedSegment{name}", given)
    for name in ("Sum", "Prod", "Max", "Min", "Mean"):
        for ids in ((0, 0, 1, 2, 2), (0, 0, 2, 2, 3)):
            given = {"data": reals(5, 3), "segment_ids": np.array(ids, "int32")}
            yield case(f"Segment{name}", given)


# --- resizing and regions ------------------------------------------------------------------------


def resizing() -> Iterator[Case]:
    data = reals(2, 4, 5, 3)
    for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
        for size in ((8, 10), (3, 4), (7, 3)):
            for more in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
                # the table of weights of TensorFlow has 1024 steps
                rtol = 2e-3 if name == "ResizeBicubic" else 1e-5
                yield case(name, {"images": data, "size": numbers(*size)}, rtol=rtol, **more)
        if name != "ResizeBicubic":
            given = {"images": opened(data, 0, 1, 2), "size": numbers(8, 10)}
            yield case(name, given, half_pixel_centers=True)
            given = {"images": data, "size": np.array([8, 10], "int32")}
            yield case(name, given, half_pixel_centers=True)
    given = {"images": whole(1, 4, 5, 3, dtype="uint8", low=0, high=255), "size": numbers(8, 10)}
    yield case("ResizeBilinear", given)
    yield case("ResizeNearestNeighbor", given)
    yield case("ResizeArea", {"images": reals(2, 4, 6, 3), "size": numbers(2, 3)})
    for kernel in ("triangle", "keyscubic"):
        for antialias in (True, False):
            for size in ((8, 10), (3, 4)):
                given = {
                    "images": data,
                    "size": numbers(*size),
                    "scale": held(np.array([size[0] / 4, size[1] / 5], "float32")),
                    "translation": held(np.zeros(2, "float32")),
                }
                more = {"kernel_type": kernel, "antialias": antialias}
                yield case("ScaleAndTranslate", given, rtol=1e-4, **more)
    for method in ("bilinear", "nearest"):
        given = {
            "image": data,
            "boxes": np.array([[0, 0, 1, 1], [0.2, 0.9, 0.8, 0.1], [-0.5, 0, 1.5, 1]], "float32"),
            "box_ind": np.array([0, 1, 0], "int32"),
            "crop_size": numbers(3, 4),
        }
        yield case("CropAndResize", given, rtol=1e-4, method=method, extrapolation_value=0.5)
    factor = {"contrast_factor": scalar(1.5, "float32")}
    yield case("AdjustContrastv2", {"images": reals(2, 4, 5, 3), **factor})
    colors = reals(2, 4, 3, low=0, high=1)
    colors[0, 0] = 0.5
    yield case("RGBToHSV", {"images": colors})
    yield case("HSVToRGB", {"images": colors})


def regions() -> Iterator[Case]:
    corners = np.sort(RANDOM.uniform(0, 1, (12, 2, 2)), axis=1).reshape(12, 4).astype("float32")
    scores = reals(12, low=0, high=1)
    limits = {"iou_threshold": scalar(0.3, "float32"), "score_threshold": scalar(0.2, "float32")}
    for most in (3, 20):
        given = {"boxes": corners, "scores": scores, "max_output_size": scalar(most)}
        yield case("NonMaxSuppression", given, iou_threshold=0.3)
        v2 = {**given, "iou_threshold": limits["iou_threshold"]}
        yield case("NonMaxSuppressionV2", v2)
        yield case("NonMaxSuppressionV3", {**given, **limits})
        for pads in (False, True):
            yield case("NonMaxSuppressionV4", {**given, **limits}, pad_to_max_output_size=pads)
            more = {**given, **limits, "soft_nms_sigma": scalar(0.0, "float32")}
            yield case("NonMaxSuppressionV5", more, pad_to_max_output_size=pads)
    given = {"boxes": corners, "scores": scores, "max_output_size": np.array(5, "int32")}
    yield case("NonMaxSuppressionV3", {**given, **limits})
    for kinds in (1, 2):
        given = {
            "boxes": np.stack(
                [np.stack([corners] * kinds, 1), np.stack([corners[::-1]] * kinds, 1)]
            ),
            "scores": reals(2, 12, 2, low=0, high=1),
            "max_output_size_per_class": scalar(4),
            "max_total_size": scalar(6),
        }
        for per_class in (False, True):
            yield case("CombinedNonMaxSuppression", {**given, **limits}, pad_per_class=per_class)


# --- matrices and spectra ------------------------------------------------------------------------


def matrices() -> Iterator[Case]:
    for low, high in ((0, 0), (1, 2), (-1, 0), (0, -1), (-1, -1)):
        given = {"input": reals(2, 4, 5), "num_lower": scalar(low), "num_upper": scalar(high)}
        yield case("MatrixBandPart", given)
    square = reals(2, 4, 4) + 4 * np.eye(4, dtype="float32")
    yield case("MatrixDeterminant", {"input": square}, rtol=1e-4)
    yield case("LogMatrixDeterminant", {"input": square}, rtol=1e-4)
    for adjoint in (False, True):
        yield case("MatrixInverse", {"input": square}, rtol=1e-4, adjoint=adjoint)
        given = {"matrix": square, "rhs": reals(2, 4, 3)}
        yield case("MatrixSolve", given, rtol=1e-4, adjoint=adjoint)
    yield case("Diag", {"diagonal": reals(2, 3)})
    yield case("DiagPart", {"input": reals(2, 3, 2, 3)})
    yield case("MatrixDiag", {"diagonal": reals(2, 3)})
    yield case("MatrixDiagPart", {"input": reals(2, 3, 4)})
    yield case("MatrixSetDiag", {"input": reals(2, 3, 4), "diagonal": reals(2, 3)})
    zero = scalar(0.5, "float32")
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        for low, high, rows in ((0, 0, 3), (-1, 1, 3), (1, 2, 3), (-2, -1, 2)):
            band = numbers(low, high) if low != high else scalar(low)
            given = {"input": reals(2, 3, 4), "k": band, "padding_value": zero}
            yield case("MatrixDiagPartV3", given, align=align)
            count = high - low + 1
            shape = (2, rows) if count == 1 else (2, count, rows)
            given = {"input": reals(2, 3, 4), "diagonal": reals(*shape), "k": band}
            yield case("MatrixSetDiagV3", given, align=align)
            given = {
                "diagonal": reals(*shape),
                "k": band,
                "num_rows": scalar(3),
                "num_cols": scalar(4),
                "padding_value": zero,
            }
            yield case("MatrixDiagV3", given, align=align)
    for k in (0, 1, -1):
        given = {"diagonal": reals(2, 3), "k": scalar(k), "num_rows": scalar(-1)}
        yield case("MatrixDiagV3", {**given, "num_cols": scalar(-1), "padding_value": zero})


def spectral() -> Iterator[Case]:
    for axes, shape in ((1, (2, 8)), (2, (2, 4, 6)), (3, (2, 3, 4, 5))):
        name = "" if axes == 1 else f"{axes}D"
        complexes = (reals(*shape) + 1j * reals(*shape)).astype("complex64")
        yield case(f"FFT{name}", {"input": held(complexes)}, rtol=1e-4)
        yield case(f"IFFT{name}", {"input": held(complexes)}, rtol=1e-4)
        length = numbers(*shape[1:])
        yield case(f"RFFT{name}", {"input": reals(*shape), "fft_length": length}, rtol=1e-4)
        shorter = numbers(*(one - 1 for one in shape[1:]))
        yield case(f"RFFT{name}", {"input": reals(*shape), "fft_length": shorter}, rtol=1e-4)
        half = held(complexes[..., : shape[-1] // 2 + 1])
        yield case(f"IRFFT{name}", {"input": half, "fft_length": length}, rtol=1e-4)
    pair = {"real": reals(2, 3), "imag": reals(2, 3)}
    yield case("Complex", pair)
    numbers_of = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    for name in ("Real", "Imag", "Conj"):
        yield case(name, {"input": numbers_of})
    yield case("ComplexAbs", {"x": numbers_of})
    other = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    for name in ("AddV2", "Sub", "Mul", "RealDiv"):
        yield case(name, {"x": numbers_of, "y": other}, rtol=1e-4)
    yield case("Neg", {"x": numbers_of})
    yield case("Reshape", {"tensor": numbers_of, "shape": numbers(3, 2)})
    yield case("Transpose", {"x": numbers_of, "perm": numbers(1, 0)})


def quantized() -> Iterator[Case]:
    for bits in (4, 8):
        for narrow in (False, True):
            more = {"num_bits": bits, "narrow_range": narrow}
            yield case(
                "FakeQuantWithMinMaxArgs", {"inputs": reals(3, 4)}, min=-1.0, max=2.0, **more
            )
            ends = {"min": held(np.array(-0.7, "float32")), "max": held(np.array(1.9, "float32"))}
            yield case("FakeQuantWithMinMaxVars", {"inputs": reals(3, 4), **ends}, **more)
            ends = {
                "min": held(np.array([-0.7, -1, -2, 0], "float32")),
                "max": held(np.array([1.9, 1, 3, 2], "float32")),
            }
            name = "FakeQuantWithMinMaxVarsPerChannel"
            yield case(name, {"inputs": reals(3, 4), **ends}, **more)


def special() -> Iterator[Case]:
    for name, low, high in (
        ("Erfinv", -0.999, 0.999),
        ("Ndtri", 0.001, 0.999),
        ("Lgamma", -3.7, 9),
        ("Digamma", 0.1, 9),
        ("BesselI0", -6, 6),
        ("BesselI0e", -6, 6),
        ("BesselI1", -6, 6),
        ("BesselI1e", -6, 6),
    ):
        yield case(name, {"x": reals(3, 5, low=low, high=high)}, rtol=3e-5)
    yield case("Lgamma", {"x": reals(9, low=0.1, high=40, dtype="float64")}, rtol=1e-7)
    yield case("Erfinv", {"x": np.array([-1.0, 0.0, 1.0, 0.9999], "float32")}, rtol=1e-4)
    yield case("ToBool", {"input": np.array(0.5, "float32")})
    yield case("ToBool", {"input": reals(3)})


def further() -> Iterator[Case]:
    square = reals(2, 4, 4)
    positive = square @ square.transpose(0, 2, 1) + np.eye(4, dtype="float32")
    yield case("Cholesky", {"input": positive}, rtol=1e-4)
    yield case("Qr", {"input": reals(2, 4, 3)}, rtol=1e-4)
    yield case("Qr", {"input": reals(3, 5)}, rtol=1e-4, full_matrices=True)
    strong = square + 5 * np.eye(4, dtype="float32")
    for lower in (False, True):
        for adjoint in (False, True):
            given = {"matrix": strong, "rhs": reals(2, 4, 3)}
            yield case("MatrixTriangularSolve", given, rtol=1e-4, lower=lower, adjoint=adjoint)
    which = np.array([2, 0, 1, 0, 2], "int32")
    yield case("DynamicPartition", {"data": reals(5, 3), "partitions": which}, num_partitions=3)
    yield case(
        "DynamicPartition",
        {"data": reals(2, 3, 2), "partitions": whole(2, 3, low=0, high=2)},
        num_partitions=2,
    )
    for reverse in (False, True):
        yield case("NthElement", {"input": reals(3, 5), "n": scalar(2)}, reverse=reverse)
    yield case("UnravelIndex", {"indices": whole(4, low=0, high=12), "dims": numbers(3, 4)})
    by = {"AdjustHue": ("delta", 0.3), "AdjustSaturation": ("scale", 0.6)}
    for name, (key, value) in by.items():
        colors = reals(2, 4, 3, low=0, high=1)
        yield case(name, {"images": colors, key: scalar(value, "float32")}, rtol=1e-4)
    numbers_of = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    yield case("Angle", {"input": numbers_of})
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        formats = {"src_format": source, "dst_format": target}
        yield case("DataFormatDimMap", {"x": np.array([0, 3, -1, 2], "int32")}, **formats)
        yield case("DataFormatVecPermute", {"x": whole(4)}, **formats)
        yield case("DataFormatVecPermute", {"x": whole(2)}, **formats)
    for padding in ("SAME", "VALID"):
        for rates in ((1, 1), (2, 1)):
            more = {"strides": [1, 2, 1, 1], "rates": [1, *rates, 1], "padding": padding}
            given = {"images": reals(2, 7, 8, 3)}
            yield case("ExtractImagePatches", given, ksizes=[1, 3, 2, 1], **more)
        more = {"ksizes": [1, 2, 2, 3, 1], "strides": [1, 1, 2, 1, 1], "padding": padding}
        yield case("ExtractVolumePatches", {"input": reals(1, 4, 5, 6, 2)}, **more)
    turned = np.array([[0.9, 0.2, 1.0, -0.1, 1.1, 0.5, 0.001, 0.002]], "float32")
    for method in ("NEAREST", "BILINEAR"):
        for mode in ("CONSTANT", "NEAREST"):
            given = {
                "images": reals(2, 6, 7, 3),
                "transforms": turned,
                "output_shape": numbers(5, 8),
                "fill_value": scalar(0.5, "float32"),
            }
            more = {"interpolation": method, "fill_mode": mode}
            yield case("ImageProjectiveTransformV3", given, rtol=1e-4, **more)
