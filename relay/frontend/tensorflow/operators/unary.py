"""Elementwise operators of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import dtypes, op
from relay.frontend.common.curves import exp_less_one, log_of_one_plus
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.types import PARTS
from relay.frontend.tensorflow.values import Complex, Value
from relay.ir.expr import Expr, const

table = Table()

_FUNCTIONS: Mapping[str, Callable[[Expr], Expr]] = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Invert": op.bitwise_not,
    "IsFinite": op.isfinite,
    "IsInf": op.isinf,
    "IsNan": op.isnan,
    "Log": op.log,
    "LogicalNot": op.logical_not,
    "OnesLike": op.ones_like,
    "Rint": op.round,
    "Round": op.round,
    "Rsqrt": op.rsqrt,
    "Sigmoid": op.sigmoid,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Sqrt": op.sqrt,
    "Tan": op.tan,
    "Tanh": op.tanh,
    "ZerosLike": op.zeros_like,
}
table.add_unary(_FUNCTIONS)


@table("Neg")
def negative(node: Node, data: Expr | Complex) -> Value:
    if isinstance(data, Complex):
        return Complex(*(node.let(op.negative(one)) for one in (data.real, data.imaginary)))
    return op.negative(data)


@table("Sign")
def sign(node: Node, data: Expr) -> Expr:
    """Sign; NaN stays NaN."""
    if not dtypes.is_float(node.dtype(data)):
        return op.sign(data)
    return op.where(op.isnan(data), data, op.sign(data))


@table("Square")
def square(node: Node, data: Expr) -> Expr:
    return data * data


@table("Reciprocal", "Inv")
def reciprocal(node: Node, data: Expr) -> Expr:
    one = node.number(1, data)
    return one / data if dtypes.is_float(node.dtype(data)) else op.trunc_divide(one, data)


@table("Expm1")
def expm1(node: Node, data: Expr) -> Expr:
    return exp_less_one(node, data)


@table("Log1p")
def log1p(node: Node, data: Expr) -> Expr:
    return log_of_one_plus(node, data)


@table("Erfc")
def erfc(node: Node, data: Expr) -> Expr:
    """In float64: the difference from 1 cancels."""
    wide = node.as_dtype(data, "float64")
    return op.cast(const(1.0, "float64") - op.erf(wide), node.dtype(data))


@table("Cast")
def cast(node: Node, data: Expr | Complex) -> Value:
    """Cast: floats are truncated, nonzero numbers are true."""
    wanted = node.text("DstT", "float32")
    if isinstance(data, Complex):
        if wanted in PARTS:
            parts = (node.as_dtype(one, PARTS[wanted]) for one in (data.real, data.imaginary))
            return Complex(*parts)
        data = data.real
    if wanted in PARTS:
        real = node.as_dtype(data, PARTS[wanted])
        return Complex(real, node.let(op.zeros_like(real)))
    dtype = node.named_type("DstT")
    if dtype == "bool" and node.dtype(data) != "bool":
        return op.not_equal(data, node.number(0, data))
    return op.cast(data, dtype)


@table("Bitcast")
def bitcast(node: Node, data: Expr) -> Expr:
    dtype = node.named_type("type")
    if dtypes.bits(dtype) != dtypes.bits(node.dtype(data)):
        raise node.refused("elements of another size", node.dtype(data), dtype)
    return op.reinterpret(data, dtype)


@table("PopulationCount")
def population_count(node: Node, data: Expr) -> Expr:
    bits = dtypes.bits(node.dtype(data))
    unsigned = node.let(op.reinterpret(data, f"uint{bits}"))
    total: Expr | None = None
    for place in range(bits):
        by = const(place, f"uint{bits}")
        bit = op.bitwise_and(op.right_shift(unsigned, by), const(1, f"uint{bits}"))
        total = bit if total is None else node.let(total + bit)
    assert total is not None
    return op.cast(total, "uint8")


@table("ToBool")
def to_bool(node: Node, data: Expr) -> Expr:
    """Whether a number is not 0, or a tensor has elements."""
    if node.rank(data):
        return op.greater(op.ndarray_size(data, "int64"), const(0, "int64"))
    return op.not_equal(data, node.number(0, data))
