"""Resized images, whose channels are last."""

from __future__ import annotations

from relay.frontend.common.resized_images import coordinates, linear, nearest
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()


def _positions(node: Node) -> str:
    corners, centers = (node.option(one, False) for one in ("align_corners", "half_pixel_centers"))
    return coordinates(node, corners, centers)


@table.of_reals("RESIZE_BILINEAR")
def resize_bilinear(node: Node, data: Expr, size: Expr) -> Expr:
    return linear(node, data, size, _positions(node))


@table.moving("RESIZE_NEAREST_NEIGHBOR")
def resize_nearest_neighbor(node: Node, data: Expr, size: Expr) -> Expr:
    return nearest(node, data, size, _positions(node))
