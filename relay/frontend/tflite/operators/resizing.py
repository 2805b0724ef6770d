"""Resized images, whose channels are last."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()


def _coordinates(node: Node, plain: str) -> str:
    """How positions of the result are those of data."""
    corners, centers = (node.option(one, False) for one in ("align_corners", "half_pixel_centers"))
    if corners and centers:
        raise node.refused("either corners or centers are aligned", found="both")
    return "align_corners" if corners else "half_pixel" if centers else plain


def _resized(node: Node, data: Expr, size: Expr, **how: str) -> Expr:
    node.must_have_axes(data, 4, "images")
    sizes = node.sizes(size)
    known = node.known.of(sizes) or (None, None)
    numbers = static(known)
    if numbers is not None:
        return op.image.resize2d(data, numbers, layout="NHWC", **how)
    found = op.image.resize2d(data, sizes, layout="NHWC", **how)
    batch, *_, channels = node.shape(data)
    return node.declare(found, (batch, *known, channels), node.dtype(data))


@table.of_reals("RESIZE_BILINEAR")
def resize_bilinear(node: Node, data: Expr, size: Expr) -> Expr:
    coordinates = _coordinates(node, "asymmetric")
    return _resized(node, data, size, method="linear", coordinate_transformation_mode=coordinates)


@table.moving("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest_neighbor(node: Node, data: Expr, size: Expr) -> Expr:
    coordinates = _coordinates(node, "asymmetric")
    rounding = {"align_corners": "round_prefer_ceil"}.get(coordinates, "floor")
    if coordinates == "half_pixel":
        coordinates = "tf_half_pixel_for_nn"
    return _resized(
        node,
        data,
        size,
        method="nearest_neighbor",
        coordinate_transformation_mode=coordinates,
        rounding_method=rounding,
    )
