"""Images with channels last, resized as TensorFlow and TFLite do."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.common.known_elements import SizedBuilder
from relay.ir.expr import Expr


def coordinates(node: SizedBuilder, corners: bool, centers: bool) -> str:
    """How positions of the result are those of data."""
    if corners and centers:
        raise node.refused("either corners or centers are aligned", found="both")
    return "align_corners" if corners else "half_pixel" if centers else "asymmetric"


def resized_to(node: SizedBuilder, data: Expr, size: Expr, **how: object) -> Expr:
    """Images of a size that the graph may compute."""
    node.must_have_axes(data, 4, "images")
    sizes = node.sizes(size)
    known = node.known.of(sizes) or (None, None)
    numbers = static(known)
    if numbers is not None:
        return op.image.resize2d(data, numbers, layout="NHWC", **how)
    found = op.image.resize2d(data, sizes, layout="NHWC", **how)
    batch, *_, channels = node.shape(data)
    return node.declare(found, (batch, *known, channels), node.dtype(data))


def linear(node: SizedBuilder, data: Expr, size: Expr, positions: str) -> Expr:
    """Images resized with linear interpolation."""
    return resized_to(node, data, size, method="linear", coordinate_transformation_mode=positions)


def nearest(node: SizedBuilder, data: Expr, size: Expr, positions: str) -> Expr:
    """Images resized to their nearest elements."""
    rounding = {"align_corners": "round_prefer_ceil"}.get(positions, "floor")
    if positions == "half_pixel":
        positions = "tf_half_pixel_for_nn"
    return resized_to(
        node,
        data,
        size,
        method="nearest_neighbor",
        coordinate_transformation_mode=positions,
        rounding_method=rounding,
    )
