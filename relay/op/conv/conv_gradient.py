"""The gradient of a convolution with respect to its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts
from relay.op.building.contraction import product
from relay.op.building.helper import helper
from relay.op.building.layout_rules import WEIGHT_GRADIENT
from relay.op.building.numerics import matrix_product
from relay.op.building.scalars import wide
from relay.op.building.views import Digits, LayoutIndex, fill, padded, view
from relay.op.building.window import pad_pairs, window_counts
from relay.op.conv.conv import Conv2DAttrs, columns, data_shape, require_groups, require_steps
from relay.op.conv.conv_compute import joined, with_groups
from relay.op.conv.conv_rules import backward_weight_gradient
from relay.op.facts import Precision
from relay.op.linalg.matmul import multiplied, product_dtype
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Site


def _backward_weight_type(site: Site) -> Type | None:
    """(n, o, windows…), (n, c, x…) -> (o, c / groups, k…)"""
    known = site.attrs
    require_steps(site)
    site.require(
        known.kernel_size is not None,
        "`kernel_size` is missing",
        "the extents of the window, which the arguments do not tell",
        "kernel_size = None",
    )
    data, grad_layout = data_shape(site, index=1), known.out_layout or known.data_layout
    known_layout = layouts.require_layout(site, "out_layout", grad_layout, "NCHW")
    kernel_layout = layouts.require_layout(site, "kernel_layout", known.kernel_layout, "OIHW")
    grad = layouts.unblocked_shape(site, 0, known_layout, "NCHW")
    values = site.tensor(1)
    if data is None or values is None:
        return None
    batch, inputs, *extents = data
    positions = window_counts(site, extents, known.kernel_size)
    if grad is None:
        if known.channels is None:
            return None
        shape = (batch, known.channels, *positions)
        grad_shape = layouts.blocked_shape(site, shape, "NCHW", known_layout)
        site.assign(0, TensorType(grad_shape, values.dtype))
        outputs = known.channels
    else:
        images, outputs, *places = grad
        site.require_equal(images, batch, "batches of gradient and data")
        for place, position in zip(places, positions, strict=True):
            site.require_equal(place, position, "extents of gradient and windows of data")
        if known.channels is not None:
            outputs = site.require_equal(outputs, known.channels, "output channels and `channels`")
    require_groups(site, inputs, "input")
    require_groups(site, outputs, "output")
    weight = (outputs, dims.floor_divide(inputs, known.groups), *known.kernel_size)
    dtype = product_dtype(site, values, site.tensor(0))
    return TensorType(layouts.blocked_shape(site, weight, "OIHW", kernel_layout), dtype)


def _backward_weight(grad: np.ndarray, data: np.ndarray, known: Conv2DAttrs) -> Any:
    """One matrix product per group, of the gradient with the columns of the convolution."""
    assert known.kernel_size is not None
    groups = known.groups
    x = layouts.unblocked(data, known.data_layout, "NCHW")
    g = layouts.unblocked(grad, known.out_layout or known.data_layout, "NCHW").swapaxes(0, 1)
    right, _positions = columns(x, known.kernel_size, known)
    left = g.reshape(groups, g.shape[0] // groups, right.shape[2])
    result = multiplied(
        matrix_product, left, right.swapaxes(1, 2), known.out_dtype or data.dtype.name
    )
    result = result.reshape(g.shape[0], x.shape[1] // groups, *known.kernel_size)
    return layouts.blocked(result, "OIHW", known.kernel_layout)


def _backward_weight_compute(
    grad: te.Tensor, data: te.Tensor, out: te.Spec, known: Conv2DAttrs
) -> te.Tensor:
    """The sum over images and windows of window elements times the gradient."""
    groups, pads = known.groups, dict(zip("HW", pad_pairs(known.padding, 2), strict=True))
    images = padded(view(data, known.data_layout), pads)
    slopes = view(grad, known.out_layout or known.data_layout)
    layout = layouts.read_layout(known.kernel_layout)
    outputs = slopes.extent("C") // groups
    axes = {letter: te.axis(slopes.extent(letter), f"r{letter.lower()}") for letter in "NHW"}
    stage, shape = layout, out.shape
    if groups > 1:
        stage, shape = with_groups(layout, out.shape, "O", groups)
    total = wide(out.dtype)

    def element(place: LayoutIndex) -> te.Expr:
        group = place.get("G", Digits())
        window = {
            letter: axes[letter] * stride + place[letter].whole * step
            for letter, stride, step in zip("HW", known.strides, known.dilation, strict=True)
        }
        value = images.at(N=axes["N"], C=group.then(place["I"]), **window)
        slope = slopes.at(C=group.then(place["O"]), **axes)
        return te.sum(product((value, slope), total), tuple(axes.values()))

    return joined(fill(shape, stage, element, "gradient"), stage, out, layout, "O", outputs)


CONV2D_BACKWARD_WEIGHT = define(
    "nn.conv2d_backward_weight",
    doc="The gradient of `nn.conv2d` with respect to its weight. The attributes are those of the "
    "convolution: `out_layout` is the layout of grad, `kernel_layout` that of the result.",
    arguments=[("grad", "the gradient of the convolution"), ("data", "its images")],
    attrs=Conv2DAttrs,
    relation=_backward_weight_type,
    reference=with_attrs(Conv2DAttrs, _backward_weight),
    compute=with_attrs(Conv2DAttrs, _backward_weight_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=WEIGHT_GRADIENT,
    precision=Precision.ALWAYS,
    gradient=backward_weight_gradient,
    samples=[
        sample((2, 4, 5, 6), (2, 3, 7, 8), kernel_size=3),
        sample(
            (1, 4, 3, 3),
            (1, 2, 6, 7),
            kernel_size=(3, 2),
            strides=(2, 3),
            padding=(1, 0, 0, 1),
            groups=2,
            channels=4,
        ),
        sample(
            (1, 3, 4, 2),
            (1, 5, 5, 3),
            kernel_size=2,
            dilation=(2, 1),
            data_layout="NHWC",
            kernel_layout="HWIO",
            dtype="float64",
        ),
        sample((1, 3, 3, 2), (1, 2, 4, 4), kernel_size=2, out_layout="NHWC", dtype="bfloat16"),
        sample((1, 2, 3, 3), (1, 2, 4, 4), kernel_size=2, dtype="int8", out_dtype="int32"),
    ],
)


def _backward_weight_call(*args: Expr, out_layout: str, data_layout: str, **known: Any) -> Call:
    own = "" if out_layout == data_layout else out_layout
    return CONV2D_BACKWARD_WEIGHT(*args, out_layout=own, data_layout=data_layout, **known)


conv2d_backward_weight = helper(
    CONV2D_BACKWARD_WEIGHT,
    "The gradient of `conv2d` with respect to its weight.",
    renamed={"out_layout": "grad_layout"},
    first=(*Conv2DAttrs.keys()[:6], "out_layout"),
    build=_backward_weight_call,
    padding=(0, 0),
    out_layout="NCHW",
    out_dtype="",
)
