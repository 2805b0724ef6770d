"""The model zoo against the same networks written in PyTorch, in float64, with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay
from relay.testing import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    lstm,
    mlp,
    mobilenet,
    resnet,
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)


class Weights:
    """Layers over the parameters of a network, by name."""

    def __init__(self, params, axes=2):
        self.of = {name: torch.from_numpy(p.numpy()).double() for name, p in params.items()}
        self.axes = axes
        self.convolve = {2: F.conv2d, 3: F.conv3d}[axes]

    def conv(self, x, name, stride=1, padding=0, groups=1):
        weight, bias = self.of[f"{name}_weight"], self.of.get(f"{name}_bias")
        return self.convolve(x, weight, bias, stride, padding, 1, groups)

    def dense(self, x, name):
        return F.linear(x, self.of[f"{name}_weight"], self.of[f"{name}_bias"])

    def norm(self, x, name, eps=1e-5, scale=True):
        gamma = self.of[f"{name}_gamma"] if scale else None
        mean, var = self.of[f"{name}_moving_mean"], self.of[f"{name}_moving_var"]
        return F.batch_norm(x, mean, var, gamma, self.of[f"{name}_beta"], eps=eps)


def scrambled(params, seed=1):
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


def agrees(workload, in_torch, axes=2, tolerance=1e-4):
    module, params = workload
    params = scrambled(params)
    ty = next(p for p in module["main"].params if p.name_hint == "data").checked_type
    data = np.random.default_rng(0).standard_normal(ty.concrete_shape).astype("float32")
    found = relay.create_executor("debug", module, params=params).evaluate()(data=data).numpy()
    with torch.no_grad():
        expected = in_torch(Weights(params, axes), torch.from_numpy(data).double()).numpy()
    assert found.shape == expected.shape
    assert abs(found - expected).max() <= tolerance * abs(expected).max()


def test_mlp():
    def network(w, x):
        x = F.relu(w.dense(x.flatten(1), "fc1"))
        return w.dense(F.relu(w.dense(x, "fc2")), "fc3").softmax(1)

    agrees(mlp.get_workload(batch_size=3), network)


def test_dqn():
    def network(w, x):
        x = F.relu(w.conv(x, "conv1", 4))
        x = F.relu(w.conv(x, "conv2", 2))
        x = F.relu(w.conv(x, "conv3", 1)).flatten(1)
        return w.dense(F.relu(w.dense(x, "dense1")), "dense2")

    agrees(dqn.get_workload(batch_size=2), network)


def test_dcgan():
    def network(w, x):
        x = F.relu(x @ w.of["dense_weight"].T).reshape(2, -1, 4, 4)
        for i in (2, 3, 4):
            x = F.conv_transpose2d(x, w.of[f"g{i}_deconv_weight"], None, 2, 1)
            x = F.relu(w.norm(x, f"g{i}_bn", scale=False))
        return torch.tanh(F.conv_transpose2d(x, w.of["g5_deconv_weight"], None, 2, 1))

    agrees(dcgan.get_workload(batch_size=2, ngf=4), network)


def residual(layers, small, axes=2):
    units = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}[layers]
    eps = 2e-5

    def network(w, x):
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


@pytest.mark.parametrize(("layers", "size"), [(18, 64), (18, 32), (34, 32), (50, 64), (101, 40)])
def test_resnet(layers, size):
    workload = resnet.get_workload(num_layers=layers, image_shape=(3, size, size), num_classes=10)
    agrees(workload, residual(layers, size <= 32))


def test_resnet_3d():
    workload = resnet_3d.get_workload(image_shape=(3, 8, 40, 40), num_classes=10)
    agrees(workload, residual(18, False, axes=3), axes=3)


def test_resnet_in_another_layout():
    module, params = resnet.get_workload(
        image_shape=(40, 40, 3), layout="NHWC", num_classes=5, num_layers=18
    )
    assert module["main"].ret_type.concrete_shape == (1, 5)
    conv0 = params["conv0_weight"].shape
    assert conv0 == (7, 7, 3, 64)


def test_mobilenet():
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]

    def network(w, x):
        x = F.relu(w.norm(w.conv(x, "conv_block_1_conv", 2, 1), "conv_block_1_bn"))
        for number, stride in enumerate(strides, 1):
            name = f"separable_conv_block_{number}"
            x = w.conv(x, f"{name}_depthwise_conv", stride, 1, groups=x.shape[1])
            x = F.relu(w.norm(x, f"{name}_depthwise_bn"))
            x = F.relu(w.norm(w.conv(x, f"{name}_pointwise_conv"), f"{name}_pointwise_bn"))
        return w.dense(x.mean((2, 3)), "fc").softmax(1)

    agrees(mobilenet.get_workload(image_shape=(3, 64, 64), num_classes=10), network)


@pytest.mark.parametrize(
    ("layers", "batch_norm"), [(11, False), (13, True), (16, False), (19, True)]
)
def test_vgg(layers, batch_norm):
    stages = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[
        layers
    ]

    def network(w, x):
        for stage, count in enumerate(stages, 1):
            for number in range(1, count + 1):
                x = w.conv(x, f"conv{stage}_{number}", 1, 1)
                x = F.relu(w.norm(x, f"bn{stage}_{number}") if batch_norm else x)
            x = F.max_pool2d(x, 2)
        x = F.relu(w.dense(x.flatten(1), "fc6"))
        return w.dense(F.relu(w.dense(x, "fc7")), "fc8").softmax(1)

    workload = vgg.get_workload(
        1, image_shape=(3, 32, 32), num_layers=layers, batch_norm=batch_norm, num_classes=10
    )
    agrees(workload, network)


@pytest.mark.parametrize(
    ("version", "pools"), [("1.0", {0: 1, 3: 1, 7: 1}), ("1.1", {0: 1, 2: 1, 4: 1})]
)
def test_squeezenet(version, pools):
    def network(w, x):
        x = F.relu(w.conv(x, "conv1", 2))
        for fires in range(9):
            if fires in pools:
                x = F.max_pool2d(x, 3, 2)
            if fires < 8:
                name = f"fire{fires + 1}"
                narrow = F.relu(w.conv(x, f"{name}_squeeze"))
                left = F.relu(w.conv(narrow, f"{name}_left"))
                x = torch.cat([left, F.relu(w.conv(narrow, f"{name}_right", 1, 1))], 1)
        return F.relu(w.conv(x, "conv_final")).mean((2, 3)).softmax(1)

    workload = squeezenet.get_workload(version=version, image_shape=(3, 80, 80), num_classes=10)
    agrees(workload, network)


def test_densenet():
    def norm_conv(w, x, name, padding):
        return w.conv(F.relu(w.norm(x, f"{name}_bn")), f"{name}_conv", 1, padding)

    def network(w, x):
        x = F.max_pool2d(F.relu(w.norm(w.conv(x, "conv1", 2, 3), "bn1")), 3, 2, 1)
        for block, count in enumerate((6, 12, 24, 16), 1):
            for layer in range(1, count + 1):
                name = f"block{block}_layer{layer}"
                new = norm_conv(w, norm_conv(w, x, f"{name}_1", 0), f"{name}_2", 1)
                x = torch.cat([x, new], 1)
            if block < 4:
                x = F.avg_pool2d(norm_conv(w, x, f"transition{block}", 0), 2)
        return w.dense(F.relu(w.norm(x, "bn_final")).mean((2, 3)), "fc")

    agrees(densenet.get_workload(batch_size=1, image_shape=(3, 64, 64), classes=10), network)


def inception(w, x):
    def conv(x, name, stride=1, padding=None):
        kernel = w.of[f"{name}_conv_weight"].shape[2:]
        if padding is None:
            padding = tuple(k // 2 for k in kernel) if stride == 1 else 0
        return F.relu(w.norm(w.conv(x, f"{name}_conv", stride, padding), f"{name}_bn", 2e-5, False))

    def chain(x, name, count, last_stride=1):
        for i in range(count):
            x = conv(x, f"{name}_{i}", last_stride if i == count - 1 else 1)
        return x

    def average(x):
        return F.avg_pool2d(x, 3, 1, 1)

    x = conv(conv(x, "stem_0", 2), "stem_1", padding=0)
    x = F.max_pool2d(conv(x, "stem_2"), 3, 2)
    x = F.max_pool2d(conv(conv(x, "stem_3"), "stem_4", padding=0), 3, 2)
    for i in range(3):
        n = f"mixed_a{i}"
        branches = [chain(x, f"{n}_1x1", 1), chain(x, f"{n}_5x5", 2), chain(x, f"{n}_3x3", 3)]
        x = torch.cat([*branches, chain(average(x), f"{n}_pool", 1)], 1)
    branches = [chain(x, "mixed_b_3x3", 1, 2), chain(x, "mixed_b_double", 3, 2)]
    x = torch.cat([*branches, F.max_pool2d(x, 3, 2)], 1)
    for i in range(4):
        n = f"mixed_c{i}"
        branches = [chain(x, f"{n}_1x1", 1), chain(x, f"{n}_7x7", 3), chain(x, f"{n}_double", 5)]
        x = torch.cat([*branches, chain(average(x), f"{n}_pool", 1)], 1)
    branches = [chain(x, "mixed_d_3x3", 2, 2), chain(x, "mixed_d_7x7", 4, 2)]
    x = torch.cat([*branches, F.max_pool2d(x, 3, 2)], 1)
    for i in range(2):
        n = f"mixed_e{i}"
        once, twice = chain(x, f"{n}_3x3", 1), chain(x, f"{n}_double", 2)
        pooled = average(x) if i == 0 else F.max_pool2d(x, 3, 1, 1)
        wide = [
            conv(b, f"{n}_{k}_{d}")
            for b, k in ((once, "3x3"), (twice, "double"))
            for d in ("wide", "high")
        ]
        x = torch.cat([chain(x, f"{n}_1x1", 1), *wide, chain(pooled, f"{n}_pool", 1)], 1)
    return w.dense(F.avg_pool2d(x, 8, 1).flatten(1), "fc1").softmax(1)


def test_inception_v3():
    agrees(inception_v3.get_workload(num_classes=10), inception)


def test_lstm():
    def network(w, x):
        h = c = torch.zeros(2, 8, dtype=torch.double)
        for i in range(3):
            names = [f"lstm_{i}_{n}" for n in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")]
            h, c = torch.lstm_cell(x, (h, c), *(w.of[n] for n in names))
        return h

    agrees(lstm.get_workload(iterations=3, num_hidden=8, batch_size=2), network)


def test_synthetic_has_its_weights_inside():
    module, params = synthetic.get_workload()
    assert not params
    weights = []
    relay.analysis.post_order_visit(
        module["main"],
        lambda e: weights.append(e.data.numpy()) if isinstance(e, relay.Constant) else None,
    )

    def network(_, x):
        first, *others = (torch.from_numpy(w).double() for w in weights)
        x = F.conv2d(x, first)
        for weight in others:
            x = x + F.relu(F.conv2d(x, weight, padding=1))
        return x.mean((2, 3))

    agrees((module, params), network)


def test_the_same_seed_gives_the_same_weights():
    first, second = mlp.get_workload(1)[1], mlp.get_workload(1)[1]
    assert all((first[name].numpy() == second[name].numpy()).all() for name in first)
