"""Elementwise operators; comparisons give 1 and 0 in the element type."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce

from relay import dtypes, op
from relay.frontend.common import curves
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.mxnet.converters import Table
from relay.frontend.mxnet.node import Node
from relay.ir.expr import Expr

table = Table()

table.add_unary(
    {
        "abs": op.abs, "negative": op.negative, "exp": op.exp, "log": op.log, "log2": op.log2,
        "log10": op.log10, "sqrt": op.sqrt, "rsqrt": op.rsqrt, "sin": op.sin, "cos": op.cos,
        "tan": op.tan, "arcsin": op.asin, "arccos": op.acos, "arctan": op.atan, "sinh": op.sinh,
        "cosh": op.cosh, "tanh": op.tanh, "arcsinh": op.asinh, "arccosh": op.acosh,
        "arctanh": op.atanh, "sigmoid": op.sigmoid, "relu": op.nn.relu, "floor": op.floor,
        "ceil": op.ceil, "trunc": op.trunc, "fix": op.trunc, "rint": op.round, "sign": op.sign,
        "erf": op.erf, "zeros_like": op.zeros_like, "ones_like": op.ones_like,
    }
)  # fmt: skip


@table("square")
def square(node: Node, data: Expr) -> Expr:
    return data * data


@table("reciprocal", "rcbrt", "cbrt")
def roots(node: Node, data: Expr) -> Expr:
    root = data
    if node.operator != "reciprocal":
        root = op.sign(data) * op.power(op.abs(data), node.number(1 / 3, data))
    return root if node.operator == "cbrt" else node.number(1, data) / root


@table("expm1")
def expm1(node: Node, data: Expr) -> Expr:
    half = node.let(data * node.number(0.5, data))
    exact = node.number(2, data) * op.exp(half) * op.sinh(half)
    big = op.greater(op.abs(data), node.number(20, data))
    return op.where(big, op.exp(data) - node.number(1, data), exact)


@table("log1p")
def log1p(node: Node, data: Expr) -> Expr:
    two = node.number(2, data)
    small = op.less(op.abs(data), node.number(0.5, data))
    return op.where(small, two * op.atanh(data / (two + data)), op.log(node.number(1, data) + data))


@table("softsign")
def softsign(node: Node, data: Expr) -> Expr:
    return curves.softsign(node, data)


@table("degrees", "radians")
def angles(node: Node, data: Expr) -> Expr:
    return data * node.number(180 / math.pi if node.operator == "degrees" else math.pi / 180, data)


@table("round")
def round_(node: Node, data: Expr) -> Expr:
    """round: halves away from zero."""
    return op.sign(data) * op.floor(op.abs(data) + node.number(0.5, data))


@table("logical_not")
def logical_not(node: Node, data: Expr) -> Expr:
    return op.cast(op.equal(data, node.number(0, data)), node.dtype(data))


@table("clip")
def clip(node: Node, data: Expr) -> Expr:
    return op.clip(data, node.real("a_min"), node.real("a_max"))


@table("Cast", "cast", "amp_cast")
def cast(node: Node, data: Expr) -> Expr:
    return op.cast(data, node.element_type())


@table("smooth_l1")
def smooth_l1(node: Node, data: Expr) -> Expr:
    sigma = node.real("scalar", 1.0) ** 2
    size = node.let(op.abs(data))
    near = node.number(0.5 * sigma, data) * data * data
    return op.where(
        size < node.number(1 / sigma, data), near, size - node.number(0.5 / sigma, data)
    )


@table("_contrib_div_sqrt_dim")
def div_sqrt_dim(node: Node, data: Expr) -> Expr:
    width = node.static_extent(data, -1, "the extent of the last axis")
    return data * node.number(1 / math.sqrt(width), data)


# --- pairs ---------------------------------------------------------------------------------------

_PAIRS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "add": op.add, "plus": op.add, "sub": op.subtract, "minus": op.subtract, "mul": op.multiply,
    "div": op.divide, "mod": op.floor_mod, "power": op.power, "maximum": op.maximum,
    "minimum": op.minimum,
}  # fmt: skip
_TESTS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "equal": op.equal, "not_equal": op.not_equal, "greater": op.greater,
    "greater_equal": op.greater_equal, "lesser": op.less, "lesser_equal": op.less_equal,
}  # fmt: skip
_LOGIC = {"logical_and": op.logical_and, "logical_or": op.logical_or, "logical_xor": op.logical_xor}


def _divided(node: Node, left: Expr, right: Expr) -> Expr:
    """Division; of integers it truncates."""
    is_real = dtypes.is_float(node.dtype(left))
    return left / right if is_real else op.trunc_divide(left, right)


def _both(name: str, node: Node, left: Expr, right: Expr) -> Expr:
    left, right = broadcastable(node, left, right)
    if name == "div":
        return _divided(node, left, right)
    if name == "hypot":
        return op.sqrt(left * left + right * right)
    if name in _TESTS:
        return op.cast(_TESTS[name](left, right), node.dtype(left))
    if name in _LOGIC:
        zero = node.number(0, left)
        truths = [op.not_equal(one, zero) for one in (left, right)]
        return op.cast(_LOGIC[name](*truths), node.dtype(left))
    return _PAIRS[name](left, right)


def _tensors(name: str, node: Node, lhs: Expr, rhs: Expr) -> Expr:
    return _both(name, node, lhs, rhs)


def _scalar(name: str, is_left: bool, node: Node, data: Expr) -> Expr:
    number = node.number(node.real("scalar", 0.0), data)
    if not dtypes.is_float(node.dtype(data)):
        number = node.number(int(node.real("scalar", 0.0)), data)
    return _both(name, node, number, data) if is_left else _both(name, node, data, number)


for _name in (*_PAIRS, *_TESTS, *_LOGIC, "hypot"):
    for _spelled in (f"broadcast_{_name}", f"elemwise_{_name}", f"_{_name}", f"_{_name.title()}"):
        table.add(_spelled, partial(_tensors, _name))
    table.add(f"_{_name}_scalar", partial(_scalar, _name, False))
for _name, _of in (("rminus", "minus"), ("rdiv", "div"), ("rmod", "mod"), ("rpower", "power")):
    table.add(f"_{_name}_scalar", partial(_scalar, _of, True))


@table("add_n", "ElementWiseSum")
def add_n(node: Node, *data: Expr) -> Expr:
    return reduce(lambda one, other: node.let(one + other), data)


@table("where")
def where(node: Node, condition: Expr, x: Expr, y: Expr) -> Expr:
    truth = node.let(op.not_equal(condition, node.number(0, condition)))
    if node.rank(truth) == 1 and node.rank(x) > 1:
        truth = node.let(op.expand_dims(truth, 1, num_newaxis=node.rank(x) - 1))
    return op.where(truth, x, y)
