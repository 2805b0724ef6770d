"""Transposed convolutions: the sum of the windows that each element of data times the weight gives.

As a linear map of data it is the transpose of the convolution with the same attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts
from relay.op.building.layout_rules import CONVOLUTION
from relay.op.building.numerics import matrix_product
from relay.op.building.window import KernelAttrs, overlapped, pad_pairs, require_sizes
from relay.op.conv import conv
from relay.op.conv.conv_compute import transposed_convolution
from relay.op.conv.conv_rules import transposed_gradient
from relay.op.facts import Precision, Trait
from relay.op.linalg.matmul import multiplied
from relay.op.opdef import DType, FusionKind, OpDef, Sample, Tensor, define, sample
from relay.op.quantization import FLOAT, by_layout, product
from relay.op.site import Site

# --- attributes --------------------------------------------------------------------------------


@attrs
class ConvTransposeAttrs(KernelAttrs):
    """strides: the distance between the windows of adjacent elements
    padding: what is cropped from the result; for each axis, or before and then after each
    channels: the number of output channels; with kernel_size it determines the type of weight
    kernel_layout: the order of the axes of weight: inputs, outputs of a group, and the window
    output_padding: elements added at the end of each axis of the result
    out_dtype: the element type of the result; None is that of data
    """

    output_padding: tuple[int, ...]
    out_dtype: DType | None = None


@attrs
class Conv1DTransposeAttrs(ConvTransposeAttrs, axes=1):
    """Defaults for one spatial axis."""

    kernel_layout: str = "IOW"


@attrs
class Conv2DTransposeAttrs(ConvTransposeAttrs, axes=2):
    """Defaults for two spatial axes."""

    kernel_layout: str = "IOHW"


@attrs
class Conv3DTransposeAttrs(ConvTransposeAttrs, axes=3):
    """Defaults for three spatial axes."""

    kernel_layout: str = "IODHW"


# --- the relation ------------------------------------------------------------------------------


def transposed_type(site: Site) -> Type | None:
    """(n, c, x…) * (c, o / groups, k…) -> (n, o, extents…)"""
    conv.require_steps(site)
    require_sizes(site, "output_padding", 0)
    if (data := conv.data_shape(site)) is None:
        return None
    batch, inputs, *positions = data
    conv.require_groups(site, inputs, "input")
    if (kernel := _kernel(site, inputs)) is None:
        return None
    outputs, sizes = kernel
    return conv.convolved(site, batch, outputs, _extents(site, positions, sizes))


def _kernel(site: Site, inputs: Dim) -> conv.Kernel | None:
    """The kernel of the weight; the attributes determine the type of an unknown weight."""
    known = site.attrs
    letters = "IO" + known.spatial
    layout = layouts.require_layout(site, "kernel_layout", known.kernel_layout, letters)
    weight = layouts.unblocked_shape(site, 1, layout, letters)
    if weight is not None:
        rows, each, *sizes = weight
        site.require_equal(rows, inputs, "input channels of weight and data")
        return conv.checked_kernel(site, dims.multiply(each, known.groups), sizes)
    if known.channels is None or known.kernel_size is None:
        return None
    conv.require_groups(site, known.channels, "output")
    shape = (inputs, known.channels // known.groups, *known.kernel_size)
    data = site.tensor(0)
    assert data is not None
    site.assign(1, TensorType(layouts.blocked_shape(site, shape, letters, layout), data.dtype))
    return known.channels, known.kernel_size


def _extents(site: Site, positions: Sequence[Dim], sizes: Sequence[Dim]) -> list[Dim]:
    """(x - 1) * stride + dilation * (k - 1) + 1 - padding + output padding"""
    known = site.attrs
    found: list[Dim] = []
    for position, size, stride, step, pads, more in zip(
        positions,
        sizes,
        known.strides,
        known.dilation,
        pad_pairs(known.padding, known.axes),
        known.output_padding,
        strict=True,
    ):
        starts = dims.multiply(dims.subtract(position, 1), stride)
        reach = dims.add(starts, dims.multiply(dims.subtract(size, 1), step))
        extent = dims.add(reach, 1 - sum(pads) + more)
        site.require_natural(
            extent,
            "padding cuts off more than there is",
            f"{dims.add(extent, sum(pads))} or less on an axis",
            f"padding = {known.padding}",
        )
        found.append(extent)
    return found


# --- the reference -----------------------------------------------------------------------------


def convolve_transposed(data: np.ndarray, weight: np.ndarray, known: ConvTransposeAttrs) -> Any:
    """One matrix product per group computes the windows, which are added up."""
    strides, dilation, groups = known.strides, known.dilation, known.groups
    letters, count = "NC" + known.spatial, known.axes
    pads = pad_pairs(known.padding, count)

    def spread(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        batch, inputs, *positions = x.shape
        each, *sizes = w.shape[1:]
        rows = w.reshape(groups, inputs // groups, each * prod(sizes)).swapaxes(1, 2)
        elements = x.reshape(batch, groups, inputs // groups, prod(positions))
        parts = matrix_product(rows, elements).reshape(batch, groups * each, *sizes, *positions)
        # (batch, outputs, window…, positions…) -> (batch, outputs, positions…, window…)
        parts = parts.transpose(0, 1, *range(2 + count, 2 + 2 * count), *range(2, 2 + count))
        extents = [
            (position - 1) * stride + (size - 1) * step + 1 - sum(cut) + more
            for position, stride, size, step, cut, more in zip(
                positions, strides, sizes, dilation, pads, known.output_padding, strict=True
            )
        ]
        return overlapped(parts, extents, strides, dilation, pads)

    x = layouts.unblocked(data, known.data_layout, letters)
    w = layouts.unblocked(weight, known.kernel_layout, "IO" + known.spatial)
    result = multiplied(spread, x, w, known.out_dtype or data.dtype.name)
    return layouts.blocked(result, letters, known.out_layout or known.data_layout)


# --- the operators -----------------------------------------------------------------------------

_ARGUMENTS = [
    ("data", "the input"),
    ("weight", "a window for each input channel and output channel of its group"),
]
_DOC = "The sum of the windows that each element of data times weight gives, `strides` apart."


def _scaled_axis(attrs: ConvTransposeAttrs) -> int | None:
    """The axis of the weight along which scales may differ."""
    return None if attrs.groups > 1 else by_layout(attrs)


def _define(attrs: type[ConvTransposeAttrs], *samples: Sample) -> OpDef:
    return define(
        f"nn.conv{attrs.axes}d_transpose",
        doc=_DOC,
        arguments=_ARGUMENTS,
        attrs=attrs,
        relation=transposed_type,
        reference=with_attrs(attrs, convolve_transposed),
        compute=with_attrs(attrs, transposed_convolution),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        traits=Trait.BILINEAR,
        # products of integers are over two axes, with one scale for all groups
        quantization=product(_scaled_axis) if attrs.axes == 2 else FLOAT,
        layout=CONVOLUTION,
        gradient=transposed_gradient,
        precision=Precision.ALWAYS,
        samples=samples,
    )


conv1d_transpose = _define(
    Conv1DTransposeAttrs,
    sample((2, 3, 5), (3, 4, 3)),
    sample((1, 4, 4), (4, 3, 3), strides=3, padding=(1, 2), output_padding=2, groups=2),
    sample(
        (1, 5, 2),
        (3, 3, 2),
        data_layout="NWC",
        kernel_layout="WOI",
        dilation=2,
        channels=3,
        kernel_size=3,
    ),
    sample((1, 2, 4), (2, 2, 2), out_layout="NWC", dtype="bfloat16"),
    sample((1, 2, 4), (2, 2, 2), dtype="int8", low=-99, high=99, out_dtype="int32"),
)
conv2d_transpose = _define(
    Conv2DTransposeAttrs,
    sample((2, 3, 4, 3), (3, 4, 3, 2)),
    sample((1, 3, 3, 4), (3, 2, 4, 4), strides=2, padding=1, channels=2, kernel_size=4),
    sample((1, 4, 3, 3), (4, 2, 3, 2), groups=2, strides=(2, 3), output_padding=(1, 2)),
    sample((1, 2, 4, 4), (2, 1, 2, 3), padding=(0, 1, 2, 1), dilation=(2, 1), dtype="float64"),
    sample((1, 3, 4, 2), (2, 2, 3, 2), data_layout="NHWC", kernel_layout="HWOI"),
    sample((1, 3, 4, 2), (2, 2, 2, 3), data_layout="NHWC", kernel_layout="HWIO"),
    sample((1, 1, 3, 3, 2), (2, 4, 2, 2), data_layout="NCHW2c", out_layout="NCHW4c"),
    sample((1, 2, 3, 3), Tensor((2, 2, 3, 3), "int8"), dtype="uint8", high=99, out_dtype="int32"),
    sample((1, 2, 3, 3), (2, 2, 3, 3), dtype="float16", padding=1),
    sample((1, 4, 3, 3), (4, 4, 3, 3), strides=2, groups=2, padding=1),
    sample((1, 2, 5, 4), (2, 16, 2, 5), strides=(3, 2), padding=(4, 1, 0, 2)),
)
conv3d_transpose = _define(
    Conv3DTransposeAttrs,
    sample((1, 2, 2, 3, 3), (2, 3, 2, 1, 3)),
    sample(
        (1, 2, 3, 2, 2),
        (2, 2, 2, 3, 2),
        groups=2,
        strides=(2, 1, 3),
        output_padding=(1, 0, 2),
        padding=(0, 1, 0, 1, 1, 1),
    ),
    sample(
        (1, 2, 3, 2, 2),
        (2, 2, 1, 3, 2),
        data_layout="NDHWC",
        kernel_layout="DHWOI",
        dilation=(2, 1, 1),
        channels=3,
        kernel_size=(2, 2, 1),
        dtype="float64",
    ),
    sample((1, 1, 2, 2, 2), (1, 2, 2, 2, 2), out_layout="NDHWC", dtype="float16"),
    sample((1, 1, 2, 2, 2), (1, 2, 2, 2, 2), dtype="int8", out_dtype="int32"),
)
