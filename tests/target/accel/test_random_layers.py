"""Random layers on random designs, against PyTorch in float64, which has integers to 2^53."""

import numpy as np
import pytest
import torch

import relay
from relay import nn
from relay.external.divide import external_functions
from relay.external.lower import part_of
from relay.target.accel.config import Config
from relay.target.accel.device import Device
from relay.target.accel.offload import offloaded
from relay.target.accel.parts import compile_part


def random_config(chance):
    """A design with small buffers, so that layers have many tiles."""
    block = int(chance.choice([2, 4, 8, 16]))
    batch = int(chance.integers(1, 4))

    def log(entry, least, most):
        return int(np.ceil(np.log2(entry * 2 ** chance.integers(least, most))))

    return Config(
        batch,
        block,
        block,
        log_inp=log(batch * block, 6, 9),
        log_wgt=log(block * block, 5, 9),
        log_acc=log(batch * block * 4, 6, 10),
        log_uop=log(8, 6, 10),
        dram_bytes=int(chance.choice([1, 8, 64])),
        dram_latency=int(chance.choice([0, 64, 500])),
        queue=int(chance.integers(2, 40)),
        tokens=int(chance.integers(2, 10)),
    )


def random_layer(chance):
    """A function of a convolution or a dense layer, its data, and its result by PyTorch."""
    n, inputs, outputs = (int(chance.integers(1, most)) for most in (5, 30, 30))
    kernel = tuple(int(n) for n in chance.integers(1, 4, 2))
    size = tuple(int(n) for n in chance.integers(5, 13, 2))
    strides = tuple(int(n) for n in chance.integers(1, 4, 2))
    pads = [int(chance.integers(0, k)) for k in kernel]
    kind = chance.choice(["conv", "conv", "transposed", "dense"])
    scale, zero = relay.const(0.5), relay.const(0)

    def whole(*shape):
        return chance.integers(-128, 128, shape).astype("int8")

    def known(array):
        return relay.const(array)

    def wide(array):
        return torch.from_numpy(array.astype("float64"))

    if kind == "dense":
        data, weight = whole(n, inputs), whole(outputs, inputs)
        x = relay.var("x", shape=data.shape, dtype="int8")
        call = nn.dense(x, known(weight), out_dtype="int32")
        sums = wide(data) @ wide(weight).T
    elif kind == "transposed":
        data, weight = whole(n, inputs, *size), whole(inputs, outputs, *kernel)
        more = [int(chance.integers(0, s)) for s in strides]
        x = relay.var("x", shape=data.shape, dtype="int8")
        call = relay.qnn.conv2d_transpose(
            x,
            known(weight),
            *(zero, zero, scale, scale),
            strides=strides,
            padding=pads,
            channels=outputs,
            kernel_size=kernel,
            output_padding=more,
            out_dtype="int32",
        )
        given = {"stride": strides, "padding": pads, "output_padding": more}
        sums = torch.conv_transpose2d(wide(data), wide(weight), **given)
    else:
        data, weight = whole(n, inputs, *size), whole(outputs, inputs, *kernel)
        dilation = tuple(int(n) for n in chance.integers(1, 3, 2))
        x = relay.var("x", shape=data.shape, dtype="int8")
        call = relay.qnn.conv2d(
            x,
            known(weight),
            *(zero, zero, scale, scale),
            kernel_size=kernel,
            channels=outputs,
            strides=strides,
            padding=pads,
            dilation=dilation,
            out_dtype="int32",
        )
        given = {"stride": strides, "padding": pads, "dilation": dilation}
        sums = torch.conv2d(wide(data), wide(weight), **given)
    shape = (outputs,) + (1,) * (data.ndim - 2)
    bias = chance.integers(-(2**20), 2**20, shape).astype("int32")
    return relay.Function([x], relay.add(call, known(bias))), data, sums.numpy() + bias


def check(seed):
    """Whether the design had room for the layer."""
    chance = np.random.default_rng(seed)
    function, data, expected = random_layer(chance)
    config = random_config(chance)
    functions = external_functions(offloaded(relay.IRModule.from_expr(function), config))
    if not functions:
        return False
    (function,) = functions.values()
    found = np.empty(expected.shape, "int32")
    Device(compile_part(part_of(function), config))([data], [found])
    np.testing.assert_array_equal(found, expected)
    return True


def test_random_layers_are_those_of_pytorch():
    assert sum(map(check, range(25))) > 15


@pytest.mark.full
def test_many_random_layers_are_those_of_pytorch():
    assert sum(map(check, range(25, 1000))) > 700
