"""A dilated convolution, written as such."""

import pytest

import relay
from relay.testing import count_ops
from relay.transform import FlattenAtrousConv
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays

PASS = FlattenAtrousConv()
PARAMS = "%x: Tensor[(1, 5, 6, 4), float32], %w: Tensor[(3, 3, 4, 2), float32]"
NHWC = 'data_layout="NHWC", kernel_layout="HWIO"'


def atrous(
    paddings="[[2, 3], [2, 2]]",
    crops="[[0, 1], [0, 0]]",
    pad="",
    conv="",
    block="[2, 2]",
    other="[2, 2]",
):
    split = f"nn.space_to_batch_nd(%x, block_shape={block}, paddings={paddings}{pad})"
    product = f"nn.conv2d({split}, %w, {NHWC}{conv})"
    return f"nn.batch_to_space_nd({product}, block_shape={other}, crops={crops})"


def test_blocks_become_dilation():
    assert_rewrites(
        PASS, atrous(), f"nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], {NHWC})", PARAMS
    )


def test_padding_of_the_convolution_counts_a_block_at_a_time():
    assert_rewrites(
        PASS,
        atrous("[[0, 1], [0, 0]]", "[[1, 0], [0, 2]]", conv=", padding=[1, 1, 1, 1]"),
        f"nn.conv2d(%x, %w, padding=[1, 2, 3, 0], dilation=[2, 2], {NHWC})",
        PARAMS,
    )


def test_names_and_biases_behind_it():
    assert_rewrites(
        PASS,
        "let %s = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 2]]); "
        f"let %c = nn.conv2d(%s, %w, {NHWC}); "
        "let %b = nn.batch_to_space_nd(%c, block_shape=[2, 2], crops=[[0, 1], [0, 0]]); "
        "nn.relu(%b)",
        "let %s = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 2]]); "
        f"let %c = nn.conv2d(%s, %w, {NHWC}); "
        f"let %b = nn.conv2d(%x, %w, padding=[2, 2, 2, 2], dilation=[2, 2], {NHWC}); nn.relu(%b)",
        PARAMS,
    )


@pytest.mark.parametrize(
    "body",
    [
        atrous(pad=", pad_value=1f"),
        atrous(conv=", strides=[2, 2]", crops="[[0, 0], [0, 0]]"),
        atrous(crops="[[0, 4], [0, 0]]"),  # less than nothing would be padded
        atrous(block="[2, 2]", other="[4, 1]", crops="[[0, 0], [0, 0]]"),
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body, PARAMS)


def test_a_convolution_that_others_read_stays():
    split = "nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 2]])"
    back = "nn.batch_to_space_nd(%0, block_shape=[2, 2], crops=[[0, 1], [0, 0]])"
    assert_stays(PASS, f"%0 = nn.conv2d({split}, %w, {NHWC}); ({back}, %0)", PARAMS)


@pytest.mark.parametrize("rate", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_rates_and_windows_mean_the_same(rate, size):
    height, width = 5, 6
    x = relay.var("x", shape=(2, 3, height, width))
    w = relay.var("w", shape=(4, 3, size, size))
    before = [(0, 0)] + [(1, -(extent + 1) % rate + rate) for extent in (height, width)]
    blocks = (1, rate, rate)
    split = relay.nn.space_to_batch_nd(x, blocks, before)
    product = relay.nn.conv2d(split, w)
    back = relay.nn.batch_to_space_nd(product, block_shape=blocks, crops=((0, 0), (1, 0), (0, 1)))
    module = relay.IRModule.from_expr(relay.Function([x, w], back))
    after = PASS(module)
    assert count_ops(after["main"]) == {"nn.conv2d": 1}
    assert_means_the_same(after, module)


def test_one_spatial_axis():
    x, w = relay.var("x", shape=(1, 8, 3)), relay.var("w", shape=(2, 3, 3))
    split = relay.nn.space_to_batch_nd(x, (2,), ((2, 2),))
    product = relay.nn.conv1d(split, w, data_layout="NWC", kernel_layout="OIW")
    back = relay.nn.batch_to_space_nd(product, block_shape=(2,), crops=((0, 0),))
    module = relay.IRModule.from_expr(relay.Function([x, w], back))
    after = PASS(module)
    assert count_ops(after["main"]) == {"nn.conv1d": 1}
    assert_means_the_same(after, module)
