"""A small residual network of convolutions with constant weights."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.ir.expr import Constant, Expr, Function, const, var
from relay.ir.variables import free_vars
from relay.testing.init import workload


def get_net(
    input_shape: tuple[int, ...] = (1, 3, 24, 12),
    channels: int = 4,
    depth: int = 3,
    dtype: str = "float32",
) -> Function:
    """`depth` residual blocks of convolution and relu."""
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


get_workload = workload(get_net)
