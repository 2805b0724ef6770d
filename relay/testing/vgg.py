"""VGG (Simonyan and Zisserman 2015)."""

from __future__ import annotations

from relay import op
from relay.errors import RelayError
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import Workload, create_workload

# convolutions per stage, by number of layers
STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """Five stages of 3x3 convolutions and pooling, and three dense layers."""
    if num_layers not in STAGES:
        raise RelayError(f"no VGG network of {num_layers} layers; there is {sorted(STAGES)}")
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for stage, (count, channels) in enumerate(zip(STAGES[num_layers], CHANNELS, strict=True), 1):
        for number in range(1, count + 1):
            name = f"conv{stage}_{number}"
            x = layers.conv2d_add_bias(
                x, name=name, channels=channels, kernel_size=(3, 3), padding=(1, 1)
            )
            if batch_norm:
                x = layers.batch_norm_infer(x, name=f"bn{stage}_{number}")
            x = op.nn.relu(x)
        x = op.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = op.nn.batch_flatten(x)
    for name in ("fc6", "fc7"):
        x = op.nn.dropout(op.nn.relu(layers.dense_add_bias(x, units=4096, name=name)), rate=0.5)
    out = op.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc8"))
    return Function(tuple(free_vars(out)), out)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Workload:
    """The network and its parameters."""
    net = get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm)
    return create_workload(net)
