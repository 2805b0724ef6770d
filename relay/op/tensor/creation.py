"""Creation of tensors: full, zeros, ones, arange, one_hot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from relay import dtypes, te, tree
from relay.errors import REAL_VALUE, EvaluationError
from relay.extents import LARGEST_SIZE
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, as_expr, const
from relay.ir.types import TensorType, Type
from relay.op.building.elements import filled
from relay.op.building.numerics import convert
from relay.op.facts import Facts, Sign, always
from relay.op.gradient_rules import SHAPES_ONLY, ArgumentGradient, Backward, build
from relay.op.known import is_known
from relay.op.opdef import DType, FusionKind, OpDef, Tensor, define, get, sample
from relay.op.site import INTEGER, NUMERIC, Site
from relay.te.expr import INDEX, call

# --- constants -------------------------------------------------------------------------------


@attrs
class FillAttrs(Attrs):
    """shape: the shape of the result
    dtype: its element type; None is that of the value, float32 where there is none
    """

    shape: tuple[int, ...]
    dtype: DType | None = None


def _filled_type(site: Site) -> Type | None:
    """The shape and element type of the attributes; a value must be a scalar."""
    dtype = site.attrs.dtype
    if site.args:
        if (value := site.tensor(0, rank=0)) is None:
            return None
        dtype = dtype or value.dtype
    for extent in site.attrs.shape:
        site.require(extent >= 0, "an extent is negative", "0 or more", str(extent))
    return TensorType(site.attrs.shape, dtype or "float32")


def _filled(fill_value: np.ndarray, shape: tuple[int, ...], dtype: str | None) -> np.ndarray:
    return np.broadcast_to(convert(fill_value, dtype) if dtype else fill_value, shape)


def full(fill_value: Expr, shape: int | Sequence[int] | Expr = (), dtype: str = "") -> Call:
    """A tensor of a scalar; the shape may be a tensor."""
    if is_known(shape):
        return FULL(fill_value, shape=shape, dtype=dtype)
    return get("dyn.full")(fill_value, shape, dtype=dtype)


def _one_hot_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The sums of the gradient where each of the two values is."""
    indices, _, _, *rest = site.args
    sums = []
    for values in ((1.0, 0.0), (0.0, 1.0)):
        where = tree.replace(site.call, args=(indices, *map(site.number, values), *rest))
        sums.append(build("sum", site.gradient * where))
    return [None, *sums]


FULL = define(
    "full",
    doc="A tensor filled with a value.",
    arguments=[("fill_value", "the value, a scalar")],
    attrs=FillAttrs,
    relation=_filled_type,
    reference=_filled,
    compute=lambda fill_value, out, **_: filled(out, fill_value[()]),
    fusion=FusionKind.ELEMWISE,
    helper=full,
    samples=[
        sample((), shape=(2, 3)),
        sample((), dtype="int32", shape=(), attrs={"dtype": "int8"}),
        sample((), shape=(0, 4), attrs={"dtype": "int64"}),
    ],
    gradient=lambda site: [build("sum", site.as_type_of(site.args[0]))],
)


def zeros(shape: int | Sequence[int] | Expr, dtype: str) -> Call:
    """A tensor of zeros; the shape may be a tensor."""
    return ZEROS(shape=shape, dtype=dtype) if is_known(shape) else get("dyn.zeros")(shape, dtype)


def ones(shape: int | Sequence[int] | Expr, dtype: str) -> Call:
    """A tensor of ones; the shape may be a tensor."""
    return ONES(shape=shape, dtype=dtype) if is_known(shape) else get("dyn.ones")(shape, dtype)


def _constant(name: str, doc: str, value: int, helper: Any, **facts: Unpack[Facts]) -> OpDef:
    facts = {"gradient": SHAPES_ONLY, **facts}
    return define(
        name,
        doc=doc,
        attrs=FillAttrs,
        relation=_filled_type,
        reference=lambda shape, dtype: _filled(np.array(value), shape, dtype or "float32"),
        compute=lambda out, **_: filled(out, value),
        fusion=FusionKind.ELEMWISE,
        helper=helper,
        samples=[
            sample(shape=(2, 3)),
            sample(shape=(), attrs={"dtype": "bool"}),
            sample(shape=(4, 0), attrs={"dtype": "bfloat16"}),
        ],
        **facts,
    )


ZEROS = _constant("zeros", "A tensor of zeros.", 0, zeros)
ONES = _constant("ones", "A tensor of ones.", 1, ones, sign=always(Sign.POSITIVE))


def _full_like_type(site: Site) -> Type | None:
    """The type of data; the value is a scalar of any element type."""
    site.tensor(1, rank=0)
    return site.tensor(0)


full_like = define(
    "full_like",
    doc="A tensor filled with a value, of the type of another tensor.",
    arguments=[("data", "a tensor of the wanted type"), ("fill_value", "the value, a scalar")],
    relation=_full_like_type,
    reference=lambda data, fill_value: _filled(
        fill_value, data.shape, dtypes.canonical(data.dtype)
    ),
    compute=lambda data, fill_value, out: filled(out, fill_value[()]),
    fusion=FusionKind.ELEMWISE,
    samples=[sample((2, 3), ()), sample((), Tensor((), "float32"), dtype="int32")],
    gradient=lambda site: [None, build("sum", site.as_type_of(site.args[1]))],
)

# --- sequences ---------------------------------------------------------------------------------


@attrs
class ArangeAttrs(Attrs):
    """The values of constant arguments, which give the extent.

    start: the value of the argument `start`
    stop: the value of the argument `end`
    step: the value of the argument `step`
    dtype: the element type of the result
    """

    start: int | float | None = None
    stop: int | float | None = None
    step: int | float | None = None
    dtype: DType


def _count(start: float, stop: float, step: float) -> int:
    """The number of steps from start to stop, exclusive."""
    if step == 0:
        raise ZeroDivisionError
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -((start - stop) // step))
    return max(0, math.ceil((stop - start) / step))


def _arange_type(site: Site) -> Type | None:
    """A vector, of static extent if the three numbers are known."""
    for index in range(3):
        site.tensor(index, rank=0)
        site.require_elements(index, NUMERIC)
    known = site.attrs
    extent: Dim = dims.ANY
    if None not in (known.start, known.stop, known.step):
        site.require(known.step != 0, "the step is zero", "a step other than 0", str(known.step))
        site.require_finite("start, stop and step", known.start, known.stop, known.step)
        extent = _count(known.start, known.stop, known.step)
    return TensorType((extent,), known.dtype)


def _arange(
    first: np.ndarray, last: np.ndarray, distance: np.ndarray, dtype: str, **known: Any
) -> np.ndarray:
    numbers = _numbers(first, last, distance)
    (extent,) = _arange_shape(first, last, distance, **known)
    return convert(np.arange(extent) * numbers[2] + numbers[0], dtype)


def _arange_shape(
    first: np.ndarray,
    last: np.ndarray,
    distance: np.ndarray,
    start: float | None = None,
    stop: float | None = None,
    step: float | None = None,
    **_: Any,
) -> tuple[int, ...]:
    numbers = _numbers(first, last, distance)
    if numbers[2] == 0:
        raise EvaluationError.of("the step of `arange` is zero")
    if not all(map(math.isfinite, numbers)):
        raise EvaluationError.of(
            "`arange` never ends", expected="finite numbers", found=f"{numbers}"
        )
    extent = _count(*numbers)
    if start is not None and stop is not None and step is not None:
        promised = _count(start, stop, step)
        if extent != promised:
            raise EvaluationError.of(
                "the values of `arange` are not those of its attributes",
                expected=f"{promised} elements",
                found=f"{extent}",
            )
    return (extent,)


def _numbers(*values: np.ndarray) -> list[float]:
    return [int(v) if dtypes.is_integer(v.dtype.name) else float(v) for v in values]


def _arange_compute(
    first: te.Tensor, last: te.Tensor, distance: te.Tensor, out: te.Spec, **_: Any
) -> te.Tensor:
    whole = dtypes.is_integer(first.dtype) and dtypes.is_integer(distance.dtype)
    counted = "int64" if whole else "float64"

    def element(i: te.Expr) -> te.Expr:
        start, step = (te.cast(number[()], counted) for number in (first, distance))
        return te.cast(te.cast(i, counted) * step + start, out.dtype)

    return te.compute(out.shape, element)


def _steps_between(start: te.Expr, stop: te.Expr, step: te.Expr) -> te.Expr:
    """The number of steps from start to stop, exclusive. The distance is unsigned, so that it fits
    into 64 bits; the result saturates at the largest size."""
    without_sign = all(one.dtype in dtypes.UNSIGNED for one in (start, stop))
    kind = "uint64" if without_sign else "int64"
    start, stop = te.cast(start, kind), te.cast(stop, kind)
    forward = te.not_equal(step, 0) if step.dtype in dtypes.UNSIGNED else step > 0
    low, high = te.select(forward, start, stop), te.select(forward, stop, start)
    distance = te.cast(high, "uint64") - te.cast(low, "uint64")
    wide = te.cast(step, "uint64")
    each = te.select(forward, wide, te.const(0, "uint64") - wide)
    most = te.const(LARGEST_SIZE - 1, "uint64")
    steps = te.minimum((distance - 1) // each, most)
    return te.select(low < high, te.index(steps) + 1, te.index(0))


def _arange_extents(
    first: te.Tensor,
    last: te.Tensor,
    distance: te.Tensor,
    need: Callable[..., None],
    **_: Any,
) -> tuple[Sequence[te.Scalar], ...]:
    numbers = [tensor[()] for tensor in (first, last, distance)]
    if all(dtypes.is_integer(number.dtype) for number in numbers):
        step = te.index(numbers[2])
        need(te.not_equal(step, 0), "the step is zero", "a step other than 0", "0")
        return ((_steps_between(*numbers),),)
    start, stop, step = (te.cast(number, "float64") for number in numbers)
    is_some = te.not_equal(step, te.const(0.0, "float64"))
    need(is_some, "the step is zero", "a step other than 0", "0")
    for number in (start, stop, step):
        finite = te.every(number > -math.inf, number < math.inf)
        bits = te.bitcast(number, INDEX)
        need(finite, "it never ends", "finite numbers", REAL_VALUE, (bits, 0))
    steps = call("ceil", (stop - start) / step)
    return ((te.maximum(te.index(steps), 0),),)


def arange(
    start: Expr, stop: Expr | None = None, step: Expr | None = None, dtype: str = "float32"
) -> Call:
    """start, start + step, … up to stop, exclusive. With one expression, it is the stop and 0 the
    start."""
    if stop is None:
        start, stop = const(0, dtype), start
    step = const(1, dtype) if step is None else step
    args = tuple(map(as_expr, (start, stop, step)))
    known = [arg.data.item() if isinstance(arg, Constant) else None for arg in args]
    return ARANGE(*args, start=known[0], stop=known[1], step=known[2], dtype=dtype)


ARANGE = define(
    "arange",
    doc="start, start + step, start + 2 * step and so on, up to the end, exclusive. There are "
    "ceil((end - start) / step) of them, none if that is negative; a step of 0 is an error.",
    arguments=[
        ("start", "the first value, a scalar"),
        ("end", "the end, exclusive, a scalar"),
        ("step", "the distance, a scalar"),
    ],
    attrs=ArangeAttrs,
    relation=_arange_type,
    reference=_arange,
    compute=_arange_compute,
    extents=_arange_extents,
    runtime_shape=_arange_shape,
    helper=arange,
    samples=[
        sample(
            *(np.array(v, "float32") for v in (1.0, 5.5, 1.5)),
            start=1.0,
            stop=5.5,
            step=1.5,
            attrs={"dtype": "float32"},
        ),
        sample(
            *(np.array(v, "int32") for v in (5, -5, -3)),
            start=5,
            stop=-5,
            step=-3,
            attrs={"dtype": "int64"},
        ),
        sample(*(np.array(v, "int32") for v in (0, 4, 1)), attrs={"dtype": "int32"}),
    ],
    gradient="it has the values of a range, which are constants",
)

# --- one hot -----------------------------------------------------------------------------------


@attrs
class OneHotAttrs(Attrs):
    """depth: the extent of the new axis
    axis: its position; -1 is the end
    dtype: the element type of the result; None is that of the values
    """

    depth: int = 1
    axis: int = -1
    dtype: DType | None = None


def _one_hot_type(site: Site) -> Type | None:
    """The shape of indices with `depth` inserted at `axis`."""
    site.require_elements(0, INTEGER)
    indices, on = site.tensor(0), site.tensor(1, rank=0)
    site.tensor(2, rank=0)
    known = site.attrs
    if indices is None or (on is None and known.dtype is None):
        return None
    site.require(known.depth >= 0, "`depth` is negative", "0 or more", str(known.depth))
    axis = site.axis(known.axis, len(indices.shape) + 1)
    shape = (*indices.shape[:axis], known.depth, *indices.shape[axis:])
    return TensorType(shape, known.dtype or on.dtype)  # type: ignore[union-attr]


def _one_hot(
    indices: np.ndarray,
    on_value: np.ndarray,
    off_value: np.ndarray,
    depth: int,
    axis: int,
    dtype: str | None,
) -> np.ndarray:
    dtype = dtype or dtypes.canonical(on_value.dtype)
    axis %= indices.ndim + 1
    positions = np.arange(depth).reshape(-1, *(1,) * (indices.ndim - axis))
    hot = np.expand_dims(indices.astype(np.int64), axis) == positions
    return np.where(hot, convert(on_value, dtype), convert(off_value, dtype))


def one_hot_compute(
    indices: te.Tensor, on_value: te.Tensor, off_value: te.Tensor, out: te.Spec, axis: int, **_: Any
) -> te.Tensor:
    """`on_value` at one position along the new axis, `off_value` elsewhere."""
    new = axis % len(out.shape)
    on, off = (te.cast(value[()], out.dtype) for value in (on_value, off_value))

    def element(*i: te.Expr) -> te.Expr:
        named = te.index(indices[(*i[:new], *i[new + 1 :])])
        return te.select(te.equal(named, i[new]), on, off)

    return te.compute(out.shape, element)


def one_hot(
    indices: Expr,
    on_value: Expr,
    off_value: Expr,
    depth: int | Expr,
    axis: int = -1,
    dtype: str = "",
) -> Call:
    """One-hot encoding along a new axis of `depth` elements, which may be a scalar tensor."""
    if is_known(depth):
        return ONE_HOT(indices, on_value, off_value, depth=depth, axis=axis, dtype=dtype)
    return get("dyn.one_hot")(indices, on_value, off_value, depth, axis=axis, dtype=dtype)


ONE_HOT = define(
    "one_hot",
    doc="on_value at the position of each index along a new axis, off_value elsewhere; an index "
    "outside of [0, depth) has none.",
    arguments=[
        ("indices", "positions, integers"),
        ("on_value", "value at the position, a scalar"),
        ("off_value", "value elsewhere, a scalar"),
    ],
    attrs=OneHotAttrs,
    relation=_one_hot_type,
    reference=_one_hot,
    compute=one_hot_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=one_hot,
    samples=[
        sample(Tensor((2, 3), "int32", -1, 5), (), (), depth=4),
        sample(Tensor((2, 3), "int64", 0, 5), (), (), depth=5, axis=0, attrs={"dtype": "int8"}),
        sample(Tensor((), "int32", 0, 2), (), (), depth=2, axis=-1),
    ],
    gradient=_one_hot_gradient,
)
