"""SqueezeNet (Iandola et al. 2016)."""

from __future__ import annotations

from itertools import count

from relay import op
from relay.errors import RelayError
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import Workload, create_workload

# per version: (channels, kernel) of the first convolution, then (squeeze, expand) of the fire
# modules, in groups that begin with a pool
VERSIONS = {
    "1.0": (
        (96, 7),
        (
            ((16, 64), (16, 64), (32, 128)),
            ((32, 128), (48, 192), (48, 192), (64, 256)),
            ((64, 256),),
        ),
    ),
    "1.1": (
        (64, 3),
        (
            ((16, 64), (16, 64)),
            ((32, 128), (32, 128)),
            ((48, 192), (48, 192), (64, 256), (64, 256)),
        ),
    ),
}


def _conv(data: Expr, channels: int, kernel: int, name: str, stride: int = 1, pad: int = 0) -> Expr:
    x = layers.conv2d_add_bias(
        data,
        name=name,
        channels=channels,
        kernel_size=(kernel, kernel),
        strides=(stride, stride),
        padding=(pad, pad),
    )
    return op.nn.relu(x)


def _fire(data: Expr, squeeze: int, expand: int, name: str) -> Expr:
    narrow = _conv(data, squeeze, 1, f"{name}_squeeze")
    left = _conv(narrow, expand, 1, f"{name}_left")
    right = _conv(narrow, expand, 3, f"{name}_right", pad=1)
    return op.concatenate((left, right), axis=1)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    version: str = "1.0",
    dtype: str = "float32",
) -> Function:
    """A convolution, eight fire modules with pooling between them, a 1x1 classifier."""
    if version not in VERSIONS:
        raise RelayError(f"no SqueezeNet {version}; there is {', '.join(VERSIONS)}")
    (channels, kernel), groups = VERSIONS[version]
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = _conv(x, channels, kernel, "conv1", stride=2)
    fires = count(1)
    for group in groups:
        x = op.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2))
        for squeeze, expand in group:
            x = _fire(x, squeeze, expand, f"fire{next(fires)}")
    x = _conv(op.nn.dropout(x, rate=0.5), num_classes, 1, "conv_final")
    out = op.nn.softmax(op.nn.batch_flatten(op.nn.global_avg_pool2d(x)))
    return Function(tuple(free_vars(out)), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Workload:
    """The network and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
