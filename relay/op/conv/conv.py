"""Convolutions over one, two or three spatial axes, in any layout.

The relation and the reference compute with unblocked axes in the order `NC…` and `OI…`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts, window
from relay.op.building.layout_rules import CONVOLUTION
from relay.op.building.numerics import matrix_product
from relay.op.conv.conv_compute import convolution
from relay.op.conv.conv_rules import convolution_gradient
from relay.op.facts import Precision, Trait
from relay.op.linalg.matmul import multiplied, product_dtype
from relay.op.opdef import DType, FusionKind, OpDef, Sample, Tensor, define, sample
from relay.op.quantization import FLOAT, by_layout, product
from relay.op.site import Site

# --- attributes --------------------------------------------------------------------------------


@attrs
class ConvAttrs(window.KernelAttrs):
    """out_dtype: the element type of the result; None is that of data"""

    out_dtype: DType | None = None


@attrs
class Conv1DAttrs(ConvAttrs, axes=1):
    """Defaults for one spatial axis."""


@attrs
class Conv2DAttrs(ConvAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class Conv3DAttrs(ConvAttrs, axes=3):
    """Defaults for three spatial axes."""


# --- the relation ------------------------------------------------------------------------------


def convolution_type(site: Site) -> Type | None:
    """(n, c, x…) * (o, c / groups, k…) -> (n, o, windows…)"""
    require_steps(site)
    letters = "OI" + site.attrs.spatial
    layout = layouts.require_layout(site, "kernel_layout", site.attrs.kernel_layout, letters)
    data, weight = data_shape(site), layouts.unblocked_shape(site, 1, layout, letters)
    if data is None:
        return None
    batch, inputs, *extents = data
    if weight is None:
        kernel = assigned_weight(site, 1, inputs)
    else:
        kernel = _checked_weight(site, inputs, weight)
    if kernel is None:
        return None
    outputs, sizes = kernel
    return convolved(site, batch, outputs, window.window_counts(site, extents, sizes))


def require_steps(site: Site) -> None:
    """Check strides, dilation, padding, groups and kernel_size."""
    window.require_sizes(site, "strides", 1)
    window.require_sizes(site, "dilation", 1)
    window.require_padding(site, site.attrs.padding, site.attrs.axes)
    if site.attrs.kernel_size is not None:
        window.require_sizes(site, "kernel_size", 1)
    groups = site.attrs.groups
    site.require(groups > 0, "`groups` is not positive", "1 or more", f"groups = {groups}")


def data_shape(site: Site, index: int = 0) -> tuple[Dim, ...] | None:
    """(batch, channels, extents…) of data; None while it is unknown."""
    letters = "NC" + site.attrs.spatial
    known = layouts.require_layout(site, "data_layout", site.attrs.data_layout, letters)
    return layouts.unblocked_shape(site, index, known, letters)


def convolved(
    site: Site, batch: Dim, outputs: Dim, positions: Sequence[Dim], weight: int = 1
) -> TensorType:
    """The type of the result; `weight` is the index of that argument."""
    letters = "NC" + site.attrs.spatial
    text = site.attrs.out_layout or site.attrs.data_layout
    out_layout = layouts.require_layout(site, "out_layout", text, letters)
    shape = layouts.blocked_shape(site, (batch, outputs, *positions), letters, out_layout)
    data = site.tensor(0)
    assert data is not None
    return TensorType(shape, product_dtype(site, data, site.tensor(weight)))


Kernel = tuple[Dim, Sequence[Dim]]  # output channels, extents of the window


def assigned_weight(site: Site, index: int, inputs: Dim) -> Kernel | None:
    """Assign the weight the type that `channels` and `kernel_size` determine."""
    known = site.attrs
    if known.channels is None or known.kernel_size is None:
        return None
    require_groups(site, inputs, "input")
    require_groups(site, known.channels, "output")
    letters = "OI" + known.spatial
    each = dims.floor_divide(inputs, known.groups)
    layout = layouts.require_layout(site, "kernel_layout", known.kernel_layout, letters)
    whole = (known.channels, each, *known.kernel_size)
    shape = layouts.blocked_shape(site, whole, letters, layout)
    data = site.tensor(0)
    assert data is not None
    site.assign(index, TensorType(shape, data.dtype))
    return known.channels, known.kernel_size


def _checked_weight(site: Site, inputs: Dim, weight: Sequence[Dim]) -> Kernel:
    """The kernel of a weight, checked against the input channels and the attributes."""
    outputs, each, *sizes = weight
    depthwise = _is_depthwise(site.attrs.groups, inputs, outputs, each, site.is_dynamic)
    if depthwise is None:
        outputs = _either_outputs(site, inputs, outputs, each)
    elif depthwise:
        outputs = dims.multiply(outputs, each)
    else:
        require_groups(site, outputs, "output")
        require_inputs(site, inputs, each)
    return checked_kernel(site, outputs, sizes)


def checked_kernel(site: Site, outputs: Dim, sizes: Sequence[Dim]) -> Kernel:
    """The kernel of a weight, checked against `channels` and `kernel_size`."""
    known = site.attrs
    if known.channels is not None:
        outputs = site.require_equal(outputs, known.channels, "output channels and `channels`")
    if known.kernel_size is not None:
        sizes = [
            site.require_equal(found, wanted, "extents of weight and `kernel_size`")
            for found, wanted in zip(sizes, known.kernel_size, strict=True)
        ]
    return outputs, sizes


def _is_any(dim: Dim) -> bool:
    return isinstance(dim, dims.Any)


def _is_depthwise(
    groups: int, inputs: Dim, outputs: Dim, each: Dim, is_dynamic: Callable[[Dim], bool] = _is_any
) -> bool | None:
    """Whether a weight is (channels, multiplier, …): each input channel is a group of its own with
    `multiplier` outputs. None while it depends on dynamic dimensions."""
    if groups == 1 or each == 1:
        return False
    answers = [
        None if is_dynamic(channels) else channels == groups for channels in (inputs, outputs)
    ]
    if False in answers:
        return False
    return None if None in answers or is_dynamic(each) else True


def _either_outputs(site: Site, inputs: Dim, outputs: Dim, each: Dim) -> Dim:
    """The output channels of a weight that is depthwise or not, depending on dynamic dimensions."""
    if any(map(_is_any, (inputs, outputs, each))):
        return dims.ANY
    groups = site.attrs.groups
    require_groups(site, outputs, "output")
    # 0 where every input channel and every row of the weight is a group, else 1
    is_plain = dims.minimum(dims.maximum(_distance(inputs, groups), _distance(outputs, groups)), 1)
    require_inputs(site, dims.multiply(inputs, is_plain), dims.multiply(each, is_plain))
    more = dims.multiply(dims.subtract(1, is_plain), dims.subtract(each, 1))
    return dims.multiply(outputs, dims.add(more, 1))


def _distance(a: Dim, b: Dim) -> Dim:
    return dims.maximum(dims.subtract(a, b), dims.subtract(b, a))


def require_inputs(site: Site, inputs: Dim, each: Dim) -> None:
    """Check the input channels per group of a weight against data."""
    groups = site.attrs.groups
    if not site.unify_dims(dims.multiply(each, groups), inputs):
        site.fail(
            "input channels differ",
            f"{inputs} input channels, as data has, in {groups} group(s)",
            f"{each} per group in argument `weight`",
        )


def require_groups(site: Site, channels: Dim, what: str, name: str = "groups") -> None:
    """Channels must be divisible into groups, as far as their number is known."""
    groups = getattr(site.attrs, name)
    site.require_multiple(
        channels,
        groups,
        f"{what} channels do not form {groups} {name}",
        f"a multiple of {groups}",
        str(channels),
    )


# --- the reference -----------------------------------------------------------------------------


def columns(
    data: np.ndarray, sizes: Sequence[int], known: window.KernelAttrs
) -> tuple[np.ndarray, tuple[int, ...]]:
    """im2col: for each group of data (n, c, x…) a row per channel and window element and a column
    per image and window; and the number of windows on each axis."""
    count, groups = len(sizes), known.groups
    pads = window.pad_pairs(known.padding, count)
    view = window.windows(data, sizes, known.strides, known.dilation, pads, fill=0)
    batch, channels, *positions = view.shape[: 2 + count]
    grouped = view.reshape(batch, groups, channels // groups, *view.shape[2:])
    order = (1, 2, *range(3 + count, 3 + 2 * count), 0, *range(3, 3 + count))
    shape = groups, channels // groups * prod(sizes), batch * prod(positions)
    return grouped.transpose(order).reshape(shape), tuple(positions)


def convolve(data: np.ndarray, weight: np.ndarray, known: ConvAttrs) -> Any:
    """The convolution as one matrix product per group."""
    groups, letters = known.groups, "NC" + known.spatial
    x = layouts.unblocked(data, known.data_layout, letters)
    w = layouts.unblocked(weight, known.kernel_layout, "OI" + known.spatial)
    if _is_depthwise(groups, x.shape[1], *w.shape[:2]):
        w = w.reshape(-1, 1, *w.shape[2:])
    right, positions = columns(x, w.shape[2:], known)
    left = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:]))
    result = multiplied(matrix_product, left, right, known.out_dtype or data.dtype.name)
    result = result.reshape(w.shape[0], x.shape[0], *positions).swapaxes(0, 1)
    return layouts.blocked(result, letters, known.out_layout or known.data_layout)


# --- the operators -----------------------------------------------------------------------------

ARGUMENTS = (
    ("data", "the input"),
    ("weight", "a window for each output channel and input channel of its group"),
)
_DOC = (
    "The sum of the products of each window of data with each output channel of weight. A "
    "depthwise weight (groups equal to the input channels) may also be (channels, multiplier, …)."
)


def _define(attrs: type[ConvAttrs], *samples: Sample) -> OpDef:
    return define(
        f"nn.conv{attrs.axes}d",
        doc=_DOC,
        arguments=ARGUMENTS,
        attrs=attrs,
        relation=convolution_type,
        reference=with_attrs(attrs, convolve),
        compute=with_attrs(attrs, convolution),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        traits=Trait.BILINEAR,
        # there are no products of integers over three axes
        quantization=FLOAT if attrs.axes == 3 else product(by_layout),
        layout=CONVOLUTION,
        gradient=convolution_gradient,
        precision=Precision.ALWAYS,
        samples=samples,
    )


conv1d = _define(
    Conv1DAttrs,
    sample((2, 3, 7), (4, 3, 3)),
    sample((1, 4, 9), (6, 2, 3), strides=2, padding=(1, 2), dilation=2, groups=2, channels=6),
    sample((2, 5, 3), (3, 3, 7), data_layout="NWC", kernel_layout="WIO", kernel_size=3),
    sample((1, 2, 5), (2, 3, 2), groups=2, out_layout="NWC", dtype="bfloat16"),
    sample((1, 2, 5), (3, 2, 2), dtype="int8", low=-99, high=99, out_dtype="int32"),
)
conv2d = _define(
    Conv2DAttrs,
    sample((2, 3, 7, 8), (4, 3, 3, 3)),
    sample((1, 3, 9, 8), (4, 3, 3, 2), strides=(2, 3), padding=(1, 2), dilation=(2, 1)),
    sample((1, 4, 5, 6), (6, 2, 1, 3), groups=2, padding=(0, 1, 2, 3), channels=6),
    sample((2, 5, 4, 3), (3, 3, 3, 7), data_layout="NHWC", kernel_layout="HWIO", padding=1),
    sample((5, 4, 3, 2), (3, 2, 3, 7), data_layout="HWCN", kernel_layout="HWIO"),
    sample((1, 4, 5, 5), (4, 1, 3, 3), groups=4, kernel_size=(3, 3), out_layout="NHWC"),
    sample((1, 4, 5, 5), (4, 2, 3, 3), groups=4, channels=8, dtype="float64"),
    sample((1, 5, 5, 4), (3, 3, 4, 1), groups=4, data_layout="NHWC", kernel_layout="HWOI"),
    sample((1, 5, 5, 4), (3, 3, 1, 8), groups=4, data_layout="NHWC", kernel_layout="HWIO"),
    sample((1, 2, 4, 4, 3), (3, 6, 3, 3), data_layout="NCHW3c", out_layout="NCHW"),
    sample((1, 3, 5, 5), Tensor((2, 3, 3, 3), "int8"), dtype="uint8", high=99, out_dtype="int32"),
    sample((1, 2, 4, 4), (3, 2, 3, 3), dtype="bfloat16", strides=2),
    sample((0, 2, 4, 4), (3, 2, 3, 3), dtype="float16", out_dtype="float32"),
)
conv3d = _define(
    Conv3DAttrs,
    sample((1, 2, 4, 5, 3), (3, 2, 2, 3, 2)),
    sample((1, 2, 4, 5, 3), (2, 1, 2, 2, 3), strides=(1, 2, 3), padding=(1, 0, 2), groups=2),
    sample((1, 1, 4, 3, 3), (2, 1, 2, 2, 1), padding=(1, 2, 0, 0, 1, 2), dilation=(2, 1, 3)),
    sample(
        (1, 3, 4, 3, 2),
        (2, 2, 2, 2, 3),
        data_layout="NDHWC",
        kernel_layout="DHWIO",
        channels=3,
        kernel_size=2,
        dtype="float64",
    ),
    sample((1, 1, 2, 3, 3), (2, 1, 2, 2, 2), out_layout="NDHWC", dtype="float16"),
    sample((1, 1, 2, 3, 3), (2, 1, 2, 2, 2), dtype="int8", out_dtype="int32"),
)
