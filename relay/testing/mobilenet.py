"""MobileNet v1 (Howard et al. 2017): depthwise separable convolutions."""

from __future__ import annotations

from relay import op
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import Workload, create_workload

# (output channels, stride) of the separable convolutions
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
MIDDLE = ((512, 1),) * 5
LAST = ((1024, 2), (1024, 1))


def conv_block(
    data: Expr,
    name: str,
    channels: int,
    kernel: int,
    stride: int,
    layout: str,
    groups: int = 1,
    epsilon: float = 1e-5,
) -> Expr:
    """Convolution, normalization, relu."""
    x = layers.conv2d(
        data,
        name=f"{name}_conv",
        channels=channels,
        kernel_size=(kernel, kernel),
        strides=(stride, stride),
        padding=(kernel // 2, kernel // 2),
        groups=groups,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, is_depthwise=groups > 1),
    )
    x = layers.batch_norm_infer(x, epsilon=epsilon, axis=layout.index("C"), name=f"{name}_bn")
    return op.nn.relu(x)


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """A MobileNet; `alpha` scales the channels, `is_shallow` drops the middle five blocks."""
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    width = int(32 * alpha)
    x = conv_block(x, "conv_block_1", width, 3, 2, layout)
    blocks = BLOCKS + (() if is_shallow else MIDDLE) + LAST
    for number, (channels, stride) in enumerate(blocks, 1):
        name = f"separable_conv_block_{number}"
        x = conv_block(x, f"{name}_depthwise", width, 3, stride, layout, groups=width)
        width = int(channels * alpha)
        x = conv_block(x, f"{name}_pointwise", width, 1, 1, layout)
    x = op.nn.batch_flatten(op.nn.global_avg_pool2d(x, layout=layout))
    out = op.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc"))
    return Function(tuple(free_vars(out)), out)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Workload:
    """The network and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype, layout=layout))
