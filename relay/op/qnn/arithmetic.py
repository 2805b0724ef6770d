"""Quantized add, subtract and multiply with broadcasting, and concatenate.

They are computed with integers, where ties round up, unless `compute_dtype` is float32: then the
results are those of `dequantize`, the operation, and `quantize`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from relay import te
from relay.immutable import frozen
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import Type
from relay.op.attributes import with_attrs
from relay.op.building import layout_rules
from relay.op.building.elements import Indices, stretched_index
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.opdef import Compute, FusionKind, OpDef, define, sample
from relay.op.qnn import parameters as qnn
from relay.op.qnn import words
from relay.op.qnn.convert import rescaled, rescaled_tensor
from relay.op.qnn.fixed_point import centered, saturated, scaled, times
from relay.op.relations import broadcast_types
from relay.op.site import Site
from relay.op.tensor import binary
from relay.op.tensor.rearrange import JoinAttrs, joined
from relay.op.tensor.rearrange import concatenate as join

# --- binary operators ------------------------------------------------------------------------


@attrs
class BinaryAttrs(Attrs):
    """lhs_axis: the axis of lhs that its scale and zero point belong to, if they are per axis
    rhs_axis: the axis of rhs that its scale and zero point belong to, if they are per axis
    compute_dtype: "int64" computes with integers; "float32" with dequantized values, rounded once,
        ties to even; "None" is "int64"
    """

    lhs_axis: int = -1
    rhs_axis: int = -1
    compute_dtype: Literal["None", "int64", "float32"] = "None"


def _binary_type(site: Site) -> Type | None:
    """The broadcast of lhs and rhs; their element types must agree."""
    for index in (0, 1):
        site.require_elements(index, qnn.QUANTIZED)
    lhs, rhs = site.tensor(0), site.tensor(1)
    if lhs is None or rhs is None:
        return None
    site.require_same_dtype(lhs, rhs)
    known = [
        qnn.parameters_known(site, (2,), (3,), qnn.axis_extent(site, lhs, "lhs_axis", 2, 3)),
        qnn.parameters_known(site, (4,), (5,), qnn.axis_extent(site, rhs, "rhs_axis", 4, 5)),
        qnn.parameters_known(site, (6,), (7,)),
    ]
    return broadcast_types(site, lhs, rhs) if all(known) else None


# (integers and scales of both operands, output scale) -> integers at the output scale
Combine = Callable[[Any, Any, Any, Any, Any], Any]
# real values of both operands -> real values
OnReals = Callable[[Any, Any], Any]


def _add(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, scale: Any) -> Any:
    return scaled(lhs, lhs_scale / scale) + scaled(rhs, rhs_scale / scale)


def _subtract(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, scale: Any) -> Any:
    return scaled(lhs, lhs_scale / scale) - scaled(rhs, rhs_scale / scale)


def _multiply(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, scale: Any) -> Any:
    return scaled(times(lhs, rhs), lhs_scale * rhs_scale / scale)


def _on_integers(combine: Combine, on_reals: OnReals) -> Callable[..., Any]:
    def reference(
        lhs: np.ndarray, rhs: np.ndarray, *parameters: np.ndarray, known: BinaryAttrs
    ) -> Any:
        left = lhs, *(qnn.spread(p, lhs.ndim, known.lhs_axis) for p in parameters[:2])
        right = rhs, *(qnn.spread(p, rhs.ndim, known.rhs_axis) for p in parameters[2:4])
        scale, zero_point = (p.reshape(()) for p in parameters[4:])
        if known.compute_dtype == "float32":
            reals = (
                centered(x, zero).astype(np.float32) * factor for x, factor, zero in (left, right)
            )
            return qnn.quantized(on_reals(*reals), scale, zero_point, lhs.dtype.name)[0]
        result = combine(
            *(centered(x, zero) for x, _, zero in (left, right)),
            *(factor.astype(np.float64) for factor in (left[1], right[1], scale)),
        )
        return saturated(result + zero_point, lhs.dtype.name)

    return reference


@frozen
class _Side:
    """A quantized operand: data, its scale and zero point, and their axis."""

    data: te.Tensor
    parameters: tuple[te.Tensor, ...]
    axis: int

    @property
    def scale(self) -> te.Tensor:
        return self.parameters[0]

    def value(self, own: Indices) -> te.Expr:
        """The element minus its zero point."""
        _, zero = qnn.parameters_at(self.parameters, own, self.axis)
        return words.centered(self.data[own], zero)

    def real(self, own: Indices) -> te.Expr:
        """The dequantized element.

        The bitcasts prevent an fma, which would round once less than `dequantize` does: a result
        near a tie would become another integer.
        """
        scale, zero = qnn.parameters_at(self.parameters, own, self.axis)
        number = qnn.distance(self.data[own], zero) * scale
        return te.bitcast(te.bitcast(number, f"int{te.width(number.dtype)}"), number.dtype)

    def scale_at(self, *channel: te.Expr) -> te.Expr:
        return te.cast(qnn.parameter_at(self.scale, *channel), "float64")

    def channel(self, own: Indices) -> Indices:
        return qnn.channel_of(own, self.axis, self.scale)


# (lhs, rhs, output scale) -> the integer at indices of both operands
Combined = Callable[[_Side, _Side, te.Expr], Callable[[Indices, Indices], te.Expr]]


def _sum(sign: int) -> Combined:
    def combined(lhs: _Side, rhs: _Side, scale: te.Expr) -> Callable[[Indices, Indices], te.Expr]:
        left, right = map(_rounded, (lhs, rhs), (scale, scale))
        return lambda i, j: left(i) + right(j) if sign > 0 else left(i) - right(j)

    return combined


def _rounded(side: _Side, scale: te.Expr) -> Callable[[Indices], te.Expr]:
    """The integers of an operand, rounded to the output scale."""
    factor = words.factors(qnn.channels_of(side.scale), lambda *c: side.scale_at(*c) / scale)
    return lambda own: words.scaled(side.value(own), factor(*side.channel(own)))


def _product(lhs: _Side, rhs: _Side, scale: te.Expr) -> Callable[[Indices, Indices], te.Expr]:
    # both may be per axis, along different axes
    count = len(qnn.channels_of(lhs.scale))
    factor = words.factors(
        (*qnn.channels_of(lhs.scale), *qnn.channels_of(rhs.scale)),
        lambda *c: lhs.scale_at(*c[:count]) * rhs.scale_at(*c[count:]) / scale,
    )

    def element(i: Indices, j: Indices) -> te.Expr:
        whole = words.product(lhs.value(i), rhs.value(j))
        return words.scaled_long(whole, factor(*lhs.channel(i), *rhs.channel(j)))

    return element


def _elements(combined: Combined, on_reals: OnReals) -> Compute:
    def compute(
        lhs: te.Tensor, rhs: te.Tensor, *parameters: te.Tensor, out: te.Spec, known: BinaryAttrs
    ) -> te.Tensor:
        sides = (
            _Side(lhs, parameters[:2], known.lhs_axis),
            _Side(rhs, parameters[2:4], known.rhs_axis),
        )
        scale, zero_point = map(qnn.parameter_at, parameters[4:])

        def real(*i: te.Expr) -> te.Expr:
            reals = [one.real(stretched_index(one.data.shape, i, out.shape)) for one in sides]
            return qnn.quantized_element(on_reals(*reals), scale, zero_point, out.dtype)

        if known.compute_dtype == "float32":
            return te.compute(out.shape, real)
        combine = combined(*sides, te.cast(scale, "float64"))
        new_zero = te.cast(zero_point, "int64")

        def element(*i: te.Expr) -> te.Expr:
            left, right = (stretched_index(x.shape, i, out.shape) for x in (lhs, rhs))
            return words.saturated(combine(left, right) + new_zero, out.dtype)

        return te.compute(out.shape, element)

    return compute


def _define(
    name: str, doc: str, combine: Combine, combined: Combined, on_reals: OnReals, exact: OpDef
) -> OpDef:
    fine, coarse, same = qnn.affine(0.03, -5), qnn.affine(0.5, 7), qnn.affine(0.02, 5)
    return define(
        name,
        gradient=INTEGER_ARITHMETIC,
        doc=doc,
        arguments=[
            ("lhs", "quantized integers"),
            ("rhs", "quantized integers"),
            ("lhs_scale", "the scale of lhs"),
            ("lhs_zero_point", "the zero point of lhs"),
            ("rhs_scale", "the scale of rhs"),
            ("rhs_zero_point", "the zero point of rhs"),
            *qnn.PARAMETERS[2:],
        ],
        attrs=BinaryAttrs,
        relation=_binary_type,
        reference=with_attrs(BinaryAttrs, _on_integers(combine, on_reals)),
        compute=with_attrs(BinaryAttrs, _elements(combined, on_reals)),
        fusion=FusionKind.BROADCAST,
        layout=layout_rules.of_two,
        quantizes=exact.name,
        samples=[
            sample(qnn.int8(4, 5), qnn.int8(4, 5), *fine, *same, *coarse),
            sample(qnn.uint8(4, 5), qnn.uint8(5), *coarse, *coarse, *coarse),
            sample(
                qnn.int8(2, 3, 4),
                qnn.int8(3, 4),
                *qnn.affine_vectors(3),
                *qnn.affine_vectors(4),
                *same,
                lhs_axis=1,
            ),
            sample(
                qnn.int8(3, 4), qnn.int8(3, 4), *same, *qnn.affine_vectors(3), *same, rhs_axis=0
            ),
            sample((2, 1), (3,), *same, *same, *same, dtype="int16", low=-9999, high=9999),
            sample((), (2, 0), *same, *fine, *same, dtype="int8"),
            sample((9,), (9,), *same, *fine, *same, dtype="int32", low=-(2**31), high=2**31),
            sample(qnn.int8(9, 5), qnn.int8(5), *fine, *same, *coarse, compute_dtype="float32"),
            sample(
                qnn.uint8(2, 3),
                qnn.uint8(3),
                *qnn.affine_vectors(3),
                *same,
                *same,
                compute_dtype="float32",
            ),
        ],
    )


add = _define(
    "qnn.add",
    "lhs + rhs of the real values; with integers each operand is first rounded to the output "
    "scale.",
    _add,
    _sum(1),
    operator.add,
    binary.add,
)
subtract = _define(
    "qnn.subtract",
    "lhs - rhs of the real values; with integers each operand is first rounded to the output "
    "scale.",
    _subtract,
    _sum(-1),
    operator.sub,
    binary.subtract,
)
mul = _define(
    "qnn.mul",
    "lhs * rhs of the real values; the product is rounded once.",
    _multiply,
    _product,
    operator.mul,
    binary.multiply,
)

# --- concatenate -------------------------------------------------------------------------------


def _concatenate_type(site: Site) -> Type | None:
    """The sum of the extents along the axis; each part has a scale and a zero point."""
    parts, scales, zero_points = (site.tensor_tuple(index) for index in range(3))
    if parts is None or scales is None or zero_points is None:
        return None
    for index, (types, dtype) in enumerate(((scales, qnn.SCALE), (zero_points, qnn.ZERO_POINT)), 1):
        site.require(
            len(types) == len(parts),
            f"{site.argument(index)} does not fit `data`",
            f"one for each of {len(parts)} tensors",
            str(len(types)),
        )
        for ty in types:
            qnn.require_parameter(site, ty, f"a part of {site.argument(index)}", dtype)
    for part in parts:
        site.require(
            part.dtype in qnn.QUANTIZED.allowed,
            f"a part of {site.argument(0)} has the wrong element type",
            f"{qnn.QUANTIZED.name} elements",
            str(part),
        )
    assert join.relation is not None
    return join.relation(site) if qnn.parameters_known(site, (3,), (4,)) else None


def _concatenate(
    data: tuple[np.ndarray, ...],
    scales: tuple[np.ndarray, ...],
    zero_points: tuple[np.ndarray, ...],
    *output: np.ndarray,
    axis: int,
) -> Any:
    new_scale, new_zero_point = (p.reshape(()) for p in output)
    parts = []
    for part, *known in zip(data, scales, zero_points, strict=True):
        scale, zero_point = (p.reshape(()) for p in known)
        parts.append(rescaled(part, scale, zero_point, new_scale, new_zero_point, part.dtype.name))
    return np.concatenate(parts, axis)


def _concatenate_compute(
    data: tuple[te.Tensor, ...],
    scales: tuple[te.Tensor, ...],
    zero_points: tuple[te.Tensor, ...],
    *output: te.Tensor,
    out: te.Spec,
    axis: int,
) -> te.Tensor:
    axis %= len(out.shape)
    parts = [
        rescaled_tensor(part, scale, zero, *output, out=te.Spec(part.shape, out.dtype))
        for part, scale, zero in zip(data, scales, zero_points, strict=True)
    ]
    return joined([(part.shape[axis], part.__getitem__) for part in parts], out, axis)


concatenate = define(
    "qnn.concatenate",
    gradient=INTEGER_ARITHMETIC,
    doc="Concatenation along an axis, with each tensor rounded to the output scale.",
    arguments=[
        ("data", "quantized tensors"),
        ("input_scales", "the scale of each tensor"),
        ("input_zero_points", "the zero point of each tensor"),
        *qnn.PARAMETERS[2:],
    ],
    attrs=JoinAttrs,
    relation=_concatenate_type,
    reference=_concatenate,
    compute=_concatenate_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample(
            [qnn.int8(2, 3), qnn.int8(1, 3)],
            [np.float32(0.1), np.float32(0.3)],
            [np.int32(3), np.int32(-7)],
            *qnn.affine(0.2, 1),
        ),
        sample(
            [qnn.uint8(2, 3), qnn.uint8(2, 0), qnn.uint8(2, 1)],
            [np.float32(0.5)] * 3,
            [np.int32(1)] * 3,
            *qnn.affine(0.5, 1),
            axis=-1,
        ),
    ],
)
