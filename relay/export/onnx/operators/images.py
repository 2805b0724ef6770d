"""Resizing of images."""

from __future__ import annotations

from typing import Any

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.operators.convolution import SPACE, channels_first, in_layout
from relay.export.onnx.step import Step
from relay.op.building.interpolation import default_rounding

table = Exporters()

METHODS = {
    "nearest_neighbor": "nearest",
    "linear": "linear",
    "cubic": "cubic",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}
# of ties
ROUNDINGS = {
    "round": "round_prefer_ceil",
    "round_prefer_floor": "round_prefer_floor",
    "round_prefer_ceil": "round_prefer_ceil",
    "floor": "floor",
    "ceil": "ceil",
}
PLACES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric")


def resized(step: Step, data: Value, **attributes: Any) -> str:
    """An image resized to the shape of the result."""
    layout = step.attrs.layout
    axes = data.rank - 2
    wanted = "NC" + SPACE[axes]
    given = channels_first(step, data, layout, wanted)
    sizes = [step.shape[layout.index(axis)] for axis in wanted]
    found = step.node("Resize", given, None, None, step.integers(*sizes), **attributes)
    return in_layout(step, found, wanted, layout)


@table("image.resize1d", "image.resize2d", "image.resize3d")
def resize(step: Step, data: Value) -> str:
    attrs = step.attrs
    mode = attrs.coordinate_transformation_mode
    method = METHODS[attrs.method]
    if step.result.dtype != data.dtype:
        raise step.refused(f"Resize of ONNX gives {data.dtype}")
    if mode not in PLACES:
        raise step.refused(f"no places as in mode {mode}")
    if data.dtype not in ("float32", "float64", "float16", "bfloat16") and method != "nearest":
        raise step.refused("integers between others are not rounded alike")
    rounding = ROUNDINGS[attrs.rounding_method or default_rounding(mode)]
    more: dict[str, Any] = {"nearest_mode": rounding} if method == "nearest" else {}
    if method == "cubic":
        more = {
            "cubic_coeff_a": float(attrs.cubic_alpha),
            "exclude_outside": int(bool(attrs.cubic_exclude)),
        }
    return resized(step, data, mode=method, coordinate_transformation_mode=mode, **more)


@table("nn.upsampling", "nn.upsampling3d")
def upsampling(step: Step, data: Value) -> str:
    attrs, method = step.attrs, METHODS[step.attrs.method]
    if step.operator == "nn.upsampling3d":
        positions = attrs.coordinate_transformation_mode
    else:
        positions = "align_corners" if attrs.align_corners else "asymmetric"
    if positions not in PLACES:
        raise step.refused(f"no places as in mode {positions}")
    more: dict[str, Any] = {}
    if method == "nearest":
        more["nearest_mode"] = ROUNDINGS[default_rounding(positions)]
    elif method == "cubic":
        more["cubic_coeff_a"] = -0.5
    return resized(step, data, mode=method, coordinate_transformation_mode=positions, **more)
