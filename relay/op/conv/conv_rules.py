"""Gradient rules of convolutions, as convolutions.

The gradient of data is the transposed convolution of the gradient, and the other way round; in the
layout of the weight inputs and outputs change places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.op.building.layouts import extents, spatial_axes
from relay.op.building.window import pad_pairs
from relay.op.gradient_rules import Backward, build

_SWAPPED = str.maketrans("OIoi", "IOio")
# A gradient of a weight is a convolution over the batch: its channels are the images, …
_AS_IMAGES = str.maketrans("NCnc", "CNcn")
_AS_WEIGHT = str.maketrans("NCnc", "IOio")
_AS_RESULT = str.maketrans("OIoi", "CNcn")


def convolution_gradient(site: Backward) -> Sequence[Expr]:
    """The gradients of a convolution with respect to data and weight."""
    data, weight = site.args
    known = site.attrs
    spatial = spatial_axes(known.data_layout)
    if _has_multiplier(site):
        return _with_multiplier(site, spatial)
    inputs = extents(site.tensor_type(data).shape, known.data_layout, "C" + spatial)
    sizes = extents(site.tensor_type(weight).shape, known.kernel_layout, spatial)
    return _gradients(site, weight, known.kernel_layout, inputs, sizes)


def _gradients(
    site: Backward, weight: Expr, kernel_layout: str, inputs: Sequence[Dim], sizes: Sequence[Dim]
) -> list[Expr]:
    data, known = site.args[0], site.attrs
    gradient = site.as_type_of(data)
    spatial = spatial_axes(known.data_layout)
    result = known.out_layout or known.data_layout
    outputs = extents(site.type.shape, result, spatial)
    more = _output_padding(known, inputs[1:], outputs, sizes)
    by_data = build(
        f"nn.conv{len(spatial)}d_transpose",
        gradient,
        weight,
        **_steps(known),
        data_layout=result,
        kernel_layout=kernel_layout.translate(_SWAPPED),
        out_layout=known.data_layout,
        output_padding=[stride - 1 for stride in known.strides] if more is None else more,
    )
    if more is None:
        by_data = build("slice_like", by_data, data)
    sides = _Sides(gradient, result, data, known.data_layout)
    return [by_data, _weight_gradient(sides, known, kernel_layout, weight, sizes)]


def _steps(known: Any) -> dict[str, Any]:
    """The attributes that a convolution and those of its gradients have in common."""
    return {name: known[name] for name in ("strides", "padding", "dilation", "groups")}


def _output_padding(
    known: Any, inputs: Sequence[Dim], outputs: Sequence[Dim], sizes: Sequence[Dim]
) -> list[int] | None:
    """The elements of data after the last window; None if they are not known."""
    found = []
    for whole, count, size, stride, step, pads in zip(
        inputs,
        outputs,
        sizes,
        known.strides,
        known.dilation,
        pad_pairs(known.padding, known.axes),
        strict=True,
    ):
        if stride == 1:
            found.append(0)
        elif isinstance(whole, int) and isinstance(count, int) and isinstance(size, int):
            found.append(whole + sum(pads) - (count - 1) * stride - step * (size - 1) - 1)
        else:
            return None
    return found


@frozen
class _Sides:
    """The gradient of a convolution, and its data, with their layouts."""

    gradient: Expr
    gradient_layout: str
    data: Expr
    data_layout: str


def _weight_gradient(
    sides: _Sides, known: Any, kernel_layout: str, weight: Expr, sizes: Sequence[Dim]
) -> Expr:
    """The gradient of the weight of a convolution."""
    if len(sizes) == 2:
        return build(
            "nn.conv2d_backward_weight",
            sides.gradient,
            sides.data,
            **_steps(known),
            kernel_size=sizes,
            data_layout=sides.data_layout,
            kernel_layout=kernel_layout,
            out_layout=sides.gradient_layout,
        )
    whole = [
        build(
            f"nn.conv{len(sizes)}d",
            images,
            windows,
            strides=known.dilation,
            dilation=known.strides,
            padding=known.padding,
            data_layout=sides.data_layout.translate(_AS_IMAGES),
            kernel_layout=sides.gradient_layout.translate(_AS_WEIGHT),
            out_layout=kernel_layout.translate(_AS_RESULT),
        )
        for images, windows in zip(
            _parts(sides.data, known.groups, sides.data_layout.index("C")),
            _parts(sides.gradient, known.groups, sides.gradient_layout.index("C")),
            strict=True,
        )
    ]
    joined = build("concatenate", whole, axis=kernel_layout.index("O")) if whole[1:] else whole[0]
    axes = [kernel_layout.index(letter) for letter in spatial_axes(kernel_layout)]
    # windows after the last one of the convolution
    return build("slice_like", joined, weight, axes=axes)


def _parts(value: Expr, count: int, axis: int) -> list[Expr]:
    if count == 1:
        return [value]
    whole = build("split", value, indices_or_sections=count, axis=axis)
    return [whole[i] for i in range(count)]


def transposed_gradient(site: Backward) -> Sequence[Expr]:
    """The gradients of a transposed convolution with respect to data and weight."""
    data, weight = site.args
    known = site.attrs
    gradient = site.as_type_of(data)
    spatial = spatial_axes(known.data_layout)
    sizes = extents(site.tensor_type(weight).shape, known.kernel_layout, spatial)
    result = known.out_layout or known.data_layout
    kernel_layout = known.kernel_layout.translate(_SWAPPED)
    by_data = build(
        f"nn.conv{len(spatial)}d",
        gradient,
        weight,
        **_steps(known),
        data_layout=result,
        kernel_layout=kernel_layout,
        out_layout=known.data_layout,
    )
    sides = _Sides(data, known.data_layout, gradient, result)
    return [by_data, _weight_gradient(sides, known, kernel_layout, weight, sizes)]


# --- depthwise weights with a multiplier -------------------------------------------------------


def _has_multiplier(site: Backward) -> bool:
    """Whether the weight is (channels, multiplier, …)."""
    known = site.attrs
    (outputs,) = extents(site.type.shape, known.out_layout or known.data_layout, "C")
    (rows,) = extents(site.tensor_type(site.args[1]).shape, known.kernel_layout, "O")
    return known.groups > 1 and rows != outputs


def _with_multiplier(site: Backward, spatial: str) -> Sequence[Expr]:
    """The rule with the weight as (channels * multiplier, 1, …)."""
    data, weight = site.args
    known = site.attrs
    plain = "OI" + spatial
    inputs = extents(site.tensor_type(data).shape, known.data_layout, "C" + spatial)
    sizes = extents(site.tensor_type(weight).shape, known.kernel_layout, spatial)
    source = {"src_layout": known.kernel_layout, "dst_layout": plain}
    ordered = (
        build("layout_transform", weight, **source) if known.kernel_layout != plain else weight
    )
    wide = build("reshape", ordered, newshape=(-1, 1, *sizes))
    by_data, by_weight = _gradients(site, wide, plain, inputs, sizes)
    by_weight = build("reshape_like", by_weight, ordered)
    if known.kernel_layout != plain:
        back = {"src_layout": plain, "dst_layout": known.kernel_layout}
        by_weight = build("layout_transform", by_weight, **back)
    return [by_data, by_weight]


def backward_weight_gradient(site: Backward) -> Sequence[Expr]:
    """The gradients of the gradient of a weight: it is linear in the gradient and in data."""
    grad, data = site.args
    known = site.attrs
    weight = site.as_type_of(data)
    result = known.out_layout or known.data_layout
    spatial = spatial_axes(known.data_layout)
    inputs = extents(site.tensor_type(data).shape, known.data_layout, spatial)
    outputs = extents(site.tensor_type(grad).shape, result, spatial)
    steps = _steps(known)
    by_grad = build(
        "nn.conv2d",
        data,
        weight,
        **steps,
        data_layout=known.data_layout,
        kernel_layout=known.kernel_layout,
        out_layout=result,
    )
    more = _output_padding(known, inputs, outputs, known.kernel_size)
    by_data = build(
        "nn.conv2d_transpose",
        grad,
        weight,
        **steps,
        data_layout=result,
        kernel_layout=known.kernel_layout.translate(_SWAPPED),
        out_layout=known.data_layout,
        output_padding=[stride - 1 for stride in known.strides] if more is None else more,
    )
    return [by_grad, build("slice_like", by_data, data) if more is None else by_data]
