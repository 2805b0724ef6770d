"""Convolutions as matrix products with a tiled weight.

The weight HWIO is a matrix of K = h * w * i rows and N = o columns. Its transform divides it into
contiguous zero-padded tiles of (tile_N, tile_K):

    result[a, b, c, d] = matrix[b * tile_K + d, a * tile_N + c]
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import elements
from relay.op.building.layouts import read_layout
from relay.op.building.views import view
from relay.op.building.window import window_counts
from relay.op.conv import conv
from relay.op.conv.conv_compute import convolution
from relay.op.facts import Precision
from relay.op.gradient_rules import LOWERED
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.relations import size
from relay.op.site import NUMERIC, Site


@attrs
class GemmTransformAttrs(Attrs):
    """tile_N: the number of output channels of a tile
    tile_K: the number of rows of a tile
    """

    tile_N: int
    tile_K: int


def _tiles(extent: Dim, tile: Dim) -> Dim:
    """The number of tiles that cover an extent."""
    return dims.floor_divide(dims.add(extent, dims.subtract(tile, 1)), tile)


def _transform_type(site: Site) -> Type | None:
    """(h, w, i, o) -> (tiles of o, tiles of h * w * i, tile_N, tile_K)"""
    columns, rows = site.attrs.tile_N, site.attrs.tile_K
    site.require_elements(0, NUMERIC)
    site.require(
        columns > 0 and rows > 0,
        "tiles are empty",
        "1 or more",
        f"tile_N = {columns}, tile_K = {rows}",
    )
    if (weight := site.tensor(0, rank=4)) is None:
        return None
    *window, outputs = weight.shape
    shape = (_tiles(outputs, columns), _tiles(size(window), rows), columns, rows)
    return TensorType(shape, weight.dtype)


def _transform(weights: np.ndarray, tile_N: int, tile_K: int) -> np.ndarray:
    matrix = weights.reshape(prod(weights.shape[:3]), weights.shape[3])
    padded = np.pad(matrix, [(0, -matrix.shape[0] % tile_K), (0, -matrix.shape[1] % tile_N)])
    shape = (padded.shape[0] // tile_K, tile_K, padded.shape[1] // tile_N, tile_N)
    return padded.reshape(shape).transpose(2, 0, 3, 1)


def _transform_compute(weights: te.Tensor, out: te.Spec, tile_N: int, tile_K: int) -> te.Tensor:
    *window, columns = weights.shape
    rows = elements.size(window)

    def element(*i: te.Expr) -> te.Expr:
        across, down, place, depth = i
        row, column = down * tile_K + depth, across * tile_N + place
        return te.select(
            te.every(row < rows, column < columns),
            weights[(*elements.place(row, window), column)],
            0,
        )

    return te.compute(out.shape, element, "tiles")


contrib_conv2d_gemm_weight_transform = define(
    "nn.contrib_conv2d_gemm_weight_transform",
    doc="The weight of a convolution, HWIO, as a matrix in zero-padded tiles.",
    arguments=[("weights", "a weight in layout HWIO")],
    attrs=GemmTransformAttrs,
    relation=_transform_type,
    reference=_transform,
    compute=_transform_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 3, 2, 5), tile_N=4, tile_K=5),
        sample((1, 1, 4, 6), tile_N=3, tile_K=2, dtype="int8"),
        sample((2, 2, 1, 3), tile_N=4, tile_K=16, dtype="bfloat16"),
    ],
    gradient=LOWERED,
)


@attrs
class GemmConv2DAttrs(conv.Conv2DAttrs):
    """channels: the number of output channels, which a tiled weight does not determine
    kernel_size: the extents of the window, which a tiled weight does not determine
    kernel_layout: the order of the axes of the weight before its transform; not used
    """


def _gemm_type(site: Site) -> Type | None:
    """A convolution; the number of tiles of the weight must fit."""
    known = site.attrs
    conv.require_steps(site)
    site.require(
        known.channels is not None and known.kernel_size is not None,
        "`channels` or `kernel_size` is missing",
        "both, which a weight in tiles does not show",
        f"channels = {known.channels}, kernel_size = {known.kernel_size}",
    )
    shape, weight = conv.data_shape(site), site.tensor(1, rank=4)
    if shape is None or weight is None:
        return None
    batch, inputs, *extents = shape
    conv.require_groups(site, inputs, "input")
    conv.require_groups(site, known.channels, "output")
    depth = dims.multiply(dims.floor_divide(inputs, known.groups), prod(known.kernel_size))
    across, down, columns, rows = weight.shape
    site.require(columns != 0 and rows != 0, "tiles are empty", "1 or more", str(weight))
    site.require_equal(across, _tiles(known.channels, columns), "tiles of output channels")
    site.require_equal(down, _tiles(depth, rows), "tiles of the products of a channel")
    positions = window_counts(site, extents, known.kernel_size)
    return conv.convolved(site, batch, known.channels, positions)


def _gemm(data: np.ndarray, weight: np.ndarray, known: GemmConv2DAttrs) -> Any:
    """The convolution with the untiled weight."""
    channels, kernel_size = known.channels, known.kernel_size
    assert channels is not None and kernel_size is not None
    layout = read_layout(known.data_layout)
    inputs = prod(data.shape[axis] for axis in layout.places("C")) // known.groups
    across, down, columns, rows = weight.shape
    matrix = weight.transpose(1, 3, 0, 2).reshape(down * rows, across * columns)
    whole = matrix[: prod(kernel_size) * inputs, :channels]
    untiled = whole.reshape(*kernel_size, inputs, channels)
    return conv.convolve(data, untiled, replace(known, kernel_layout="HWIO"))


def _gemm_compute(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, known: GemmConv2DAttrs
) -> te.Tensor:
    """The convolution with the untiled weight."""
    assert known.channels is not None and known.kernel_size is not None
    inputs = view(data, known.data_layout).extent("C") // known.groups
    _, _, columns, rows = weight.shape
    shape = (*map(te.index, known.kernel_size), inputs, te.index(known.channels))

    def element(*i: te.Expr) -> te.Expr:
        *window, output = i
        row = elements.position(window, shape[:3])
        return weight[output // columns, row // rows, output % columns, row % rows]

    untiled = te.compute(shape, element, "weight")
    return convolution(data, untiled, out, replace(known, kernel_layout="HWIO"))


contrib_conv2d_gemm_without_weight_transform = define(
    "nn.contrib_conv2d_gemm_without_weight_transform",
    doc="`nn.conv2d` with a weight tiled by its transform; `channels` and `kernel_size` are "
    "required.",
    arguments=[("data", "images"), ("weight", "the result of the weight transform")],
    attrs=GemmConv2DAttrs,
    relation=_gemm_type,
    reference=with_attrs(GemmConv2DAttrs, _gemm),
    compute=with_attrs(GemmConv2DAttrs, _gemm_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    samples=[
        sample((1, 2, 5, 4), (2, 3, 4, 5), channels=5, kernel_size=(2, 3)),
        sample(
            (1, 5, 5, 2),
            Tensor((1, 2, 4, 4), "int8"),
            channels=3,
            kernel_size=2,
            strides=2,
            padding=(1, 0, 1, 1),
            dilation=(1, 2),
            data_layout="NHWC",
            kernel_layout="HWIO",
            dtype="uint8",
            out_dtype="int32",
        ),
        sample((1, 4, 3, 3), (2, 2, 2, 5), channels=4, kernel_size=2, groups=2, out_layout="NHWC"),
    ],
    gradient=LOWERED,
)
