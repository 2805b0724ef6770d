"""Residual networks for films: those of `resnet` over three axes."""

from __future__ import annotations

from relay import nd, op
from relay.ir.expr import Function, var
from relay.ir.module import IRModule
from relay.testing import layers
from relay.testing.init import create_workload
from relay.testing.resnet import Spatial, build


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:
    """A residual network for films; `image_shape` is given in the layout."""
    spatial = Spatial(layers.conv3d, op.nn.max_pool3d, op.nn.global_avg_pool3d, layout)
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    height = image_shape[layout.index("H") - 1]
    return build(data, num_classes, num_layers, height <= 32, spatial)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """The network and its parameters."""
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype)
    return create_workload(net)
