"""Operators that work element by element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import reals, scalar, truth, whole
from tests.frontend.tensorflow.models import Case, case, held, opened

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
