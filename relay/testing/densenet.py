"""DenseNet (Huang et al. 2017)."""

from __future__ import annotations

from relay import op
from relay.errors import RelayError
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import workload

# first channels, growth per layer, layers per block
SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
BOTTLENECK = 4


def _norm_conv(data: Expr, channels: int, kernel: int, name: str) -> Expr:
    x = op.nn.relu(layers.batch_norm_infer(data, name=f"{name}_bn"))
    pad = kernel // 2
    return layers.conv2d(
        x,
        name=f"{name}_conv",
        channels=channels,
        kernel_size=(kernel, kernel),
        padding=(pad, pad),
    )


def _dense_block(x: Expr, count: int, growth: int, name: str) -> Expr:
    for number in range(1, count + 1):
        new = _norm_conv(x, BOTTLENECK * growth, 1, f"{name}_layer{number}_1")
        new = _norm_conv(new, growth, 3, f"{name}_layer{number}_2")
        x = op.concatenate((x, new), axis=1)
    return x


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """Four dense blocks with downsampling transitions between them."""
    if densenet_size not in SIZES:
        raise RelayError(f"no DenseNet of {densenet_size} layers; there is {sorted(SIZES)}")
    channels, growth, blocks = SIZES[densenet_size]
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = layers.conv2d(
        x, name="conv1", channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3)
    )
    x = op.nn.relu(layers.batch_norm_infer(x, name="bn1"))
    x = op.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for number, count in enumerate(blocks, 1):
        x = _dense_block(x, count, growth, f"block{number}")
        channels += count * growth
        if number < len(blocks):
            channels //= 2
            x = _norm_conv(x, channels, 1, f"transition{number}")
            x = op.nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = op.nn.relu(layers.batch_norm_infer(x, name="bn_final"))
    x = op.nn.batch_flatten(op.nn.global_avg_pool2d(x))
    out = layers.dense_add_bias(x, units=classes, name="fc")
    return Function(tuple(free_vars(out)), out)


get_workload = workload(get_net)
