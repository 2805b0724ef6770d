"""Elementwise functions of one tensor."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr
from relay.op import relations
from relay.op.building import layout_rules, scalars
from relay.op.building.elements import elementwise
from relay.op.building.numerics import is_integral, limits, rounded_once
from relay.op.building.scalars import Function, is_float
from relay.op.facts import EXPENSIVE, Facts, Precision, Sign, Trait, always, at_least_zero
from relay.op.gradient_rules import DISCRETE, NO_FLOATS, Backward, build, flat, slope
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.site import BITS, BOOLEAN, Relation


def _unary(
    name: str,
    doc: str,
    relation: Relation,
    reference: Any,
    scalar: Function,
    samples: tuple[Sample, ...],
    **facts: Unpack[Facts],
) -> OpDef:
    return define(
        name,
        doc=doc,
        arguments=[("data", "the input")],
        relation=relation,
        reference=rounded_once(reference),
        compute=elementwise(scalar),
        fusion=FusionKind.ELEMWISE,
        samples=samples,
        **facts,
    )


def _function(name: str) -> Function:
    """The mathematical function of that name."""
    return lambda data: te.call(name, data)


def _float(
    name: str,
    doc: str,
    reference: Any,
    low: float = -2.0,
    high: float = 2.0,
    **facts: Unpack[Facts],
) -> OpDef:
    """A function of floats; [low, high) is part of its domain."""
    samples = (
        sample((2, 3), low=low, high=high),
        sample((), dtype="float64", low=low, high=high),
        sample((5,), dtype="float16", low=low, high=high),
        sample((0, 2), dtype="bfloat16", low=low, high=high),
    )
    scalar = _function(name)
    facts = {"cost": EXPENSIVE, **facts}
    return _unary(name, doc, relations.same_type_float, reference, scalar, samples, **facts)


def _numeric(
    name: str, doc: str, reference: Any, scalar: Function, **facts: Unpack[Facts]
) -> OpDef:
    samples = (
        sample((2, 3)),
        sample((), dtype="int32", low=-9, high=9),
        sample((4,), dtype="bfloat16"),
        sample((2, 0), dtype="uint8", high=9),
    )
    facts = {"precision": Precision.FOLLOW, **facts}
    return _unary(name, doc, relations.same_numeric_type, reference, scalar, samples, **facts)


def _test(name: str, doc: str, reference: Any) -> OpDef:
    def scalar(data: te.Expr) -> te.Expr:
        # integers are finite
        return te.call(name, data) if is_float(data) else te.const(name == "isfinite", "bool")

    values = np.array([[1.0, np.nan, -np.inf], [0.0, np.inf, -3.5]], "float32")
    samples = (sample(values), sample(values.astype("float16")), sample((2,), dtype="int32"))
    relation = relations.with_dtype("bool")
    facts: Facts = {"precision": Precision.FOLLOW, "gradient": DISCRETE}
    return _unary(name, doc, relation, reference, scalar, samples, **facts)


_ANYTHING = (sample((2, 3)), sample((), dtype="int8"), sample((4, 0), dtype="bool"))


# --- exponentials and logarithms ---------------------------------------------------------------

exp = _float(
    "exp",
    "e to the power of data.",
    np.exp,
    sign=always(Sign.POSITIVE),
    gradient=slope(lambda site, x, y: y),
)
log = _float(
    "log",
    "The natural logarithm.",
    np.log,
    0.1,
    9.0,
    gradient=slope(lambda site, x, y: site.number(1) / x),
)
log2 = _float(
    "log2",
    "The logarithm to base 2.",
    np.log2,
    0.1,
    9.0,
    gradient=slope(lambda site, x, y: site.number(1 / math.log(2)) / x),
)
log10 = _float(
    "log10",
    "The logarithm to base 10.",
    np.log10,
    0.1,
    9.0,
    gradient=slope(lambda site, x, y: site.number(1 / math.log(10)) / x),
)
sqrt = _float(
    "sqrt",
    "The square root.",
    np.sqrt,
    0.0,
    9.0,
    precision=Precision.FOLLOW,
    sign=at_least_zero,
    gradient=slope(lambda site, x, y: site.number(0.5) / y),
)
rsqrt = _float(
    "rsqrt",
    "1 / sqrt(data).",
    lambda data: 1 / np.sqrt(data),
    0.1,
    9.0,
    sign=always(Sign.POSITIVE),
    gradient=slope(lambda site, x, y: site.number(-0.5) * (y * (y * y))),
)


def _sigmoid(data: np.ndarray) -> Any:
    # without overflow of exp
    return np.exp(np.minimum(data, 0)) / (1 + np.exp(-np.abs(data)))


sigmoid = _float(
    "sigmoid",
    "1 / (1 + exp(-data)).",
    _sigmoid,
    -5.0,
    5.0,
    precision=Precision.FOLLOW,
    sign=always(Sign.POSITIVE),
    gradient=slope(lambda site, x, y: y * (site.number(1) - y)),
)


def _erf(data: np.ndarray) -> Any:
    return np.vectorize(math.erf, otypes=[data.dtype])(data)


def _erf_slope(site: Backward, x: Expr, y: Expr) -> Expr:
    return site.number(2 / math.sqrt(math.pi)) * exp(-(x * x))


erf = _float(
    "erf",
    "The error function, 2 / sqrt(pi) * integral of exp(-t * t) to data.",
    _erf,
    precision=Precision.FOLLOW,
    gradient=slope(_erf_slope),
)

# --- trigonometry ------------------------------------------------------------------------------

sin = _float(
    "sin",
    "The sine, of radians.",
    np.sin,
    precision=Precision.FOLLOW,
    gradient=slope(lambda site, x, y: cos(x)),
)
cos: OpDef = _float(
    "cos",
    "The cosine, of radians.",
    np.cos,
    precision=Precision.FOLLOW,
    gradient=slope(lambda site, x, y: -sin(x)),
)
tan = _float(
    "tan",
    "The tangent, of radians.",
    np.tan,
    -1.0,
    1.0,
    gradient=slope(lambda site, x, y: site.number(1) + y * y),
)
asin = _float(
    "asin",
    "The angle in [-pi/2, pi/2] whose sine is data.",
    np.arcsin,
    -1.0,
    1.0,
    gradient=slope(lambda site, x, y: rsqrt(site.number(1) - x * x)),
)
acos = _float(
    "acos",
    "The angle in [0, pi] whose cosine is data.",
    np.arccos,
    -1.0,
    1.0,
    gradient=slope(lambda site, x, y: -rsqrt(site.number(1) - x * x)),
)
atan = _float(
    "atan",
    "The angle in (-pi/2, pi/2) whose tangent is data.",
    np.arctan,
    precision=Precision.FOLLOW,
    gradient=slope(lambda site, x, y: site.number(1) / (x * x + site.number(1))),
)
sinh = _float(
    "sinh",
    "The hyperbolic sine.",
    np.sinh,
    gradient=slope(lambda site, x, y: cosh(x)),
)
cosh: OpDef = _float(
    "cosh",
    "The hyperbolic cosine.",
    np.cosh,
    gradient=slope(lambda site, x, y: sinh(x)),
)
tanh = _float(
    "tanh",
    "The hyperbolic tangent.",
    np.tanh,
    precision=Precision.FOLLOW,
    gradient=slope(lambda site, x, y: site.number(1) - y * y),
)
asinh = _float(
    "asinh",
    "The number whose hyperbolic sine is data.",
    np.arcsinh,
    gradient=slope(lambda site, x, y: rsqrt(x * x + site.number(1))),
)
acosh: OpDef = _float(
    "acosh",
    "The number >= 0 whose hyperbolic cosine is data.",
    np.arccosh,
    1.0,
    9.0,
    gradient=slope(lambda site, x, y: rsqrt(x * x - site.number(1))),
)
atanh = _float(
    "atanh",
    "The number whose hyperbolic tangent is data.",
    np.arctanh,
    -0.9,
    0.9,
    gradient=slope(lambda site, x, y: site.number(1) / (site.number(1) - x * x)),
)

# --- rounding and sign -------------------------------------------------------------------------


def _absolute(data: te.Expr) -> te.Expr:
    return data if data.dtype in dtypes.UNSIGNED else te.absolute(data)


abs_ = _numeric(
    "abs",
    "The absolute value; the lowest integer stays itself.",
    np.abs,
    _absolute,
    traits=Trait.IDEMPOTENT | Trait.HOMOGENEOUS,
    sign=at_least_zero,
    gradient=slope(lambda site, x, y: sign(x)),
)
negative = _numeric(
    "negative",
    "-data; integers wrap.",
    np.negative,
    operator.neg,
    traits=Trait.INVOLUTION | Trait.LINEAR,
    gradient=slope(lambda site, x, y: site.number(-1)),
)
sign: OpDef = _numeric(
    "sign",
    "-1, 0 or 1 by the sign; NaN stays NaN.",
    np.sign,
    scalars.sign,
    traits=Trait.IDEMPOTENT,
    gradient=flat,
)


def _rounding(name: str, doc: str, function: Any) -> OpDef:
    """Rounding, which is the identity on integers."""
    return _numeric(
        name,
        doc,
        lambda data: data if is_integral(data) else function(data),
        lambda data: te.call(name, data) if is_float(data) else data,
        traits=Trait.ROUNDS,
        gradient=flat,
    )


floor = _rounding("floor", "The largest integer <= data.", np.floor)
ceil = _rounding("ceil", "The smallest integer >= data.", np.ceil)
trunc = _rounding("trunc", "data truncated to an integer.", np.trunc)
round_ = _rounding("round", "The nearest integer, ties to even.", np.rint)

# --- bits and bools ----------------------------------------------------------------------------

isnan = _test("isnan", "Whether an element is NaN.", np.isnan)
isinf = _test("isinf", "Whether an element is infinite, of either sign.", np.isinf)
isfinite = _test("isfinite", "Whether an element is neither NaN nor infinite.", np.isfinite)
logical_not = _unary(
    "logical_not",
    "Not data.",
    relations.same_type_of(BOOLEAN),
    np.logical_not,
    operator.invert,
    (sample((2, 3), dtype="bool"), sample((), dtype="bool")),
    traits=Trait.INVOLUTION,
    gradient=NO_FLOATS,
)
bitwise_not = _unary(
    "bitwise_not",
    "Every bit flipped; for bool that is `logical_not`.",
    relations.same_type_of(BITS),
    np.invert,
    operator.invert,
    (sample((2, 3), dtype="int32"), sample((), dtype="uint8"), sample((4,), dtype="bool")),
    traits=Trait.INVOLUTION,
    gradient=NO_FLOATS,
)

# --- the same shape, other values --------------------------------------------------------------

copy = _unary(
    "copy",
    "A tensor with the same elements.",
    relations.same_type,
    np.copy,
    lambda data: data,
    _ANYTHING,
    traits=Trait.MOVES,
    gradient=lambda site: [site.gradient],
)
stop_gradient = _unary(
    "stop_gradient",
    "data, as a constant for differentiation.",
    relations.same_type,
    np.copy,
    lambda data: data,
    _ANYTHING,
    traits=Trait.MOVES,
    gradient=flat,
)
zeros_like = _unary(
    "zeros_like",
    "Zeros of the same shape and type.",
    relations.same_type,
    np.zeros_like,
    lambda data: te.const(0, data.dtype),
    _ANYTHING,
    precision=Precision.FOLLOW,
    gradient=flat,
)
ones_like = _unary(
    "ones_like",
    "Ones of the same shape and type.",
    relations.same_type,
    np.ones_like,
    lambda data: te.const(1, data.dtype),
    _ANYTHING,
    precision=Precision.FOLLOW,
    sign=always(Sign.POSITIVE),
    gradient=flat,
)


@attrs
class ClipAttrs(Attrs):
    """Bounds of the result.

    a_min: the lower bound
    a_max: the upper bound
    """

    a_min: float
    a_max: float


def _bounds(dtype: np.dtype, a_min: float, a_max: float) -> tuple[float, float]:
    """The bounds as elements of that type."""
    if not dtypes.is_integer(dtype.name):
        return a_min, a_max
    lowest, highest = limits(dtype)
    # bounds may be infinite
    low = math.ceil(min(a_min, highest)) if a_min > lowest else lowest
    high = math.floor(max(a_max, lowest)) if a_max < highest else highest
    return low, high


def _clip(data: np.ndarray, a_min: float, a_max: float) -> Any:
    low, high = _bounds(data.dtype, a_min, a_max)
    return np.minimum(np.maximum(data, data.dtype.type(low)), data.dtype.type(high))


def _clip_element(data: te.Expr, a_min: float, a_max: float) -> te.Expr:
    low, high = _bounds(dtypes.to_numpy(data.dtype), a_min, a_max)
    return te.minimum(te.maximum(data, low), high)


def clip(a: Expr, a_min: float, a_max: float) -> Call:
    """min(max(a, a_min), a_max), elementwise; NaN stays NaN."""
    return CLIP(a, a_min=a_min, a_max=a_max)


def _clip_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient where data is within the bounds, which belong to it."""
    (data,) = site.args
    low, high = (site.number(bound) for bound in (site.attrs.a_min, site.attrs.a_max))
    inside = build(
        "logical_and", build("greater_equal", data, low), build("less_equal", data, high)
    )
    return [build("where", inside, site.gradient, zeros_like(site.gradient))]


def _clip_sign(signs: Sequence[Sign], attrs: Any) -> Sign:
    low: float = attrs.a_min
    bound = Sign.POSITIVE if low > 0 else Sign.NOT_NEGATIVE if low == 0 else Sign.UNKNOWN
    return max(signs[0], bound)


CLIP = define(
    "clip",
    doc="min(max(data, a_min), a_max); NaN stays NaN. Bounds of integers are rounded inwards.",
    arguments=[("data", "the input")],
    attrs=ClipAttrs,
    relation=relations.same_numeric_type,
    reference=rounded_once(_clip),
    compute=elementwise(scalars.rounded_once(_clip_element)),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.elementwise,
    helper=clip,
    precision=Precision.FOLLOW,
    sign=_clip_sign,
    samples=[
        sample((2, 3), a_min=-1.0, a_max=0.5),
        sample((5,), dtype="int8", low=-100, high=100, a_min=-6.5, a_max=6.0),
        sample((), dtype="float16", a_min=0.0, a_max=float("inf")),
    ],
    gradient=_clip_gradient,
)
