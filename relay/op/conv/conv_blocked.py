"""Convolutions in blocked layouts, for vector units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay.ir.expr import Call
from relay.ir.types import Type
from relay.op.attributes import with_attrs
from relay.op.building.helper import helper
from relay.op.building.layout_rules import CONVOLUTION
from relay.op.conv.conv import ARGUMENTS, Conv2DAttrs, convolution_type, convolve, data_shape
from relay.op.conv.conv_compute import convolution
from relay.op.conv.conv_rules import convolution_gradient
from relay.op.facts import Precision, Trait
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.site import Relation, Site


def _depthwise_type(site: Site) -> Type | None:
    """A convolution with a group per input channel."""
    if (shape := data_shape(site)) is not None:
        site.require_equal(shape[1], site.attrs.groups, "input channels and `groups`")
    return convolution_type(site)


def _define(
    name: str, summary: str, doc: str, relation: Relation, *samples: Sample
) -> tuple[OpDef, Callable[..., Call]]:
    record = define(
        name,
        doc=doc,
        arguments=ARGUMENTS,
        attrs=Conv2DAttrs,
        relation=relation,
        reference=with_attrs(Conv2DAttrs, convolve),
        compute=with_attrs(Conv2DAttrs, convolution),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        traits=Trait.BILINEAR,
        layout=CONVOLUTION,
        precision=Precision.ALWAYS,
        gradient=convolution_gradient,
        samples=samples,
    )
    renamed = {"weight": "kernel"}
    defaults: Any = {"padding": (0, 0), "data_layout": "NCHW8c", "out_dtype": ""}
    return record, helper(record, summary, renamed=renamed, **defaults)


CONV2D_NCHWC, contrib_conv2d_nchwc = _define(
    "nn.contrib_conv2d_NCHWc",
    "A convolution in a blocked layout.",
    "`nn.conv2d` of images and weights in blocked layouts.",
    convolution_type,
    sample(
        (1, 2, 4, 5, 2),
        (2, 2, 3, 3, 2, 3),
        data_layout="NCHW2c",
        kernel_layout="OIHW2i3o",
        out_layout="NCHW3c",
        padding=(1, 0, 2, 1),
        strides=(1, 2),
        dilation=(1, 2),
    ),
    sample(
        (1, 1, 3, 3, 4),
        (1, 1, 2, 2, 2, 4, 2),
        data_layout="NCHW4c",
        kernel_layout="OIHW2i4o2i",
        channels=4,
        kernel_size=2,
        dtype="int8",
        low=-99,
        high=99,
        out_dtype="int32",
    ),
    sample(
        (1, 2, 3, 3, 2),
        (2, 1, 2, 2, 2, 2),
        data_layout="NCHW2c",
        kernel_layout="OIHW2i2o",
        groups=2,
    ),
)
DEPTHWISE_CONV2D_NCHWC, contrib_depthwise_conv2d_nchwc = _define(
    "nn.contrib_depthwise_conv2d_NCHWc",
    "A depthwise convolution in a blocked layout.",
    "Depthwise `nn.conv2d` in blocked layouts; `groups` is the number of channels.",
    _depthwise_type,
    sample(
        (1, 2, 4, 5, 2),
        (2, 1, 3, 3, 1, 2),
        groups=4,
        data_layout="NCHW2c",
        kernel_layout="OIHW1i2o",
        padding=1,
        strides=2,
        dilation=(2, 1),
    ),
    sample(
        (1, 1, 3, 3, 2),
        (2, 1, 2, 2, 1, 2),
        groups=2,
        channels=4,
        kernel_size=2,
        data_layout="NCHW2c",
        kernel_layout="OIHW1i2o",
        out_layout="NCHW4c",
        dtype="int8",
        out_dtype="int32",
    ),
)
