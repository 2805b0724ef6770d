"""Complex numbers: pairs of real numbers along a trailing axis.

Operators that move elements, and sums, are those of the real and of the imaginary parts; products
are sums of four products of parts; functions are formulas of the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters, built_in, find
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.fourier import paired, parts
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.expr import Expr
from relay.ir.types import TensorType

real_table = Converters()
complex_table = Converters(complex_numbers=True)
tables = (real_table, complex_table)


# --- parts ---------------------------------------------------------------------------------------


@complex_table("view_as_real", "view_as_real_copy")
def view_as_real(node: Node, self: Complex) -> Expr:
    return self.pairs


@real_table("view_as_complex", "view_as_complex_copy")
def view_as_complex(node: Node, self: Expr) -> Complex:
    return Complex(self)


@complex_table("real")
def real(node: Node, self: Complex) -> Expr:
    return parts(node, self)[0]


@complex_table("imag")
def imaginary(node: Node, self: Complex) -> Expr:
    return parts(node, self)[1]


@complex_table("_conj", "conj", "conj_physical", "_conj_copy", "_conj_physical")
def conjugate(node: Node, self: Complex) -> Complex:
    first, second = parts(node, self)
    return paired(node, first, -second)


@complex_table("resolve_conj", "resolve_neg", "alias", "clone", "detach", "lift_fresh_copy")
def same(node: Node, self: Complex, *_: Any, **__: Any) -> Complex:
    return self


@real_table("complex")
def complex_(node: Node, real: Expr, imag: Expr) -> Complex:
    first, second = broadcastable(node, real, imag)
    return paired(node, first + op.zeros_like(second), second + op.zeros_like(first))


@real_table("polar")
def polar(node: Node, abs: Expr, angle: Expr) -> Complex:
    length, turn = broadcastable(node, abs, angle)
    return paired(node, length * op.cos(turn), length * op.sin(turn))


# --- converters of real numbers ------------------------------------------------------------------


def by_parts(node: Node, name: str, overload: str, *args: Any, **named: Any) -> Any:
    """What the converter of an operator on real numbers gives for them."""
    converter = find(built_in(), "aten", name, overload)
    if converter is None:
        raise node.refused("it takes no complex numbers", hint="view them as pairs of floats")
    declared = node.declared
    if declared is not None:
        declared = TensorType(declared.shape[:-1], declared.dtype)
    found = converter(replace(node, declared=declared), *args, **named)
    if isinstance(found, list | tuple):
        return [node.let(one) if isinstance(one, Expr) else one for one in found]
    return node.let(found)


def _own(node: Node, *args: Any, **named: Any) -> Any:
    """The real operator of the same name."""
    return by_parts(node, node.operator.partition(".")[2], node.overload, *args, **named)


def _part(node: Node, value: Any, place: int, *, of_numbers: bool) -> Any:
    """One part of complex numbers in arguments; of real ones too, where these are operands."""
    if isinstance(value, list):
        return [_part(node, one, place, of_numbers=of_numbers) for one in value]
    if isinstance(value, Complex):
        return parts(node, value)[place]
    if isinstance(value, complex):
        return value.imag if place else value.real
    if not of_numbers or not place or value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Expr):
        is_mask = node.dtype(value) == "bool"
        return value if is_mask else node.let(op.zeros_like(value))
    return 0.0 if isinstance(value, int | float) else value


def _together(node: Node, first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return [paired(node, *pair) for pair in zip(first, second, strict=True)]
    return paired(node, first, second)


_MOVING = (
    *("view", "_unsafe_view", "view_copy", "reshape", "permute", "permute_copy", "transpose"),
    *("t", "mT", "squeeze", "unsqueeze", "expand", "slice", "select", "narrow", "split", "chunk"),
    *("split_with_sizes", "tensor_split", "unbind", "flip", "roll", "rot90", "index", "take"),
    *("index_select", "gather", "repeat", "tile", "unfold", "diagonal", "diag", "diag_embed"),
    *("tril", "triu", "movedim", "flatten", "unflatten", "repeat_interleave", "take_along_dim"),
    *("neg", "sum", "mean", "cumsum", "trace", "masked_select", "contiguous"),
    *("broadcast_to", "swapaxes", "swapdims", "squeeze_copy", "unsqueeze_copy", "slice_copy"),
    *("select_copy", "expand_copy", "diagonal_copy", "as_strided", "expand_as", "view_as"),
    *("numpy_T", "nan_to_num", "positive"),
    *("constant_pad_nd", "pad", "reflection_pad1d", "replication_pad1d"),
)


@complex_table(*_MOVING)
def moving(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part; other arguments are those of the operator."""
    found = []
    for place in range(2):
        given = [_part(node, one, place, of_numbers=False) for one in args]
        keys = {key: _part(node, one, place, of_numbers=False) for key, one in named.items()}
        dtype = keys.pop("dtype", None)
        made = _own(node, *given, **keys)
        if dtype in COMPLEX:
            made = node.as_dtype(made, COMPLEX[dtype])
        found.append(made)
    return _together(node, *found)


@complex_table("zeros_like", "ones_like")
def like(node: Node, self: Complex, *, dtype: Any = None, **_: Any) -> Any:
    """Numbers of the same kind, or real ones."""
    first, second = parts(node, self)
    filled = op.ones_like if node.operator == "aten.ones_like" else op.zeros_like
    if isinstance(dtype, str):
        return node.as_dtype(node.let(filled(first)), dtype)
    wanted = COMPLEX.get(dtype, node.dtype(first))
    made = (node.let(filled(first)), node.let(op.zeros_like(second)))
    return paired(node, *(node.as_dtype(one, wanted) for one in made))


_ADDING = ("add", "sub", "rsub", "cat", "stack", "where", "masked_fill", "fill")
_WRITING = (
    *("index_put", "_unsafe_index_put", "scatter", "scatter_add", "index_add", "index_copy"),
    *("select_scatter", "slice_scatter"),
)


@complex_table(*_ADDING)
def adding(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part, of operands that may be real."""
    return _by_operands(node, args, named, of_numbers=True)


@complex_table(*_WRITING)
def writing(node: Node, *args: Any, **named: Any) -> Any:
    """The operator on each part; indices stay as they are."""
    return _by_operands(node, args, named, of_numbers=False)


def _by_operands(node: Node, args: Any, named: Any, *, of_numbers: bool) -> Any:
    found = []
    for place in range(2):
        given = [_part(node, one, place, of_numbers=of_numbers) for one in args]
        if node.operator in ("aten.cat", "aten.stack"):
            given[1:] = args[1:]
        found.append(_own(node, *given, **named))
    return _together(node, *found)


def as_parts(node: Node, value: Any) -> tuple[Any, Any]:
    """The parts of an operand, which may be real."""
    first, second = (_part(node, value, place, of_numbers=True) for place in range(2))
    return first, second


_PRODUCTS = (
    *("mul", "matmul", "mm", "bmm", "mv", "dot", "outer", "ger", "kron", "inner"),
    *("tensordot", "linalg_matmul", "__matmul__", "linalg_cross", "cross"),
)


@complex_table(*_PRODUCTS)
def product(node: Node, self: Any, other: Any, *more: Any, **named: Any) -> Complex:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i"""
    (a, b), (c, d) = as_parts(node, self), as_parts(node, other)

    def times(one: Any, another: Any) -> Expr:
        return _own(node, one, another, *more, **named)  # type: ignore[no-any-return]

    if not isinstance(other, Complex | complex):
        return paired(node, times(a, c), times(b, c))
    return paired(node, times(a, c) - times(b, d), times(a, d) + times(b, c))


@complex_table("vdot", "linalg_vecdot")
def conjugate_product(node: Node, self: Complex, other: Complex, **named: Any) -> Complex:
    return product(node, conjugate(node, self), other, **named)


@complex_table("linear")
def linear(node: Node, input: Any, weight: Any, bias: Any = None) -> Complex:
    found = product(node, input, weight)
    if bias is None:
        return found
    (a, b), (c, d) = parts(node, found), as_parts(node, bias)
    return paired(node, a + c, b + d)


_SUMMED = {"addmm": "mm", "baddbmm": "bmm", "addmv": "mv", "addr": "outer", "addbmm": "bmm"}


@complex_table(*_SUMMED)
def sum_of_products(
    node: Node, self: Any, one: Any, other: Any, *, beta: Any = 1, alpha: Any = 1
) -> Complex:
    """`beta * self + alpha * product`"""
    name = node.operator.removeprefix("aten.")
    times = replace(node, operator=f"aten.{_SUMMED[name]}", overload="default", declared=None)
    scale = replace(times, operator="aten.mul", overload="Tensor")
    found = product(times, one, other)
    if name == "addbmm":
        first, second = (op.sum(part, axis=(0,)) for part in parts(node, found))
        found = paired(node, first, second)
    found = found if alpha == 1 else product(scale, found, alpha)
    if beta == 0:
        return found
    addend = self if beta == 1 else product(scale, self, beta)
    (a, b), (c, d) = parts(node, found), as_parts(node, addend)
    return paired(node, a + c, b + d)


@complex_table("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")
def convolution(
    node: Node, input: Any, weight: Any, bias: Any = None, *more: Any, **named: Any
) -> Complex:
    (a, b), (c, d) = as_parts(node, input), as_parts(node, weight)

    def over(data: Expr, kernel: Expr) -> Expr:
        return _own(node, data, kernel, None, *more, **named)  # type: ignore[no-any-return]

    first = node.let(over(a, c) - over(b, d))
    second = node.let(over(a, d) + over(b, c))
    if bias is not None:
        axis = node.rank(first) - node.rank(c) + 1
        e, f = as_parts(node, bias)
        first, second = op.nn.bias_add(first, e, axis), op.nn.bias_add(second, f, axis)
    return paired(node, first, second)


@complex_table("square")
def square(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    return paired(node, a * a - b * b, a * b + a * b)


@complex_table("div", "true_divide")
def div(node: Node, self: Any, other: Any, *_: Any, **__: Any) -> Complex:
    a, b = as_parts(node, self)

    def over(one: Any, another: Any) -> Expr:
        return by_parts(node, "div", "Tensor", one, another)  # type: ignore[no-any-return]

    if not isinstance(other, Complex | complex):
        return paired(node, over(a, other), over(b, other))
    flipped = reciprocal_parts(node, other)

    def times(one: Any, another: Any) -> Expr:
        return by_parts(node, "mul", "Tensor", one, another)  # type: ignore[no-any-return]

    c, d = flipped
    return paired(node, times(a, c) - times(b, d), times(a, d) + times(b, c))


def reciprocal_parts(node: Node, value: Any) -> tuple[Any, Any]:
    """1 / (c + di) = (c - di) / (c² + d²)"""
    if isinstance(value, complex):
        return (1 / value).real, (1 / value).imag
    c, d = as_parts(node, value)
    length = node.let(c * c + d * d)
    return node.let(c / length), node.let(-d / length)


@complex_table("reciprocal")
def reciprocal(node: Node, self: Complex) -> Complex:
    return paired(node, *reciprocal_parts(node, self))


# --- functions -----------------------------------------------------------------------------------


@complex_table("abs")
def absolute(node: Node, self: Complex) -> Expr:
    """The length, scaled so that squares do not overflow."""
    a, b = (op.abs(one) for one in parts(node, self))
    most = node.let(op.maximum(a, b))
    divisor = node.let(op.where(op.greater(most, node.number(0, most)), most, node.number(1, most)))
    x, y = a / divisor, b / divisor
    return divisor * op.sqrt(x * x + y * y)


@complex_table("angle")
def angle(node: Node, self: Complex) -> Expr:
    a, b = parts(node, self)
    return by_parts(node, "atan2", "default", b, a)  # type: ignore[no-any-return]


@complex_table("sgn")
def direction(node: Node, self: Complex) -> Complex:
    length = node.let(absolute(node, self))
    is_zero = op.equal(length, node.number(0, length))
    divisor = node.let(op.where(is_zero, node.number(1, length), length))
    a, b = parts(node, self)
    return paired(node, a / divisor, b / divisor)


@complex_table("exp")
def exp(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    length = node.let(op.exp(a))
    return paired(node, length * op.cos(b), length * op.sin(b))


@complex_table("log")
def log(node: Node, self: Complex) -> Complex:
    return paired(node, op.log(node.let(absolute(node, self))), angle(node, self))


def _of_log(factor: float) -> Callable[[Node, Complex], Complex]:
    def converter(node: Node, self: Complex) -> Complex:
        a, b = parts(node, log(node, self))
        return paired(node, a * node.number(factor, a), b * node.number(factor, b))

    return converter


complex_table.add("log2", _of_log(1.4426950408889634))
complex_table.add("log10", _of_log(0.4342944819032518))


@complex_table("sqrt")
def sqrt(node: Node, self: Complex) -> Complex:
    """The root of (|z| + a) / 2, and that of (|z| - a) / 2 with the sign of b."""
    a, b = parts(node, self)
    length = node.let(absolute(node, self))
    half, zero = node.number(0.5, a), node.number(0, a)
    larger = node.let(op.sqrt(half * (length + op.abs(a))))
    is_zero = op.equal(larger, zero)
    other = node.let(half * op.abs(b) / op.where(is_zero, node.number(1, a), larger))
    is_right = op.greater_equal(a, zero)
    sign = op.where(op.less(b, zero), node.number(-1, a), node.number(1, a))
    return paired(node, op.where(is_right, larger, other), op.where(is_right, other, larger) * sign)


@complex_table("rsqrt")
def rsqrt(node: Node, self: Complex) -> Complex:
    return reciprocal(node, sqrt(node, self))


def _waves(node: Node, one: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    half = node.number(0.5, one)
    up, down = node.let(op.exp(one)), node.let(op.exp(-one))
    return op.sin(one), op.cos(one), half * (up - down), half * (up + down)


@complex_table("sin", "cos", "sinh", "cosh", "tan", "tanh", "sigmoid")
def waves(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    name = node.operator.removeprefix("aten.")
    sin_a, cos_a, sinh_a, cosh_a = (node.let(one) for one in _waves(node, a))
    sin_b, cos_b, sinh_b, cosh_b = (node.let(one) for one in _waves(node, b))
    match name:
        case "sin":
            return paired(node, sin_a * cosh_b, cos_a * sinh_b)
        case "cos":
            return paired(node, cos_a * cosh_b, -(sin_a * sinh_b))
        case "sinh":
            return paired(node, sinh_a * cos_b, cosh_a * sin_b)
        case "cosh":
            return paired(node, cosh_a * cos_b, sinh_a * sin_b)
        case "tan":
            # sin 2a / (cos 2a + cosh 2b)
            two = node.number(2, a)
            below = node.let(op.cos(two * a) + op.cosh(two * b))
            return paired(node, op.sin(two * a) / below, op.sinh(two * b) / below)
        case "tanh":
            two = node.number(2, a)
            below = node.let(op.cosh(two * a) + op.cos(two * b))
            return paired(node, op.sinh(two * a) / below, op.sin(two * b) / below)
    one = node.number(1, a)
    length = node.let(op.exp(-a))
    divisor = paired(node, one + length * op.cos(b), -(length * op.sin(b)))
    return reciprocal(node, divisor)


@complex_table("pow")
def power(node: Node, self: Any, exponent: Any) -> Complex:
    """exp(exponent * log(self)); whole exponents are products."""
    if isinstance(exponent, int | float) and exponent == int(exponent) and 0 < exponent <= 4:
        found = self
        for _ in range(int(exponent) - 1):
            (a, b), (c, d) = parts(node, found), parts(node, self)
            found = paired(node, a * c - b * d, a * d + b * c)
        return found  # type: ignore[no-any-return]
    if not isinstance(self, Complex):
        first, second = as_parts(node, self)
        like = parts(node, exponent)[0]
        self = paired(
            node, *broadcastable(node, node.number(first, like), node.number(second, like))
        )
    (a, b), (c, d) = parts(node, log(node, self)), as_parts(node, exponent)
    c, d = node.number(c, a), node.number(d, a)
    (a, c), (b, d) = broadcastable(node, a, c), broadcastable(node, b, d)
    found = exp(node, paired(node, a * c - b * d, a * d + b * c))
    zero = op.equal(absolute(node, self), node.number(0, a))
    x, y = parts(node, found)
    none = node.number(0, x)
    return paired(node, op.where(zero, none, x), op.where(zero, none, y))


# --- comparisons ---------------------------------------------------------------------------------


@complex_table("eq", "ne")
def equality(node: Node, self: Any, other: Any) -> Expr:
    (a, b), (c, d) = as_parts(node, self), as_parts(node, other)
    first, second = _own(node, a, c), _own(node, b, d)
    return (
        op.logical_and(first, second)
        if node.operator == "aten.eq"
        else op.logical_or(first, second)
    )


@complex_table("isnan", "isinf", "isfinite")
def kind(node: Node, self: Complex) -> Expr:
    first, second = (_own(node, one) for one in parts(node, self))
    both = node.operator == "aten.isfinite"
    return op.logical_and(first, second) if both else op.logical_or(first, second)


@complex_table("logical_not")
def logical_not(node: Node, self: Complex) -> Expr:
    return op.equal(absolute(node, self), node.number(0, parts(node, self)[0]))
