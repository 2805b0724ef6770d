"""The networks of `relay.testing` by name, with batch size 1, and small variants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import relay
from relay import nd
from relay.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    mlp,
    mobilenet,
    resnet,
    squeezenet,
    vgg,
)

Network = tuple[relay.IRModule, dict[str, nd.NDArray]]

NETWORKS: dict[str, Callable[[], Network]] = {
    "resnet-18": lambda: resnet.get_workload(num_layers=18),
    "resnet-50": lambda: resnet.get_workload(num_layers=50),
    "mobilenet": mobilenet.get_workload,
    "vgg-16": lambda: vgg.get_workload(1, num_layers=16),
    "squeezenet": squeezenet.get_workload,
    "densenet-121": lambda: densenet.get_workload(batch_size=1),
    "inception-v3": inception_v3.get_workload,
    "dcgan": lambda: dcgan.get_workload(1),
    "dqn": lambda: dqn.get_workload(1),
    "mlp": lambda: mlp.get_workload(1),
}

SMALL: dict[str, Callable[[], Network]] = {
    "resnet-18": lambda: resnet.get_workload(
        num_layers=18, image_shape=(3, 32, 32), num_classes=10
    ),
    "dqn": lambda: dqn.get_workload(1, image_shape=(4, 36, 36)),
    "mlp": lambda: mlp.get_workload(1, image_shape=(1, 8, 8)),
}


def network(name: str, *, small: bool = False) -> Network:
    """A network and its weights, with random batch norm statistics and biases, so that ignoring one
    changes the result."""
    module, params = SMALL.get(name, NETWORKS[name])() if small else NETWORKS[name]()
    random = np.random.default_rng(1)
    for weight, value in params.items():
        if weight.endswith(("bias", "beta", "mean")):
            params[weight] = nd.array(random.uniform(-0.3, 0.3, value.shape).astype("float32"))
        elif weight.endswith(("gamma", "var")):
            params[weight] = nd.array(random.uniform(0.7, 1.3, value.shape).astype("float32"))
    return module, params


def example_input(module: relay.IRModule) -> np.ndarray:
    """A random input for a network."""
    data = next(p for p in module["main"].params if p.name_hint == "data")
    return np.random.default_rng(0).standard_normal(
        data.checked_type.concrete_shape, dtype=np.float32
    )
