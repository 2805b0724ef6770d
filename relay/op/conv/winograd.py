"""Winograd's algorithm: its matrices, and the transform of weights.

On one axis, `tile` results of a window of `size` elements come from tile + size - 1 elements of
data with as many multiplications. With the three matrices of `transforms`,

    results = output @ ((kernel @ window) * (input @ data))

which holds because polynomials may be multiplied by their values at points instead of their
coefficients. On several axes the matrices are applied along each. The transform of the weight is an
operator of its own, so that it is computed once (`relay.op.conv.conv_winograd` takes its result).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from relay import dtypes, te
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.building.contraction import converted
from relay.op.building.numerics import computing_dtype, widened
from relay.op.building.scalars import wide
from relay.op.building.tables import applied
from relay.op.gradient_rules import LOWERED
from relay.op.opdef import DType, FusionKind, OpDef, Sample, define, sample
from relay.op.site import FLOATING, Relation, Site

# --- the matrices ------------------------------------------------------------------------------

# In this order each number of points makes matrices of small condition. One more is at infinity.
POINTS = (0.0, 1.0, -1.0, 0.5, -2.0, -0.5, 2.0, -0.25, 4.0, 0.25, -4.0)


class Transforms(NamedTuple):
    """The matrices of one axis, in float64."""

    output: np.ndarray  # (tile, points)
    input: np.ndarray  # (points, points)
    kernel: np.ndarray  # (points, size)


@cache
def transforms(tile: int, size: int, among: tuple[float, ...] = POINTS) -> Transforms:
    """The matrices for `tile` results of a window of `size` elements, from the first of the points
    `among`."""
    count = tile + size - 2
    if count > len(among):
        raise EvaluationError.of(
            "Winograd's algorithm has no points for tiles of this size",
            expected=f"tile_size + kernel_size of {len(among) + 2} or less",
            found=str(tile + size),
        )
    points = np.array(among[:count])
    output, values = (np.zeros((count + 1, width)) for width in (tile, size))
    for matrix in (output, values):
        matrix[:count] = np.vander(points, matrix.shape[1], increasing=True)
        matrix[count, -1] = 1  # the value of a polynomial at infinity is its last coefficient
    data = np.zeros((count + 1, count + 1))
    data[count] = _coefficients(points)
    for row in range(count):
        others = np.delete(points, row)
        scale = np.prod(points[row] - others)
        data[row, :count] = _coefficients(others) * np.sign(scale)
        values[row] /= abs(scale)
    found = Transforms(output.T, data, values)
    for matrix in found:
        matrix.flags.writeable = False
    return found


def _coefficients(roots: np.ndarray) -> np.ndarray:
    """Those of the polynomial with these roots, from the constant one on."""
    return np.atleast_1d(np.poly(roots))[::-1]


def along(matrix: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
    """`array` with `matrix` applied to the vectors along an axis."""
    return np.moveaxis(np.tensordot(matrix.astype(array.dtype), array, (1, axis)), 0, axis)


def is_transformed(axis: int, sizes: Sequence[int]) -> bool:
    """Whether an axis of a window is transformed: depth only where it pays off."""
    return len(sizes) == 2 or axis > 0 or 2 < sizes[0] < 8


# --- weight transforms -------------------------------------------------------------------------


@attrs
class WinogradTransformAttrs(Attrs):
    """tile_size: the number of results per tile along an axis"""

    tile_size: int


def transformed_window(site: Site, tile: int, sizes: Sequence[Dim]) -> tuple[Dim, ...]:
    """The extents of the window of a weight after the transform."""
    site.require(tile > 0, "`tile_size` is not positive", "1 or more", f"tile_size = {tile}")
    most = len(POINTS) + 2 - tile
    found: list[Dim] = []
    for axis, size in enumerate(sizes):
        is_depth = len(sizes) == 3 and axis == 0
        if is_depth and not isinstance(size, int):
            found.append(dims.ANY)  # may be transformed or not
        elif is_depth and not is_transformed(0, (size, 1, 1)):  # type: ignore[arg-type]
            found.append(size)
        elif isinstance(size, int) and not 0 < size <= most:
            site.fail(
                "Winograd's algorithm does not take a window of this size",
                f"1 to {most} elements along an axis, for tiles of {tile}",
                str(size),
            )
        else:
            found.append(dims.add(size, tile - 1))
    return tuple(found)


def transform_type(count: int) -> Relation:
    """(o, i, k…) -> (k + tile - 1…, o, i), for `count` spatial axes"""

    def relation(site: Site) -> Type | None:
        site.require_elements(0, FLOATING)
        if (weight := site.tensor(0, rank=2 + count)) is None:
            return None
        outputs, inputs, *sizes = weight.shape
        window = transformed_window(site, site.attrs.tile_size, sizes)
        return TensorType((*window, outputs, inputs), weight.dtype)

    return relation


def transform_weight(weight: np.ndarray, tile_size: int) -> np.ndarray:
    """The window axes of a weight (o, i, k…), transformed and moved to the front."""
    count = weight.ndim - 2
    sizes = weight.shape[2:]
    result = np.moveaxis(widened(weight), (0, 1), (count, count + 1))
    for axis, size in enumerate(sizes):
        if is_transformed(axis, sizes):
            result = along(transforms(tile_size, size).kernel, result, axis)
    return result.astype(weight.dtype)


def transform_compute(weight: te.Tensor, out: te.Spec, tile_size: int) -> te.Tensor:
    """The window axes, transformed one by one and moved to the front."""
    count = weight.rank - 2
    plain = _transformed(weight, te.numbers(weight.shape[2:]), wide(weight.dtype), tile_size)
    return te.compute(
        out.shape,
        lambda *i: te.cast(plain[(*i[count:], *i[:count])], out.dtype),
        "weight",
    )


def _transformed(weight: te.Tensor, sizes: Sequence[int], dtype: str, tile_size: int) -> te.Tensor:
    """The window axes of a weight (o, i, k…), transformed in place, in that type."""
    result = converted(weight, dtype)
    for axis, size in enumerate(sizes):
        if is_transformed(axis, sizes):
            result = applied(transforms(tile_size, size).kernel, result, 2 + axis, "transformed")
    return result


_ARGUMENTS = [("weight", "a window for each output and input channel")]


def _define(axes: int, doc: str, *samples: Sample) -> OpDef:
    return define(
        f"nn.contrib_conv{axes}d_winograd_weight_transform",
        doc=f"The Winograd transform of a weight, {doc}.",
        arguments=_ARGUMENTS,
        attrs=WinogradTransformAttrs,
        relation=transform_type(axes),
        reference=transform_weight,
        compute=transform_compute,
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        gradient=LOWERED,
        samples=samples,
    )


contrib_conv2d_winograd_weight_transform = _define(
    2,
    "OIHW -> HWOI",
    sample((2, 3, 3, 3), tile_size=2),
    sample((2, 1, 3, 3), tile_size=4, dtype="float64"),
    sample((1, 2, 5, 3), tile_size=3, dtype="float16"),
)
contrib_conv3d_winograd_weight_transform = _define(
    3,
    "OIDHW -> DHWOI. Depth is transformed where the window has 3 to 7 elements there",
    sample((2, 3, 3, 3, 3), tile_size=2),
    sample((2, 1, 2, 3, 3), tile_size=4, dtype="float64"),
    sample((1, 2, 1, 3, 3), tile_size=2, dtype="bfloat16"),
)

# --- NNPACK ------------------------------------------------------------------------------------

# The NNPACK algorithms with 6x6 tiles: automatic, and two precisions.
_TILE = 6
_ALGORITHMS = {0: "auto", 3: "8x8", 6: "8x8 in float16"}


@attrs
class NNPACKTransformAttrs(Attrs):
    """convolution_algorithm: the code of an NNPACK algorithm
    out_dtype: the element type of the result; None is that of weight
    """

    convolution_algorithm: int
    out_dtype: DType | None = None


def _nnpack_type(site: Site) -> Type | None:
    """(o, i, 3, 3) -> (o, i, 8, 8)"""
    site.require_elements(0, FLOATING)
    algorithm, out_dtype = site.attrs.convolution_algorithm, site.attrs.out_dtype
    site.require(
        algorithm in _ALGORITHMS,
        "`convolution_algorithm` is none of Winograd's",
        " or ".join(f"{number} ({meaning})" for number, meaning in _ALGORITHMS.items()),
        f"convolution_algorithm = {algorithm}",
    )
    site.require(
        not out_dtype or dtypes.is_float(out_dtype),
        "`out_dtype` would cut off fractions",
        "a floating-point type",
        f'out_dtype = "{out_dtype}"',
    )
    if (weight := site.tensor(0, rank=4)) is None:
        return None
    outputs, inputs, *sizes = weight.shape
    for size in sizes:
        site.require_equal(size, 3, "extents of the window and 3")
    return TensorType((outputs, inputs, 8, 8), out_dtype or weight.dtype)


def _nnpack_transform(
    weight: np.ndarray, convolution_algorithm: int, out_dtype: str | None
) -> np.ndarray:
    """The transform with the channels in front."""
    result = dtypes.to_numpy(out_dtype) if out_dtype else weight.dtype
    wide = weight.astype(np.result_type(computing_dtype(weight.dtype), computing_dtype(result)))
    return np.moveaxis(transform_weight(wide, _TILE), (2, 3), (0, 1)).astype(result)


def _nnpack_compute(weight: te.Tensor, out: te.Spec, **_: Any) -> te.Tensor:
    types = (wide(weight.dtype), wide(out.dtype))
    dtype = "float64" if "float64" in types else "float32"
    plain = _transformed(weight, (3, 3), dtype, _TILE)
    return te.compute(out.shape, lambda *i: te.cast(plain[i], out.dtype), "weight")


contrib_conv2d_winograd_nnpack_weight_transform = define(
    "nn.contrib_conv2d_winograd_nnpack_weight_transform",
    doc="The Winograd transform of a 3x3 weight, OIHW, for 6x6 tiles.",
    arguments=_ARGUMENTS,
    attrs=NNPACKTransformAttrs,
    relation=_nnpack_type,
    reference=_nnpack_transform,
    compute=_nnpack_compute,
    samples=[
        sample((2, 3, 3, 3), convolution_algorithm=3),
        sample((1, 2, 3, 3), convolution_algorithm=6, out_dtype="float16"),
        sample((1, 1, 3, 3), convolution_algorithm=0, dtype="float64"),
    ],
    gradient=LOWERED,
)
