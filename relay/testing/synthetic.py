"""A small network of convolutions with constants for weights, for trying things out."""

from __future__ import annotations

import numpy as np

from relay import nd, op
from relay.ir.expr import Constant, Expr, Function, const, var
from relay.ir.module import IRModule
from relay.ir.variables import free_vars
from relay.testing.init import create_workload


def get_net(
    input_shape: tuple[int, ...] = (1, 3, 24, 12),
    channels: int = 4,
    depth: int = 3,
    dtype: str = "float32",
) -> Function:
    """`depth` convolutions, each followed by relu and added to what came before it."""
    random = np.random.default_rng(0)

    def weight(inputs: int, kernel: int) -> Constant:
        values = random.uniform(-1, 1, (channels, inputs, kernel, kernel)) / (inputs * kernel)
        return const(values, dtype)

    data = var("data", shape=input_shape, dtype=dtype)
    x: Expr = op.nn.conv2d(data, weight(input_shape[1], 1), kernel_size=(1, 1), channels=channels)
    for _ in range(depth):
        y = op.nn.conv2d(
            x, weight(channels, 3), kernel_size=(3, 3), channels=channels, padding=(1, 1)
        )
        x = op.add(x, op.nn.relu(y))
    out = op.nn.batch_flatten(op.nn.global_avg_pool2d(x))
    return Function(tuple(free_vars(out)), out)


def get_workload(
    input_shape: tuple[int, ...] = (1, 3, 24, 12),
    channels: int = 4,
    depth: int = 3,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """The network; its weights are inside."""
    return create_workload(get_net(input_shape, channels, depth, dtype))
