"""A multilayer perceptron for MNIST."""

from __future__ import annotations

from relay import op
from relay.ir.expr import Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import workload


def get_net(
    batch_size: int,
    num_classes: int = 10,
    image_shape: tuple[int, ...] = (1, 28, 28),
    dtype: str = "float32",
) -> Function:
    """Flatten - 128 - relu - 64 - relu - classes - softmax"""
    x = op.nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    x = op.nn.relu(layers.dense_add_bias(x, units=128, name="fc1"))
    x = op.nn.relu(layers.dense_add_bias(x, units=64, name="fc2"))
    out = op.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc3"))
    return Function(tuple(free_vars(out)), out)


get_workload = workload(get_net)
