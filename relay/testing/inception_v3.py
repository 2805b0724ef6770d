"""Inception v3 (Szegedy et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import workload

# A convolution of a branch: (channels, kernel, strides, padding)
Step = tuple[int, tuple[int, int], tuple[int, int], tuple[int, int]]


def step(channels: int, height: int = 1, width: int | None = None, stride: int = 1) -> Step:
    """A convolution with 'same' padding at stride 1, and none at stride 2."""
    width = height if width is None else width
    pad = (height // 2, width // 2) if stride == 1 else (0, 0)
    return channels, (height, width), (stride, stride), pad


def conv(data: Expr, of: Step, name: str) -> Expr:
    """Convolution, normalization, relu."""
    channels, kernel, strides, padding = of
    x = layers.conv2d(
        data,
        name=f"{name}_conv",
        channels=channels,
        kernel_size=kernel,
        strides=strides,
        padding=padding,
    )
    x = layers.batch_norm_infer(x, epsilon=2e-5, scale=False, name=f"{name}_bn")
    return op.nn.relu(x)


def chain(data: Expr, steps: Sequence[Step], name: str) -> Expr:
    for number, of in enumerate(steps):
        data = conv(data, of, f"{name}_{number}")
    return data


def average(data: Expr) -> Expr:
    return op.nn.avg_pool2d(
        data, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), count_include_pad=True
    )


def shrink(data: Expr) -> Expr:
    return op.nn.max_pool2d(data, pool_size=(3, 3), strides=(2, 2))


def block_a(x: Expr, pool_channels: int, name: str) -> Expr:
    """1x1, 5x5, double 3x3, pool"""
    return op.concatenate(
        (
            chain(x, [step(64)], f"{name}_1x1"),
            chain(x, [step(48), step(64, 5)], f"{name}_5x5"),
            chain(x, [step(64), step(96, 3), step(96, 3)], f"{name}_3x3"),
            chain(average(x), [step(pool_channels)], f"{name}_pool"),
        ),
        axis=1,
    )


def block_b(x: Expr, name: str) -> Expr:
    """Downsampling: 3x3, double 3x3, pool"""
    return op.concatenate(
        (
            chain(x, [step(384, 3, stride=2)], f"{name}_3x3"),
            chain(x, [step(64), step(96, 3), step(96, 3, stride=2)], f"{name}_double"),
            shrink(x),
        ),
        axis=1,
    )


def block_c(x: Expr, width: int, name: str) -> Expr:
    """7x7 factorized as 1x7 and 7x1, once and twice"""
    twice = [step(width), step(width, 7, 1), step(width, 1, 7), step(width, 7, 1), step(192, 1, 7)]
    return op.concatenate(
        (
            chain(x, [step(192)], f"{name}_1x1"),
            chain(x, [step(width), step(width, 1, 7), step(192, 7, 1)], f"{name}_7x7"),
            chain(x, twice, f"{name}_double"),
            chain(average(x), [step(192)], f"{name}_pool"),
        ),
        axis=1,
    )


def block_d(x: Expr, name: str) -> Expr:
    """Downsampling: 3x3, 7x7 and 3x3, pool"""
    seven = [step(192), step(192, 1, 7), step(192, 7, 1), step(192, 3, stride=2)]
    return op.concatenate(
        (
            chain(x, [step(192), step(320, 3, stride=2)], f"{name}_3x3"),
            chain(x, seven, f"{name}_7x7"),
            shrink(x),
        ),
        axis=1,
    )


def block_e(x: Expr, pool: str, name: str) -> Expr:
    """1x1, and 3x3 as 1x3 beside 3x1, once and after a 3x3"""
    once = chain(x, [step(384)], f"{name}_3x3")
    twice = chain(x, [step(448), step(384, 3)], f"{name}_double")
    pooled = (
        average(x)
        if pool == "avg"
        else op.nn.max_pool2d(x, pool_size=(3, 3), strides=(1, 1), padding=(1, 1))
    )
    return op.concatenate(
        (
            chain(x, [step(320)], f"{name}_1x1"),
            conv(once, step(384, 1, 3), f"{name}_3x3_wide"),
            conv(once, step(384, 3, 1), f"{name}_3x3_high"),
            conv(twice, step(384, 1, 3), f"{name}_double_wide"),
            conv(twice, step(384, 3, 1), f"{name}_double_high"),
            chain(pooled, [step(192)], f"{name}_pool"),
        ),
        axis=1,
    )


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> Function:
    """A stem of convolutions, eleven blocks, an average of 8 by 8."""
    x: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = conv(x, step(32, 3, stride=2), "stem_0")
    x = conv(x, (32, (3, 3), (1, 1), (0, 0)), "stem_1")
    x = shrink(conv(x, step(64, 3), "stem_2"))
    x = conv(x, step(80), "stem_3")
    x = shrink(conv(x, (192, (3, 3), (1, 1), (0, 0)), "stem_4"))
    for number, pool_channels in enumerate((32, 64, 64)):
        x = block_a(x, pool_channels, f"mixed_a{number}")
    x = block_b(x, "mixed_b")
    for number, width in enumerate((128, 160, 160, 192)):
        x = block_c(x, width, f"mixed_c{number}")
    x = block_d(x, "mixed_d")
    x = block_e(x, "avg", "mixed_e0")
    x = block_e(x, "max", "mixed_e1")
    x = op.nn.avg_pool2d(x, pool_size=(8, 8), strides=(1, 1))
    x = op.nn.batch_flatten(x)
    out = op.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc1"))
    return Function(tuple(free_vars(out)), out)


get_workload = workload(get_net)
