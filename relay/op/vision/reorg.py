"""The reordering layer of Darknet, which YOLO networks use."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.building.elements import moved, regrouped
from relay.op.facts import Trait
from relay.op.gradient_rules import scattering
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Site
from relay.op.tensor.blocks import divided


@attrs
class YoloReorgAttrs(Attrs):
    """stride: the extent of a block along both spatial axes"""

    stride: int = 1


def _yolo_reorg_type(site: Site) -> Type | None:
    """(n, c, h, w) -> (n, c * stride², h / stride, w / stride)"""
    stride = site.attrs.stride
    site.require(stride > 0, "`stride` is not positive", "1 or more", f"stride = {stride}")
    if (data := site.tensor(0, rank=4)) is None:
        return None
    batch, channels, height, width = data.shape
    divided(site, channels, stride * stride, "the channels")
    shape = (
        batch,
        dims.multiply(channels, stride * stride),
        divided(site, height, stride, "the height"),
        divided(site, width, stride, "the width"),
    )
    return TensorType(shape, data.dtype)


def _yolo_reorg(data: np.ndarray, stride: int) -> np.ndarray:
    batch, channels, height, width = data.shape
    wide = data.reshape(batch, channels // stride**2, height, stride, width, stride)
    blocks = wide.transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(batch, channels * stride**2, height // stride, width // stride)


def _yolo_reorg_elements(data: te.Tensor, stride: int, out: te.Spec) -> te.Tensor:
    batch, channels, height, width = data.shape
    few = channels // (stride * stride)
    blocks = (batch, te.index(stride), te.index(stride), few, height, width)
    images = (batch, few, height * stride, width * stride)

    def source(*place: te.Expr) -> tuple[te.Expr, ...]:
        n, down, across, c, y, x = regrouped(place, out.shape, blocks)
        return regrouped((n, c, y * stride + down, x * stride + across), images, data.shape)

    return moved(data, out, source)


yolo_reorg = define(
    "vision.yolo_reorg",
    doc="The reorg layer of Darknet: data read as (n, c / stride², h * stride, w * stride), with "
    "its stride x stride blocks moved to channels, and the elements read as (n, c * stride², h / "
    "stride, w / stride). It differs from `nn.space_to_depth`.",
    arguments=[("data", "images")],
    attrs=YoloReorgAttrs,
    relation=_yolo_reorg_type,
    reference=_yolo_reorg,
    compute=_yolo_reorg_elements,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((2, 4, 2, 6), stride=2),
        sample((1, 9, 3, 3), stride=3, dtype="int8"),
        sample((1, 2, 3, 4), dtype="float16"),
    ],
    gradient=scattering(),
)
