"""Random tensors, with the shapes, element types and distributions of torch, but other numbers.

A call draws from the generator of its name, so that different calls draw different numbers, and
every run the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any
from zlib import crc32

from relay import dtypes, op
from relay.frontend.common.builder import static
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number, Size
from relay.frontend.pytorch.operators.binary import operands
from relay.frontend.pytorch.operators.shaping import expanded
from relay.frontend.pytorch.promotion import cast, category
from relay.ir.expr import Constant, Expr, TupleGetItem, as_expr, const
from relay.ir.types import TensorType, TupleType

table = Converters()


def generator(node: Node) -> Constant:
    """The generator of a call."""
    return op.random.threefry_key(crc32((node.name or node.operator).encode()))


def drawn(node: Node, draw: Any, sizes: Sequence[Size], dtype: str) -> Expr:
    """Numbers of a distribution in float32 or float64."""
    known = tuple(map(node.known, sizes))
    extents: Any = static(known)
    if extents is None:
        extents = node.sizes(sizes)
    key = generator(node)
    found = TupleType((TensorType(key.data.shape, "uint64"), TensorType(known, dtype)))
    whole = node.let(draw(key, extents, dtype).astuple(), declared=found)
    return node.let(TupleGetItem(whole, 1))


def _wide(dtype: str) -> str:
    return dtype if dtype == "float64" else "float32"


def uniform_numbers(node: Node, sizes: Sequence[Size], dtype: str = "float64") -> Expr:
    """Numbers from 0 to 1, exclusive."""
    return drawn(node, op.random.uniform, sizes, dtype)


def normal_numbers(node: Node, sizes: Sequence[Size], dtype: str = "float32") -> Expr:
    """Numbers of mean 0 and deviation 1."""
    return drawn(node, op.random.normal, sizes, dtype)


# --- of given sizes ----------------------------------------------------------------------------


@table("rand", "randn")
def rand(node: Node, size: Sequence[Size], *_: Any, dtype: str | None = None, **__: Any) -> Expr:
    return _drawn(node, size, dtype or "float32")


@table("rand_like", "randn_like")
def rand_like(node: Node, self: Expr, *_: Any, dtype: str | None = None, **__: Any) -> Expr:
    return _drawn(node, node.extents_of(self), dtype or node.dtype(self))


def _drawn(node: Node, sizes: Sequence[Size], dtype: str) -> Expr:
    draw = normal_numbers if "randn" in node.operator else uniform_numbers
    return node.as_dtype(draw(node, sizes, _wide(dtype)), dtype)


def whole_numbers(node: Node, low: Number, high: Number, sizes: Sequence[Size], dtype: str) -> Expr:
    """Integers from `low` to `high`, exclusive."""
    first, end = (node.scalar(one, "float64") for one in (low, high))
    share = uniform_numbers(node, sizes)
    return cast(node, node.let(op.floor(share * (end - first)) + first), dtype)


@table("randint")
def randint(
    node: Node, high: Size, size: Sequence[Size], *_: Any, dtype: str | None = None, **__: Any
) -> Expr:
    return whole_numbers(node, 0, high, size, dtype or "int64")


@table("randint.low", "randint.low_generator")
def randint_from(
    node: Node,
    low: Size,
    high: Size,
    size: Sequence[Size],
    *_: Any,
    dtype: str | None = None,
    **__: Any,
) -> Expr:
    return whole_numbers(node, low, high, size, dtype or "int64")


@table("randint_like")
def randint_like(
    node: Node, self: Expr, high: Size, *_: Any, dtype: str | None = None, **__: Any
) -> Expr:
    sizes = node.extents_of(self)
    return whole_numbers(node, 0, high, sizes, dtype or node.dtype(self))


@table("randint_like.low_dtype")
def randint_like_from(
    node: Node, self: Expr, low: Size, high: Size, *_: Any, dtype: str | None = None, **__: Any
) -> Expr:
    sizes = node.extents_of(self)
    return whole_numbers(node, low, high, sizes, dtype or node.dtype(self))


@table("randperm")
def randperm(node: Node, n: Size, *_: Any, dtype: str | None = None, **__: Any) -> Expr:
    keys = uniform_numbers(node, [n])
    return node.as_dtype(node.let(op.argsort(keys, axis=0, dtype="int64")), dtype or "int64")


# --- of given parameters -----------------------------------------------------------------------


@table("normal.float_float")
def normal(
    node: Node,
    mean: float,
    std: float,
    size: Sequence[Size],
    dtype: str | None = None,
    **_: Any,
) -> Expr:
    wanted = dtype or "float32"
    data = normal_numbers(node, size, _wide(wanted))
    return node.as_dtype(_scaled(node, data, std, mean), wanted)


def _scaled(node: Node, data: Expr, factor: float, shift: float) -> Expr:
    return node.let(data * node.number(factor, data) + node.number(shift, data))


@table("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal_of(node: Node, mean: Number = 0.0, std: Number = 1.0, **_: Any) -> Expr:
    middle, spread = operands(node, mean, std)
    sizes = node.extents_of(node.let(middle + spread))
    data = node.as_dtype(normal_numbers(node, sizes), node.dtype(middle))
    return data * spread + middle


@table("normal_functional", "normal")
def normal_like(node: Node, self: Expr, mean: float = 0.0, std: float = 1.0, **_: Any) -> Expr:
    return normal(node, mean, std, node.extents_of(self), node.dtype(self))


@table("uniform")
def uniform(node: Node, self: Expr, _from: float = 0.0, to: float = 1.0, **names: Any) -> Expr:
    low = names.get("from", _from)
    dtype = node.dtype(self)
    data = uniform_numbers(node, node.extents_of(self), _wide(dtype))
    return node.as_dtype(_scaled(node, data, to - low, low), dtype)


def _like(node: Node, data: Expr) -> Expr:
    return uniform_numbers(node, node.extents_of(data))


@table("exponential")
def exponential(node: Node, self: Expr, lambd: float = 1.0, **_: Any) -> Expr:
    share = _like(node, self)
    found = op.log(const(1.0, "float64") - share) / const(-lambd, "float64")
    return node.as_dtype(node.let(found), node.dtype(self))


@table("geometric")
def geometric(node: Node, self: Expr, p: float, **_: Any) -> Expr:
    rate = op.log(const(1.0 - p, "float64"))
    found = op.ceil(op.log(const(1.0, "float64") - _like(node, self)) / rate)
    found = op.maximum(found, const(1.0, "float64"))
    return cast(node, node.let(found), node.dtype(self))


@table("log_normal")
def log_normal(node: Node, self: Expr, mean: float = 1.0, std: float = 2.0, **_: Any) -> Expr:
    data = normal_numbers(node, node.extents_of(self), "float64")
    return node.as_dtype(node.let(op.exp(_scaled(node, data, std, mean))), node.dtype(self))


@table("cauchy")
def cauchy(node: Node, self: Expr, median: float = 0.0, sigma: float = 1.0, **_: Any) -> Expr:
    share = _like(node, self) - const(0.5, "float64")
    found = _scaled(node, node.let(op.tan(share * const(pi, "float64"))), sigma, median)
    return node.as_dtype(found, node.dtype(self))


@table("random")
def random(node: Node, self: Expr, **_: Any) -> Expr:
    return _random_up_to(node, self, 0, None)


@table("random.from")
def random_from(node: Node, self: Expr, _from: int, to: int | None = None, **_: Any) -> Expr:
    return _random_up_to(node, self, _from, to)


@table("random.to")
def random_to(node: Node, self: Expr, to: int, **_: Any) -> Expr:
    return _random_up_to(node, self, 0, to)


def _random_up_to(node: Node, data: Expr, low: int, high: int | None) -> Expr:
    """Integers, by default all that the element type holds, or a float represents exactly."""
    dtype = node.dtype(data)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "bool": 1}
    bits = digits.get(dtype, dtypes.bits(dtype) - (dtype in dtypes.SIGNED))
    most = (1 << bits) + (category(dtype) == 2) if high is None else high
    return whole_numbers(node, low, min(most, 1 << 53), node.extents_of(data), dtype)


# --- choices -----------------------------------------------------------------------------------


@table("bernoulli.default")
def bernoulli(node: Node, self: Expr, **_: Any) -> Expr:
    """1 with the probability that each element is."""
    found = _like(node, self) < node.as_dtype(self, "float64")
    return op.cast(found, node.dtype(self))


@table("bernoulli.p")
def bernoulli_of(node: Node, self: Expr, p: float = 0.5, **_: Any) -> Expr:
    return op.cast(_like(node, self) < const(float(p), "float64"), node.dtype(self))


@table("bernoulli.Tensor")
def bernoulli_by(node: Node, self: Expr, p: Expr, **_: Any) -> Expr:
    chance = expanded(node, node.as_dtype(p, "float64"), node.extents_of(self))
    return op.cast(_like(node, self) < chance, node.dtype(self))


@table("multinomial")
def multinomial(
    node: Node, self: Expr, num_samples: int, replacement: bool = False, **_: Any
) -> Expr:
    """Classes by their weights; without replacement those with the largest log(u) / weight."""
    if replacement:
        call = op.random.multinomial(generator(node), self, num_samples)
        return op.cast(node.fields(call.astuple(), 2)[1], "int64")
    share = op.log(const(1.0, "float64") - _like(node, self))
    weight = node.as_dtype(self, "float64")
    none = weight <= const(0.0, "float64")
    keys = node.let(op.where(none, const(float("-inf"), "float64"), share / weight))
    rank = node.rank(self)
    found = op.topk(keys, num_samples, axis=rank - 1, ret_type="indices", dtype="int64")
    return as_expr(found)


@table("poisson")
def poisson(node: Node, self: Expr, **_: Any) -> Expr:
    text = "poisson numbers are drawn by rejection, which is not supported"
    raise node.refused(text, hint="draw them outside of the model and pass them in")


# --- dropout -----------------------------------------------------------------------------------


def kept(node: Node, data: Expr, p: float, sizes: Sequence[Size] | None = None) -> Expr:
    """Which elements dropout keeps."""
    share = uniform_numbers(node, node.extents_of(data) if sizes is None else sizes)
    return node.let(share >= const(float(p), "float64"))


@table("native_dropout")
def native_dropout(node: Node, input: Expr, p: float, train: bool | None = True) -> list[Expr]:
    if train is False:
        return [input, op.ones_like(node.as_dtype(input, "bool"))]
    mask = kept(node, input, p)
    return [_masked(node, input, mask, p), mask]


def _masked(node: Node, data: Expr, mask: Expr, p: float) -> Expr:
    zero, rest = node.number(0, data), 1 / (1 - p) if p < 1 else 0.0
    return node.let(op.where(mask, data * node.number(rest, data), zero))


@table("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(node: Node, input: Expr, p: float, train: bool) -> Expr:
    if not train or p == 0:
        return input
    name = node.operator.removeprefix("aten.")
    sizes = node.extents_of(input)
    if name.startswith("feature"):
        sizes = [*sizes[:2], *[1] * (len(sizes) - 2)]
    mask = kept(node, input, p, sizes)
    if not name.endswith("alpha_dropout"):
        return _masked(node, input, mask, p)
    # keeps mean and variance: what is dropped is the lower limit of selu
    alpha = 1.7580993408473766
    if p == 1:
        return op.zeros_like(input)
    scale = 1.0 / ((alpha * alpha * p + 1) * (1 - p)) ** 0.5
    dropped = node.number(-alpha * scale + alpha * scale * p, input)
    shift = node.number(alpha * scale * p, input)
    return op.where(mask, input * node.number(scale, input) + shift, dropped)


@table("rrelu", "rrelu_with_noise", "rrelu_with_noise_functional")
def rrelu(
    node: Node,
    self: Expr,
    *given: Any,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    **_: Any,
) -> Expr:
    numbers = [one for one in given if isinstance(one, int | float)]
    bounds = [one for one in numbers if not isinstance(one, bool)]
    low, high = (*bounds, lower, upper)[:2] if not bounds else (*bounds, upper)[:2]
    training = next((one for one in numbers if isinstance(one, bool)), training)
    zero = node.number(0, self)
    if not training:
        slope = node.number((low + high) / 2, self)
    else:
        share = _scaled(node, _like(node, self), high - low, low)
        slope = node.as_dtype(share, node.dtype(self))
    return op.where(self < zero, self * slope, self)
