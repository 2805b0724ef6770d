"""The networks of `relay.testing` a second time, in PyTorch: float64, with the same weights.

`oracle` gives a network of the zoo an input and says what its result must be; the functions here
are what it computes that with, each `network(weights, x)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import relay
from relay.nd import NDArray


class Weights:
    """Layers over the parameters of a network, by name."""

    def __init__(self, params: Mapping[str, NDArray]) -> None:
        self.of = {name: torch.from_numpy(p.numpy()).double() for name, p in params.items()}

    def conv(self, x, name, stride=1, padding=0, groups=1) -> Tensor:
        weight, bias = self.of[f"{name}_weight"], self.of.get(f"{name}_bias")
        convolve = {4: F.conv2d, 5: F.conv3d}[weight.ndim]
        return convolve(x, weight, bias, stride, padding, 1, groups)

    def dense(self, x, name) -> Tensor:
        return F.linear(x, self.of[f"{name}_weight"], self.of[f"{name}_bias"])

    def norm(self, x, name, eps=1e-5, scale=True) -> Tensor:
        gamma = self.of[f"{name}_gamma"] if scale else None
        mean, var = self.of[f"{name}_moving_mean"], self.of[f"{name}_moving_var"]
        return F.batch_norm(x, mean, var, gamma, self.of[f"{name}_beta"], eps=eps)


Network = Callable[[Weights, Tensor], Tensor]
Workload = tuple[relay.IRModule, dict[str, NDArray]]


def scrambled(params: Mapping[str, NDArray], seed: int = 1) -> dict[str, NDArray]:
    """Statistics and shifts away from 0 and 1, so that every parameter matters."""
    random = np.random.default_rng(seed)
    made = {}
    for name, value in params.items():
        array = value.numpy()
        if name.endswith(("bias", "beta", "mean")):
            array = random.uniform(-0.3, 0.3, array.shape).astype(array.dtype)
        elif name.endswith(("gamma", "var")):
            array = random.uniform(0.7, 1.3, array.shape).astype(array.dtype)
        made[name] = relay.nd.array(array)
    return made


def oracle(
    workload: Workload, network: Network
) -> tuple[dict[str, NDArray], np.ndarray, np.ndarray]:
    """Parameters and an input for a workload, and what PyTorch makes of them in float64."""
    module, params = workload
    params = scrambled(params)
    ty = next(p for p in module["main"].params if p.name_hint == "data").checked_type
    data = np.random.default_rng(0).standard_normal(ty.concrete_shape).astype("float32")
    with torch.no_grad():
        expected = network(Weights(params), torch.from_numpy(data).double()).numpy()
    return params, data, expected


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest element."""
    assert found.shape == expected.shape
    return float(abs(found - expected).max() / abs(expected).max())


# --- networks for pictures -----------------------------------------------------------------------


def mlp(w: Weights, x: Tensor) -> Tensor:
    x = F.relu(w.dense(x.flatten(1), "fc1"))
    return w.dense(F.relu(w.dense(x, "fc2")), "fc3").softmax(1)


def dqn(w: Weights, x: Tensor) -> Tensor:
    x = F.relu(w.conv(x, "conv1", 4))
    x = F.relu(w.conv(x, "conv2", 2))
    x = F.relu(w.conv(x, "conv3", 1)).flatten(1)
    return w.dense(F.relu(w.dense(x, "dense1")), "dense2")


def dcgan(w: Weights, x: Tensor) -> Tensor:
    x = F.relu(x @ w.of["dense_weight"].T).reshape(len(x), -1, 4, 4)
    for i in (2, 3, 4):
        x = F.conv_transpose2d(x, w.of[f"g{i}_deconv_weight"], None, 2, 1)
        x = F.relu(w.norm(x, f"g{i}_bn", scale=False))
    return torch.tanh(F.conv_transpose2d(x, w.of["g5_deconv_weight"], None, 2, 1))


def resnet(layers: int, small: bool = False, axes: int = 2) -> Network:
    """`small` is the form for pictures of up to 32 by 32, `axes` are 3 for films."""
    units = {
        8: (2, 1),
        18: (2, 2, 2, 2),
        34: (3, 4, 6, 3),
        50: (3, 4, 6, 3),
        60: (2, 1),
        101: (3, 4, 23, 3),
    }[layers]
    eps = 2e-5

    def network(w: Weights, x: Tensor) -> Tensor:
        x = w.norm(x, "bn_data", eps, scale=False)
        if small:
            x = w.conv(x, "conv0", 1, 1)
        else:
            film = axes == 3
            x = w.conv(x, "conv0", (1, 2, 2) if film else 2, (1, 3, 3) if film else 3)
            pool = F.max_pool3d if film else F.max_pool2d
            x = pool(F.relu(w.norm(x, "bn0", eps)), 3, 2, 1)
        for stage, count in enumerate(units, 1):
            for unit in range(1, count + 1):
                name = f"stage{stage}_unit{unit}"
                stride = 2 if unit == 1 and stage > 1 else 1
                active = F.relu(w.norm(x, f"{name}_bn1", eps))
                first_padding = 0 if layers >= 50 else 1
                y = w.conv(active, f"{name}_conv1", stride, first_padding)
                y = w.conv(F.relu(w.norm(y, f"{name}_bn2", eps)), f"{name}_conv2", 1, 1)
                if layers >= 50:
                    y = w.conv(F.relu(w.norm(y, f"{name}_bn3", eps)), f"{name}_conv3")
                x = y + (w.conv(active, f"{name}_sc", stride) if unit == 1 else x)
        x = F.relu(w.norm(x, "bn1", eps)).flatten(2).mean(2)
        return w.dense(x, "fc1").softmax(1)

    return network


def mobilenet(w: Weights, x: Tensor) -> Tensor:
    x = F.relu(w.norm(w.conv(x, "conv_block_1_conv", 2, 1), "conv_block_1_bn"))
    for number, stride in enumerate([1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1], 1):
        name = f"separable_conv_block_{number}"
        x = w.conv(x, f"{name}_depthwise_conv", stride, 1, groups=x.shape[1])
        x = F.relu(w.norm(x, f"{name}_depthwise_bn"))
        x = F.relu(w.norm(w.conv(x, f"{name}_pointwise_conv"), f"{name}_pointwise_bn"))
    return w.dense(x.mean((2, 3)), "fc").softmax(1)


def vgg(layers: int, batch_norm: bool = False) -> Network:
    stages = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[
        layers
    ]

    def network(w: Weights, x: Tensor) -> Tensor:
        for stage, count in enumerate(stages, 1):
            for number in range(1, count + 1):
                x = w.conv(x, f"conv{stage}_{number}", 1, 1)
                x = F.relu(w.norm(x, f"bn{stage}_{number}") if batch_norm else x)
            x = F.max_pool2d(x, 2)
        x = F.relu(w.dense(x.flatten(1), "fc6"))
        return w.dense(F.relu(w.dense(x, "fc7")), "fc8").softmax(1)

    return network


def squeezenet(version: str) -> Network:
    # how many fire modules there are, and before which ones there is a pool
    count, pools = {"1.0": (8, (0, 3, 7)), "1.1": (8, (0, 2, 4)), "short": (2, (0, 1))}[version]

    def network(w: Weights, x: Tensor) -> Tensor:
        x = F.relu(w.conv(x, "conv1", 2))
        for fires in range(count):
            if fires in pools:
                x = F.max_pool2d(x, 3, 2)
            name = f"fire{fires + 1}"
            narrow = F.relu(w.conv(x, f"{name}_squeeze"))
            left = F.relu(w.conv(narrow, f"{name}_left"))
            x = torch.cat([left, F.relu(w.conv(narrow, f"{name}_right", 1, 1))], 1)
        return F.relu(w.conv(x, "conv_final")).mean((2, 3)).softmax(1)

    return network


def densenet(blocks: Sequence[int]) -> Network:
    """With as many layers per block."""

    def norm_conv(w: Weights, x: Tensor, name: str, padding: int) -> Tensor:
        return w.conv(F.relu(w.norm(x, f"{name}_bn")), f"{name}_conv", 1, padding)

    def network(w: Weights, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(w.norm(w.conv(x, "conv1", 2, 3), "bn1")), 3, 2, 1)
        for block, count in enumerate(blocks, 1):
            for layer in range(1, count + 1):
                name = f"block{block}_layer{layer}"
                new = norm_conv(w, norm_conv(w, x, f"{name}_1", 0), f"{name}_2", 1)
                x = torch.cat([x, new], 1)
            if block < len(blocks):
                x = F.avg_pool2d(norm_conv(w, x, f"transition{block}", 0), 2)
        return w.dense(F.relu(w.norm(x, "bn_final")).mean((2, 3)), "fc")

    return network


# --- Inception: its blocks are networks of their own as well, `block(weights, x, name)` ----------

# the branches of a block: their names, and how many convolutions they have
BRANCHES_A = {"1x1": 1, "5x5": 2, "3x3": 3}
BRANCHES_B = {"3x3": 1, "double": 3}
BRANCHES_C = {"1x1": 1, "7x7": 3, "double": 5}
BRANCHES_D = {"3x3": 2, "7x7": 4}


def norm_conv(w: Weights, x: Tensor, name: str, stride: int = 1, pads: bool = True) -> Tensor:
    kernel = w.of[f"{name}_conv_weight"].shape[2:]
    padding = tuple(k // 2 for k in kernel) if pads and stride == 1 else 0
    return F.relu(w.norm(w.conv(x, f"{name}_conv", stride, padding), f"{name}_bn", 2e-5, False))


def chain(w: Weights, x: Tensor, name: str, count: int, last_stride: int = 1) -> Tensor:
    for i in range(count):
        x = norm_conv(w, x, f"{name}_{i}", last_stride if i == count - 1 else 1)
    return x


def inception_wide(w: Weights, x: Tensor, name: str, branches: Mapping[str, int]) -> Tensor:
    """Blocks of kinds A and C."""
    found = [chain(w, x, f"{name}_{kind}", count) for kind, count in branches.items()]
    return torch.cat([*found, chain(w, F.avg_pool2d(x, 3, 1, 1), f"{name}_pool", 1)], 1)


def inception_halved(w: Weights, x: Tensor, name: str, branches: Mapping[str, int]) -> Tensor:
    """Blocks of kinds B and D."""
    found = [chain(w, x, f"{name}_{kind}", count, 2) for kind, count in branches.items()]
    return torch.cat([*found, F.max_pool2d(x, 3, 2)], 1)


def inception_split(w: Weights, x: Tensor, name: str, pool: Callable[..., Tensor]) -> Tensor:
    """Blocks of kind E."""
    once, twice = chain(w, x, f"{name}_3x3", 1), chain(w, x, f"{name}_double", 2)
    split = [
        norm_conv(w, branch, f"{name}_{kind}_{direction}")
        for branch, kind in ((once, "3x3"), (twice, "double"))
        for direction in ("wide", "high")
    ]
    pooled = chain(w, pool(x, 3, 1, 1), f"{name}_pool", 1)
    return torch.cat([chain(w, x, f"{name}_1x1", 1), *split, pooled], 1)


def inception_v3(w: Weights, x: Tensor) -> Tensor:
    x = norm_conv(w, norm_conv(w, x, "stem_0", 2), "stem_1", pads=False)
    x = F.max_pool2d(norm_conv(w, x, "stem_2"), 3, 2)
    x = F.max_pool2d(norm_conv(w, norm_conv(w, x, "stem_3"), "stem_4", pads=False), 3, 2)
    for i in range(3):
        x = inception_wide(w, x, f"mixed_a{i}", BRANCHES_A)
    x = inception_halved(w, x, "mixed_b", BRANCHES_B)
    for i in range(4):
        x = inception_wide(w, x, f"mixed_c{i}", BRANCHES_C)
    x = inception_halved(w, x, "mixed_d", BRANCHES_D)
    x = inception_split(w, x, "mixed_e0", F.avg_pool2d)
    x = inception_split(w, x, "mixed_e1", F.max_pool2d)
    return w.dense(F.avg_pool2d(x, 8, 1).flatten(1), "fc1").softmax(1)


def inception_end(w: Weights, x: Tensor) -> Tensor:
    """The last two kinds of blocks alone."""
    x = inception_halved(w, x, "d", BRANCHES_D)
    return inception_split(w, x, "e", F.avg_pool2d).flatten(1)


# --- networks that are no pictures, or have no parameters ----------------------------------------


def lstm(w: Weights, x: Tensor) -> Tensor:
    h = c = torch.zeros_like(x)
    i = 0
    while f"lstm_{i}_i2h_weight" in w.of:
        names = [f"lstm_{i}_{n}" for n in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")]
        h, c = torch.lstm_cell(x, (h, c), *(w.of[n] for n in names))
        i += 1
    return h


def synthetic(module: relay.IRModule) -> Network:
    """The network over the constants in the module."""
    found: list[Tensor] = []
    relay.analysis.post_order_visit(
        module["main"],
        lambda e: (
            found.append(torch.from_numpy(e.data.numpy()).double())
            if isinstance(e, relay.Constant)
            else None
        ),
    )

    def network(_: Weights, x: Tensor) -> Tensor:
        first, *others = found
        x = F.conv2d(x, first)
        for weight in others:
            x = x + F.relu(F.conv2d(x, weight, padding=1))
        return x.mean((2, 3))

    return network
