"""The networks of `gpu.py`: the same program for Relay and for PyTorch, with the same weights.

    one = network("encoder-128", 1)        one.module, one.params, one.inputs; one.in_torch

The goals are ratios to the best peer, on one H200.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import dynamic_peers
import numpy as np
import torch
import torch_zoo
from dynamic import random_tree
from peers import to_torch

import relay
from relay import nd
from relay.frontend.model import Example, as_module
from relay.testing import densenet, dqn, mlp, mobilenet, resnet, squeezenet, tree_lstm, vgg
from relay.transform import InferType


@dataclass
class Network:
    """A program with weights and inputs; `in_torch` takes tensors on the processor."""

    module: relay.IRModule
    params: Mapping[str, Any]
    inputs: tuple[Any, ...]
    in_torch: Any


TESTING: Final[dict[str, Callable[[int], Any]]] = {
    "resnet-18": lambda n: resnet.get_workload(batch_size=n, num_layers=18),
    "resnet-50": lambda n: resnet.get_workload(batch_size=n, num_layers=50),
    "mobilenet": lambda n: mobilenet.get_workload(batch_size=n),
    "vgg-16": lambda n: vgg.get_workload(n, num_layers=16),
    "squeezenet": lambda n: squeezenet.get_workload(batch_size=n),
    "densenet-121": lambda n: densenet.get_workload(batch_size=n),
    "dqn": dqn.get_workload,
    "mlp": mlp.get_workload,
}


class Lstm(torch.nn.Module):
    """A layer of 256 units over 32 steps."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class Unrolled(torch.nn.Module):
    """The same as straight-line code."""

    def __init__(self, layer: torch.nn.LSTM) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layer = self.layer
        bias = layer.bias_ih_l0 + layer.bias_hh_l0
        gates_of_values = torch.nn.functional.linear(x, layer.weight_ih_l0, bias)
        hidden = cell = torch.zeros_like(x[0])
        states = []
        for of_value in gates_of_values.unbind(0):
            gates = of_value + torch.nn.functional.linear(hidden, layer.weight_hh_l0)
            take_in, forget, new, out = gates.chunk(4, 1)
            cell = forget.sigmoid() * cell + take_in.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
            states.append(hidden)
        return torch.stack(states)


IN_TORCH: Final[dict[str, Callable[[int], Any]]] = {
    "mobilenet-v2": lambda n: (torch_zoo.mobilenet_v2(), torch.randn(n, 3, 224, 224)),
    "encoder-128": lambda n: (torch_zoo.encoder(128)[0], torch.randn(n, 128, 768)),
    "encoder-512": lambda n: (torch_zoo.encoder(512)[0], torch.randn(n, 512, 768)),
    "lstm": lambda n: (Lstm(), torch.randn(32, n, 256)),
}
TREES: Final = "tree-lstm"
NAMES: Final = (*TESTING, *IN_TORCH, TREES)

# (network, batch, kind): the goal
GOALS: Final = {
    ("resnet-18", 1, "float16"): 2.8,
    ("mobilenet-v2", 1, "float16"): 4.5,
    ("vgg-16", 1, "float16"): 1.7,
    ("dqn", 1, "float16"): 2.3,
    ("encoder-128", 1, "float16"): 1.3,
    ("lstm", 1, "float16"): 2.0,
    (TREES, 1, "float32"): 5.0,
    ("resnet-18", 64, "float16"): 1.5,
    ("mobilenet-v2", 64, "float16"): 2.0,
    ("vgg-16", 64, "float16"): 1.1,
    ("encoder-512", 32, "float16"): 0.85,
    ("resnet-18", 1, "tf32"): 2.5,
    ("resnet-18", 1, "float32"): 1.0,
}


def network(name: str, batch: int) -> Network:
    """A network in inference mode, the same every time."""
    torch.manual_seed(0)
    if name in TESTING:
        return _testing(name, batch)
    if name == TREES:
        return _trees(batch)
    model, x = IN_TORCH[name](batch)
    model = model.eval().requires_grad_(False)
    given = Unrolled(model.layer).eval() if isinstance(model, Lstm) else model
    params, example = Example.of(given, (x,), kwargs=None, dynamic_shapes=None, input_infos=None)
    module, own = as_module(given, example)
    return Network(InferType()(module), {**own, **(params or {})}, (x.numpy(),), model)


def _testing(name: str, batch: int) -> Network:
    """One of `relay.testing`, with random batch norm statistics and biases."""
    module, params = TESTING[name](batch)
    random = np.random.default_rng(1)
    for weight, value in params.items():
        low, high = (0.7, 1.3) if weight.endswith(("gamma", "var")) else (-0.3, 0.3)
        if weight.endswith(("bias", "beta", "mean", "gamma", "var")):
            params[weight] = nd.array(random.uniform(low, high, value.shape).astype("float32"))
    data = next(p for p in module["main"].params if p.name_hint == "data")
    shape = data.checked_type.concrete_shape
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return Network(InferType()(module), params, (x,), to_torch(module, params))


def _trees(batch: int) -> Network:
    """A tree LSTM over a tree of 40 nodes, which has no batches."""
    module, params = tree_lstm.get_workload()
    tree = random_tree(np.random.default_rng(0), 40, 300)
    return Network(module, params, (tree,), dynamic_peers.weights_of(params))
