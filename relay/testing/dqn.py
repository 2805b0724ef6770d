"""The deep Q-network for Atari games (Mnih et al. 2015)."""

from __future__ import annotations

from relay import op
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import workload


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Three convolutions and two dense layers; a value for each action."""
    if layout == "NHWC":
        image_shape = (*image_shape[1:], image_shape[0])
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    kernel_layout = layers.conv_kernel_layout(layout)
    sizes = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
    for number, (channels, kernel, stride) in enumerate(sizes, 1):
        x = layers.conv2d_add_bias(
            x,
            name=f"conv{number}",
            axis=layout.index("C"),
            channels=channels,
            kernel_size=(kernel, kernel),
            strides=(stride, stride),
            data_layout=layout,
            kernel_layout=kernel_layout,
        )
        x = op.nn.relu(x)
    x = op.nn.batch_flatten(x)
    x = op.nn.relu(layers.dense_add_bias(x, units=512, name="dense1"))
    out = layers.dense_add_bias(x, units=num_actions, name="dense2")
    return Function(tuple(free_vars(out)), out)


get_workload = workload(get_net)
