"""Quantized elementwise functions and softmax.

Each is computed in float64 and rounded once; for 8-bit integers it is a table of 256 entries.
`leaky_relu`, which only scales, is computed with integers by default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr
from relay.ir.types import Type
from relay.op.building import layout_rules
from relay.op.building.scalars import Function
from relay.op.facts import Facts
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.nn.activation import SoftmaxAttrs, exact_softmax
from relay.op.nn.activation import softmax as real_softmax
from relay.op.opdef import Compute, FusionKind, OpDef, Sample, Tensor, define, sample
from relay.op.qnn import parameters as qnn
from relay.op.qnn import words
from relay.op.qnn.fixed_point import centered, saturated, scaled
from relay.op.relations import same_type_of
from relay.op.site import Site
from relay.op.tensor import unary

_ARGUMENTS = [
    ("x", "quantized integers"),
    ("scale", "the scale of x"),
    ("zero_point", "the zero point of x"),
    *qnn.PARAMETERS[2:],
]

_same_type = same_type_of(qnn.QUANTIZED)


def _unary_type(site: Site) -> Type | None:
    """The type of x."""
    ty = _same_type(site)
    return ty if qnn.parameters_known(site, (1, 3), (2, 4)) else None


def _on_integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reference of a function on quantized integers."""

    def reference(x: np.ndarray, *parameters: np.ndarray, **known: Any) -> Any:
        scale, zero_point, new_scale, new_zero_point = (p.reshape(()) for p in parameters)
        result = function(qnn.real(x, scale, zero_point), **known)
        return qnn.quantized(result, new_scale, new_zero_point, x.dtype.name)

    return reference


# --- elementwise -----------------------------------------------------------------------------


def _samples(scale: float, output_scale: float, **known: Any) -> list[Sample]:
    """All 8-bit values, and a few wider ones."""
    usual = *qnn.affine(scale, -5), *qnn.affine(output_scale, 7)
    plain = *qnn.affine(scale, 0), *qnn.affine(output_scale, 0)
    fine = *qnn.affine(scale / 9, 0), *qnn.affine(output_scale / 9, -3)
    return [
        sample(np.arange(-128, 128, dtype="int8"), *usual, **known),
        sample(np.arange(256, dtype="uint8"), *plain, **known),
        sample(Tensor((2, 3), "int16", -999, 999), *fine, **known),
        sample(Tensor((), "int32", -9, 9), *plain, **known),
        sample(Tensor((0,), "int8"), *plain, **known),
    ]


def _element_by_element(function: Function) -> Compute:
    """The compute of a function; 8-bit integers use a lookup table."""

    def compute(x: te.Tensor, *parameters: te.Tensor, out: te.Spec) -> te.Tensor:
        old, zero, new_scale, new_zero = map(qnn.parameter_at, parameters)

        def result(number: te.Expr) -> te.Expr:
            value = function(qnn.real_element(number, old, zero))
            return qnn.quantized_element(value, new_scale, new_zero, out.dtype)

        if te.width(x.dtype) > 8:
            return te.compute(out.shape, lambda *i: result(x[i]))
        lowest = int(te.lowest(x.dtype).value)
        table = te.compute((256,), lambda k: result(k + lowest), "table")
        return te.compute(out.shape, lambda *i: table[te.index(x[i]) - lowest])

    return compute


def _define(
    name: str,
    doc: str,
    function: Callable[..., Any] | OpDef,
    scalar: Function,
    scale: float,
    output_scale: float,
) -> OpDef:
    values = function.reference if isinstance(function, OpDef) else function
    assert values is not None
    facts: Facts = {"gradient": INTEGER_ARITHMETIC, "layout": layout_rules.same_form()}
    if isinstance(function, OpDef):
        facts["quantizes"] = function.name
    return define(
        f"qnn.{name}",
        doc=doc,
        arguments=_ARGUMENTS,
        relation=_unary_type,
        reference=_on_integers(values),
        compute=_element_by_element(scalar),
        fusion=FusionKind.ELEMWISE,
        samples=_samples(scale, output_scale),
        **facts,
    )


def _hardswish(x: np.ndarray) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6


def _hardswish_element(x: te.Expr) -> te.Expr:
    return x * te.minimum(te.maximum(x + 3.0, 0.0), 6.0) / 6.0


def _of(name: str) -> Function:
    return lambda x: te.call(name, x)


sqrt = _define(
    "sqrt", "The square root, and 0 for negative numbers.", unary.sqrt, _of("sqrt"), 0.05, 0.02
)
rsqrt = _define(
    "rsqrt",
    "1 / sqrt(x): the highest number for 0, and 0 for negative numbers.",
    unary.rsqrt,
    _of("rsqrt"),
    0.05,
    0.02,
)
exp = _define("exp", "e to the power of x.", unary.exp, _of("exp"), 0.02, 0.05)
log = _define(
    "log",
    "The natural logarithm: the lowest number for 0, and 0 for negative numbers.",
    unary.log,
    _of("log"),
    0.05,
    0.03,
)
erf = _define("erf", "The error function.", unary.erf, _of("erf"), 0.02, 0.01)
sigmoid = _define("sigmoid", "1 / (1 + exp(-x)).", unary.sigmoid, _of("sigmoid"), 0.05, 1 / 256)
tanh = _define("tanh", "The hyperbolic tangent.", unary.tanh, _of("tanh"), 0.03, 1 / 128)
hardswish = _define(
    "hardswish", "x * min(max(x + 3, 0), 6) / 6.", _hardswish, _hardswish_element, 0.05, 0.04
)
abs_ = _define("abs", "The absolute value.", unary.abs_, te.absolute, 0.05, 0.03)


# --- leaky relu --------------------------------------------------------------------------------


@attrs
class LeakyReluAttrs(Attrs):
    """alpha: the slope below 0
    compute_dtype: "int64" computes with integers; "float32" with dequantized values, rounded once,
        ties to even; "None" is "int64"
    """

    alpha: float = 0.25
    compute_dtype: Literal["None", "int64", "float32"] = "None"


def _leaky_relu(x: np.ndarray, *parameters: np.ndarray, alpha: float, compute_dtype: str) -> Any:
    scale, zero_point, new_scale, new_zero_point = (p.reshape(()) for p in parameters)
    values = centered(x, zero_point)
    if compute_dtype == "float32":
        numbers = values.astype(np.float32) * scale
        bent = np.where(numbers < 0, numbers * np.float32(alpha), numbers)
        return qnn.quantized(bent, new_scale, new_zero_point, x.dtype.name)[0]
    factor = scale.astype(np.float64) / new_scale.astype(np.float64)
    above, below = scaled(values, factor), scaled(values, factor * alpha)
    return saturated(np.where(values < 0, below, above) + new_zero_point, x.dtype.name)


def _leaky_relu_compute(
    x: te.Tensor, *parameters: te.Tensor, out: te.Spec, alpha: float, compute_dtype: str
) -> te.Tensor:
    scale, zero_point, new_scale, new_zero_point = map(qnn.parameter_at, parameters)

    def real_result(*i: te.Expr) -> te.Expr:
        number = qnn.distance(x[i], zero_point) * scale
        bent = te.select(number < 0.0, number * te.const(alpha, number.dtype), number)
        return qnn.quantized_element(bent, new_scale, new_zero_point, out.dtype)

    if compute_dtype == "float32":
        return te.compute(out.shape, real_result)
    quotient = te.cast(scale, "float64") / te.cast(new_scale, "float64")
    above, below = words.factors((), lambda: quotient), words.factors((), lambda: quotient * alpha)

    def element(*i: te.Expr) -> te.Expr:
        value = words.centered(x[i], zero_point)
        found = te.select(value < 0, words.scaled(value, below()), words.scaled(value, above()))
        return words.saturated(found + te.cast(new_zero_point, "int64"), out.dtype)

    return te.compute(out.shape, element)


def leaky_relu(
    x: Expr,
    alpha: float,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    compute_dtype: str = "None",
) -> Call:
    """The input, with negative values multiplied by `alpha`."""
    parameters = input_scale, input_zero_point, output_scale, output_zero_point
    return LEAKY_RELU(x, *parameters, alpha=alpha, compute_dtype=compute_dtype)


LEAKY_RELU = define(
    "qnn.leaky_relu",
    gradient=INTEGER_ARITHMETIC,
    doc="The input, with negative values multiplied by alpha. The quotient of the scales, and its "
    "product with alpha, are multiplied in fixed point, with ties rounded up, unless "
    "`compute_dtype` is float32.",
    arguments=[("data", "quantized integers"), *qnn.PARAMETERS],
    attrs=LeakyReluAttrs,
    relation=_unary_type,
    reference=_leaky_relu,
    compute=_leaky_relu_compute,
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.same_form(),
    helper=leaky_relu,
    samples=[
        *_samples(0.05, 0.04),
        *_samples(0.02, 0.05, alpha=0.1),
        *_samples(0.02, 0.05, alpha=0.1, compute_dtype="float32"),
    ],
)

# --- softmax -----------------------------------------------------------------------------------


def _softmax_type(site: Site) -> Type | None:
    """The type of x; the axis must exist."""
    if (data := site.tensor(0)) is not None:
        site.axis(site.attrs.axis, len(data.shape))
    return _unary_type(site)


def _softmax_compute(x: te.Tensor, *parameters: te.Tensor, out: te.Spec, axis: int) -> te.Tensor:
    old, zero, new_scale, new_zero = map(qnn.parameter_at, parameters)
    numbers = te.compute(out.shape, lambda *i: qnn.real_element(x[i], old, zero), "real")
    shares = exact_softmax(numbers, te.Spec(out.shape, "float64"), axis)
    return te.compute(
        out.shape, lambda *i: qnn.quantized_element(shares[i], new_scale, new_zero, out.dtype)
    )


assert real_softmax.reference is not None

softmax = define(
    "qnn.softmax",
    gradient=INTEGER_ARITHMETIC,
    doc="exp(x) divided by its sum along an axis.",
    arguments=_ARGUMENTS,
    attrs=SoftmaxAttrs,
    relation=_softmax_type,
    reference=_on_integers(real_softmax.reference),
    compute=_softmax_compute,
    samples=[
        sample(Tensor((3, 5), "int8", -128, 128), *qnn.affine(0.1, 4), *qnn.affine(1 / 256, -128)),
        sample(
            Tensor((3, 5, 2), "uint8", 0, 256), *qnn.affine(0.3, 9), *qnn.affine(1 / 256, 0), axis=1
        ),
        sample((0, 3), *qnn.affine(1, 0), *qnn.affine(1, 0), dtype="int8"),
    ],
)
