"""ResNet for videos: `resnet` over three spatial axes."""

from __future__ import annotations

from relay.ir.expr import Function
from relay.testing import resnet
from relay.testing.init import workload


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:
    """A ResNet for videos with softmax; `image_shape` is in `layout`."""
    return resnet.get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype)


get_workload = workload(get_net)
