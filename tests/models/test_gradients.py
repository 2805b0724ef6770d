"""Gradients of whole networks in float64, against central differences along a random direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import relay
from relay.ir.types import TensorType
from relay.testing import dcgan, lstm, mlp, mobilenet, resnet, squeezenet
from relay.transform.gradients.differentiate import gradient

SMALL = {"image_shape": (3, 32, 32), "num_classes": 10, "dtype": "float64"}
NETWORKS: dict[str, Callable[[], Any]] = {
    "mlp": lambda: mlp.get_workload(2, dtype="float64"),
    "lstm": lambda: lstm.get_workload(3, 8, dtype="float64"),
    "resnet": lambda: resnet.get_workload(num_layers=18, **SMALL),
    "mobilenet": lambda: mobilenet.get_workload(**SMALL),
    "squeezenet": lambda: squeezenet.get_workload(**{**SMALL, "image_shape": (3, 64, 64)}),
    "dcgan": lambda: dcgan.get_workload(1, dtype="float64"),
}
HIGHER_ORDER_ONLY = ("lstm",)  # its cells are functions


def evaluator(module: relay.IRModule) -> Any:
    return relay.create_executor("debug", module).evaluate()


@pytest.mark.rotate(6)
@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_gradients_of_a_network_are_those_of_differences(name: str, mode: str) -> None:
    if mode == "first_order" and name in HIGHER_ORDER_ONLY:
        return
    random = np.random.default_rng(0)
    module, params = NETWORKS[name]()
    main = relay.transform.InferType()(module)["main"]
    factors = None
    if isinstance(main.ret_type, TensorType):
        # rows of probabilities add up to 1 whatever the weights are
        factors = relay.const(random.uniform(-1, 1, main.ret_type.concrete_shape), "float64")
        main = relay.Function(main.params, relay.multiply(main.body, factors))
    module["main"] = main
    args = []
    for param in main.params:
        known = params.get(param.name_hint)
        shape = param.type_annotation.concrete_shape
        value = random.uniform(-1, 1, shape) if known is None else known.numpy()
        # offsets of 0 would put exact zeros before nn.relu
        args.append(value + random.uniform(0.01, 0.1, shape) if len(shape) == 1 else value)
    differentiated = module.copy()
    differentiated["main"] = gradient(main, differentiated, mode)
    slopes = [one.numpy() for one in evaluator(differentiated)(*args)[1]]
    directions = [random.uniform(-1, 1, a.shape) * max(float(np.abs(a).mean()), 1e-3) for a in args]
    ends = []
    for step in (1e-6, -1e-6):
        moved = [a + step * d for a, d in zip(args, directions, strict=True)]
        ends.append(total(evaluator(module)(*moved)))
    wanted = (ends[0] - ends[1]) / 2e-6
    found = sum(float((s * d).sum()) for s, d in zip(slopes, directions, strict=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def total(value: Any) -> float:
    if hasattr(value, "fields"):
        return sum(map(total, value.fields))
    return float(np.asarray(value.numpy()).sum())


CNN = """#[version = "0.0.5"]
def @main(
  %x: Tensor[(4, 1, 8, 8), float32],
  %y: Tensor[(4), int32],
  %w1: Tensor[(6, 1, 3, 3), float32],
  %b1: Tensor[(6), float32],
  %w2: Tensor[(8, 6, 3, 3), float32],
  %d: Tensor[(10, 32), float32],
) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w1, padding=[1, 1]), %b1));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
  %2 = nn.relu(nn.conv2d(%1, %w2, padding=[1, 1]));
  %3 = nn.batch_flatten(nn.avg_pool2d(%2, pool_size=[2, 2], strides=[2, 2]));
  %4 = nn.log_softmax(nn.dense(%3, %d));
  nn.nll_loss(%4, %y, ones(shape=[10], dtype="float32"))
}"""


def test_steps_of_training_in_native_code_are_those_of_pytorch() -> None:
    random = np.random.default_rng(1)
    x = random.standard_normal((4, 1, 8, 8)).astype("float32")
    y = random.integers(0, 10, 4).astype("int32")
    shapes = [(6, 1, 3, 3), (6,), (8, 6, 3, 3), (10, 32)]
    weights = [random.standard_normal(shape).astype("float32") * 0.3 for shape in shapes]
    module = relay.fromtext(CNN)
    module["main"] = gradient(module["main"], module, "first_order", wrt=[2, 3, 4, 5])
    step = relay.compile(module)
    peers = [torch.tensor(one, requires_grad=True) for one in weights]
    optimizer = torch.optim.SGD(peers, lr=0.1)
    functional = torch.nn.functional
    for _ in range(20):
        value, slopes = step(x, y, *weights)
        w1, b1, w2, d = peers
        hidden = torch.conv2d(torch.tensor(x), w1, b1, padding=1).relu()
        hidden = torch.conv2d(functional.max_pool2d(hidden, 2), w2, padding=1).relu()
        scores = functional.avg_pool2d(hidden, 2).flatten(1) @ d.T
        loss = functional.cross_entropy(scores, torch.tensor(y).long())
        optimizer.zero_grad()
        loss.backward()
        np.testing.assert_allclose(float(np.asarray(value)), loss.item(), rtol=1e-3)
        for found, peer in zip(slopes, peers, strict=True):
            largest = float(peer.grad.abs().max())
            np.testing.assert_allclose(np.asarray(found), peer.grad, atol=1e-4 * largest)
        optimizer.step()
        weights = [
            one - np.float32(0.1) * np.asarray(slope)
            for one, slope in zip(weights, slopes, strict=True)
        ]
