"""Per-tensor or per-axis scales and zero points.

    real = scale * (integer - zero_point)

A scale is a positive float32, a zero point an int32; per axis they are vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.dims import Dim
from relay.ir.types import TensorType
from relay.op.building.elements import Indices, Shape, common_extent
from relay.op.building.numerics import convert
from relay.op.nn.norm import along
from relay.op.sample import Tensor
from relay.op.site import Elements, Site

FACTORS = Elements("8- or 16-bit integer", frozenset(("int8", "uint8", "int16", "uint16")))
QUANTIZED = Elements("8-, 16- or 32-bit integer", FACTORS.allowed | {"int32"})
# types that are stored, not computed with
NARROW = frozenset(name for name in (*dtypes.SIGNED, *dtypes.UNSIGNED) if 1 < dtypes.bits(name) < 8)
STORED = Elements("integer of up to 32 bits", QUANTIZED.allowed | NARROW)
SUMS = Elements("integer", frozenset((*STORED.allowed, "int64")))
ACCUMULATORS = Elements("int16, int32 or int64", frozenset(("int16", "int32", "int64")))

# the parameters of data and of the result
PARAMETERS = (
    ("input_scale", "the scale of data"),
    ("input_zero_point", "the zero point of data"),
    ("output_scale", "the scale of the result"),
    ("output_zero_point", "the zero point of the result"),
)
SCALE, ZERO_POINT = "float32", "int32"
SCALARS: tuple[tuple[Dim, ...], ...] = ((), (1,))


# --- types -------------------------------------------------------------------------------------


def parameters_known(
    site: Site, scales: tuple[int, ...], zero_points: tuple[int, ...], extent: Dim | None = None
) -> bool:
    """Check the scales and zero points among the arguments: scalars, or vectors of `extent`. False
    while one of them is unknown."""
    found = [parameter_known(site, index, SCALE, extent) for index in scales]
    found += [parameter_known(site, index, ZERO_POINT, extent) for index in zero_points]
    return all(found)


def parameter_known(site: Site, index: int, dtype: str, extent: Dim | None = None) -> bool:
    """Check one scale or zero point; False while it is unknown."""
    ty = site.tensor(index)
    if ty is not None:
        require_parameter(site, ty, site.argument(index), dtype, extent)
    return ty is not None


def require_parameter(
    site: Site, ty: TensorType, what: str, dtype: str, extent: Dim | None = None
) -> None:
    """A scale or zero point must be a scalar, or a vector of `extent`."""
    fits = ty.shape in SCALARS or (
        extent is not None and len(ty.shape) == 1 and site.stretches(ty.shape[0], extent)
    )
    if not fits or ty.dtype != dtype:
        vector = "" if extent is None else f" or {TensorType((extent,), dtype)}"
        site.fail(
            f"{what} is no {'scale' if dtype == SCALE else 'zero point'}",
            f"{TensorType((), dtype)}{vector}",
            str(ty),
        )


def axis_extent(site: Site, data: TensorType, name: str, *parameters: int) -> Dim | None:
    """The extent of the axis of per-axis parameters; None for per-tensor ones."""
    types = [site.tensor(index) for index in parameters]
    if all(ty is None or ty.shape in SCALARS for ty in types):
        return None
    return data.shape[site.axis(getattr(site.attrs, name), len(data.shape), name=name)]


def require_dtype(site: Site, dtype: str | None, kind: Elements) -> str:
    """The element type of the result, checked to be of that kind."""
    if dtype is None or dtype not in kind.allowed:
        site.fail("`out_dtype` does not fit", f"{kind.name} elements", f"out_dtype = {dtype}")
    return dtype


# --- values ------------------------------------------------------------------------------------


def spread(parameter: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A scale or zero point reshaped to broadcast against a tensor of that rank."""
    return parameter.reshape(()) if parameter.size == 1 else along(parameter, rank, axis)


def real(data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> Any:
    """Dequantized values in float64."""
    return (data.astype(np.float64) - zero_point) * scale.astype(np.float64)


def quantized(values: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, dtype: str) -> Any:
    """Quantized values: ties to even, saturating, NaN becomes 0."""
    return convert(np.rint(values / scale).astype(np.float64) + zero_point, dtype)


# --- scalar expressions ------------------------------------------------------------------------


def is_scalar(parameter: te.Tensor) -> bool:
    """Whether a scale or zero point is per tensor."""
    return parameter.rank == 0 or parameter.shape == (te.index(1),)


def parameter_at(parameter: te.Tensor, *channel: te.Expr) -> te.Expr:
    """The scale or zero point of a channel, or of all; a constant is that number."""
    if isinstance(parameter.op, te.Computation) and is_scalar(parameter):
        (value, *others) = parameter.op.bodies
        if isinstance(value, te.Const) and not others:
            return value
    if parameter.rank == 0:
        return parameter[()]
    return parameter[0] if is_scalar(parameter) else parameter[places(parameter.shape, channel)]


def places(shape: Shape, channel: Indices) -> Indices:
    """The index of a channel into parameters; 0 where a dynamic extent is 1."""
    return tuple(map(_place, shape, channel))


def _place(extent: te.Expr, channel: te.Expr) -> te.Expr:
    has_each = isinstance(channel, te.Axis) and channel.extent == extent
    if has_each or isinstance(extent, te.Const):
        return channel
    return te.select(te.equal(extent, 1), te.index(0), channel)


def parameters_at(
    parameters: Sequence[te.Tensor], indices: Indices, axis: int
) -> tuple[te.Expr, ...]:
    """The scales and zero points of an element."""
    return tuple(parameter_at(p, *channel_of(indices, axis, p)) for p in parameters)


def channel_of(
    indices: tuple[te.Expr, ...], axis: int, *parameters: te.Tensor
) -> tuple[te.Expr, ...]:
    """The index of the channel, if one of the parameters is per axis; else none."""
    return () if all(map(is_scalar, parameters)) else (indices[axis],)


def channels_of(*parameters: te.Tensor) -> tuple[te.Expr, ...]:
    """The common shape of parameters: a vector if one of them is per axis."""
    extents = [parameter.shape[0] for parameter in parameters if not is_scalar(parameter)]
    return (reduce(common_extent, extents),) if extents else ()


def real_element(data: te.Expr, scale: te.Expr, zero_point: te.Expr) -> te.Expr:
    """A dequantized element in float64."""
    centered = te.cast(data, "float64") - te.cast(zero_point, "float64")
    return centered * te.cast(scale, "float64")


def halves(zero_point: te.Expr, dtype: str) -> tuple[te.Expr, te.Expr]:
    """A zero point as an int32 of 16 bits, and the rest as a float: 0 unless it is wider."""
    if isinstance(zero_point, te.Const) and -(1 << 15) <= int(zero_point.value) < 1 << 15:
        return te.cast(zero_point, "int32"), te.const(0.0, dtype)
    low = te.cast(te.cast(zero_point, "int16"), "int32")
    carry = (zero_point >> 15) & 1
    return low, te.cast((zero_point >> 16) + carry, dtype) * te.const(65536.0, dtype)


def distance(data: te.Expr, zero_point: te.Expr, dtype: str = "float32") -> te.Expr:
    """An element minus its zero point, rounded once to a float."""
    if te.width(data.dtype) <= 16:
        # both differences are exact but for the last rounding
        low, rest = halves(zero_point, dtype)
        near = te.cast(te.cast(data, "int32") - low, dtype)
        return near if isinstance(rest, te.Const) else near - rest
    if te.width(data.dtype) <= 32 and isinstance(zero_point, te.Const) and zero_point.value == 0:
        return te.cast(data, dtype)
    # exact for integers of 32 bits
    return te.cast(te.cast(data, "float64") - te.cast(zero_point, "float64"), dtype)


def quantized_element(value: te.Expr, scale: te.Expr, zero_point: te.Expr, dtype: str) -> te.Expr:
    """A quantized element."""
    whole = te.call("round", value / te.cast(scale, value.dtype))
    return te.cast(with_zero_point(whole, zero_point, dtype), dtype)


def with_zero_point(whole: te.Expr, zero_point: te.Expr, dtype: str) -> te.Expr:
    """A float without a fraction plus a zero point, exact unless it saturates in `dtype`."""
    if te.width(dtype) > 16:
        return te.cast(whole, "float64") + te.cast(zero_point, "float64")
    # sums of more than 17 bits saturate, and smaller ones are exact
    low, rest = halves(zero_point, whole.dtype)
    far = whole if isinstance(rest, te.Const) else whole + rest
    return far + te.cast(low, whole.dtype)


# --- samples -----------------------------------------------------------------------------------


def int8(*shape: int) -> Tensor:
    """A tensor with the whole int8 range."""
    return Tensor(shape, "int8", -128, 128)


def uint8(*shape: int) -> Tensor:
    """A tensor with the whole uint8 range."""
    return Tensor(shape, "uint8", 0, 256)


def affine(scale: float, zero_point: int) -> tuple[np.float32, np.int32]:
    """A scale and a zero point."""
    return np.float32(scale), np.int32(zero_point)


def affine_vectors(count: int) -> tuple[Tensor, Tensor]:
    """Per-axis scales and zero points."""
    return Tensor((count,), SCALE, 0.01, 0.1), Tensor((count,), ZERO_POINT, -9, 9)
