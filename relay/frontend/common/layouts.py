"""Images of models with their channels last, asked to have them first."""

from __future__ import annotations

from relay.ir.module import IRModule
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm
from relay.transform.infer_type import InferType
from relay.transform.layout.convert_layout import ConvertLayout

LAYOUTS = ("NHWC", "NCHW")  # that can be asked for

_IMAGES = ("nn.conv2d", "nn.conv2d_transpose")
_OTHERS = (
    "nn.max_pool2d",
    "nn.avg_pool2d",
    "nn.global_max_pool2d",
    "nn.global_avg_pool2d",
    "image.resize2d",
)


def channels_first(module: IRModule) -> IRModule:
    """Convolutions and pools of images with their channels first; what lies between two of them is
    an expression first, so that no transform stays there."""
    wanted = {**{one: ["NCHW", "default"] for one in _IMAGES}, **{one: ["NCHW"] for one in _OTHERS}}
    whole = InferType()(ToGraphNormalForm()(module))
    return ConvertLayout(wanted)(whole)
