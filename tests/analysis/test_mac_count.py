"""Multiply-accumulates, against counts made by hand."""

import pytest
import torch
from torch.utils import flop_counter

import relay
from relay.analysis import get_total_mac_number
from relay.transform import InferType


def macs(expr):
    return get_total_mac_number(InferType()(relay.IRModule.from_expr(expr))["main"])


def tensor(name, *shape):
    return relay.var(name, shape=shape)


def test_dense_layers_add_up():
    x = tensor("x", 10, 512)
    hidden = relay.nn.dense(x, tensor("w1", 1024, 512))
    out = relay.nn.dense(relay.nn.relu(hidden), tensor("w2", 128, 1024))
    assert macs(out) == 10 * 512 * 1024 + 10 * 1024 * 128


def test_convolutions_in_any_layout():
    nchw = relay.nn.conv2d(
        tensor("x", 1, 3, 224, 224),
        tensor("w", 64, 3, 7, 7),
        strides=(2, 2),
        padding=(3, 3),
        channels=64,
        kernel_size=(7, 7),
    )
    nhwc = relay.nn.conv2d(
        tensor("x", 1, 224, 224, 3),
        tensor("w", 7, 7, 3, 64),
        strides=(2, 2),
        padding=(3, 3),
        channels=64,
        kernel_size=(7, 7),
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    assert macs(nchw) == macs(nhwc) == 112 * 112 * 64 * 3 * 7 * 7


def test_grouped_convolutions():
    depthwise = relay.nn.conv2d(
        tensor("x", 1, 64, 58, 58),
        tensor("w", 64, 1, 3, 3),
        channels=64,
        kernel_size=(3, 3),
        groups=64,
    )
    assert macs(depthwise) == 56 * 56 * 64 * 3 * 3


def test_batched_matrix_products():
    product = relay.nn.batch_matmul(tensor("x", 4, 5, 6), tensor("y", 4, 7, 6))
    assert macs(product) == 4 * 5 * 6 * 7
    transposed = relay.nn.batch_matmul(
        tensor("x", 4, 6, 5), tensor("y", 4, 6, 7), transpose_a=True, transpose_b=False
    )
    assert macs(transposed) == 4 * 5 * 6 * 7


def test_torch_counts_the_same():
    shapes = [(2, 6, 17, 9), (8, 3, 5, 2), (4, 8), (3, 5, 4), (3, 7, 4)]
    data, weight, dense, left, right = (torch.zeros(*shape) for shape in shapes)
    with flop_counter.FlopCounterMode(display=False) as counted:
        torch.nn.functional.conv2d(data, weight, stride=(2, 1), padding=(1, 0), groups=2)
        torch.nn.functional.linear(torch.zeros(3, 8), dense)
        torch.bmm(left, right.transpose(1, 2))
    x, w, d, a, b = (tensor(n, *shape) for n, shape in zip("xwdab", shapes, strict=True))
    conv = relay.nn.conv2d(
        x, w, strides=(2, 1), padding=(1, 0), groups=2, channels=8, kernel_size=(5, 2)
    )
    program = relay.Tuple([conv, relay.nn.dense(tensor("y", 3, 8), d), relay.nn.batch_matmul(a, b)])
    assert 2 * macs(program) == counted.get_total_flops()


def test_other_operators_do_not_count():
    assert macs(relay.add(tensor("x", 5), tensor("y", 5))) == 0


def test_symbolic_dimensions_give_a_symbolic_count():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, 16))
    assert macs(relay.nn.dense(x, tensor("w", 8, 16))) == n * 128


def test_an_untyped_program_is_told_to_be_typed_first():
    with pytest.raises(relay.RelayError, match="InferType"):
        get_total_mac_number(relay.nn.dense(tensor("x", 2, 3), tensor("w", 4, 3)))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_torch_counts_convolutions_over_any_number_of_axes_the_same(axes, transposed):
    window, extents = (3, 2, 5)[:axes], (9, 7, 8)[:axes]
    suffix = "_transpose" if transposed else ""
    weight = (4, 6, *window) if transposed else (6, 4, *window)
    convolve = getattr(
        torch.nn.functional, f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    )
    with flop_counter.FlopCounterMode(display=False) as counted:
        convolve(torch.zeros(2, 4, *extents), torch.zeros(*weight), stride=2, padding=1)
    build = getattr(relay.nn, f"conv{axes}d{suffix}")
    call = build(
        tensor("x", 2, 4, *extents),
        tensor("w", *weight),
        strides=(2,) * axes,
        padding=(1,) * axes,
        channels=6,
        kernel_size=window,
    )
    assert 2 * macs(call) == counted.get_total_flops()


@pytest.mark.parametrize("groups", [1, 16])
def test_blocks_of_channels_do_not_change_the_count(groups):
    plain = relay.nn.conv2d(
        tensor("x", 1, 16, 9, 8), tensor("w", 32, 16 // groups, 3, 3), padding=(1, 1), groups=groups
    )
    if groups == 1:
        data, weight, layout = (1, 2, 9, 8, 8), (4, 2, 3, 3, 8, 8), "OIHW8i8o"
        operator = relay.nn.contrib_conv2d_nchwc
    else:
        data, weight, layout = (1, 2, 9, 8, 8), (4, 1, 3, 3, 1, 8), "OIHW1i8o"
        operator = relay.nn.contrib_depthwise_conv2d_nchwc
    blocked = operator(
        tensor("x", *data),
        tensor("w", *weight),
        padding=(1, 1),
        groups=groups,
        channels=32,
        kernel_size=(3, 3),
        data_layout="NCHW8c",
        kernel_layout=layout,
    )
    assert macs(blocked) == macs(plain) == 32 * 16 // groups * 9 * 9 * 8
