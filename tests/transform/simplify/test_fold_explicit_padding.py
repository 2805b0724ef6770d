"""Convolutions and pools pad for themselves."""

import numpy as np
import pytest

import relay
from relay.testing import count_ops
from relay.transform import FoldExplicitPadding
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays, parse

PASS = FoldExplicitPadding()
PARAMS = """
    %x: Tensor[(1, 2, 6, 7), float32], %w: Tensor[(3, 2, 3, 3), float32],
    %l: Tensor[(1, 6, 7, 2), float32], %s: Tensor[(1, 2, 9), float32],
    %sw: Tensor[(3, 2, 3), float32], %b: Tensor[(1, 1, 6, 7, 2), float32],
    %bw: Tensor[(1, 1, 3, 3, 2, 2), float32], %q: Tensor[(1, 2, 6, 7), int8],
    %qw: Tensor[(3, 2, 3, 3), int8]
"""
ROUND = "pad_width=[[0, 0], [0, 0], [1, 2], [3, 0]]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"nn.conv2d(nn.pad(%x, 0f, {ROUND}), %w)",
            "nn.conv2d(%x, %w, padding=[1, 3, 2, 0])",
        ),
        (
            f"nn.conv2d(nn.pad(%x, 0f, {ROUND}), %w, padding=[1, 1, 1, 1], strides=[2, 1])",
            "nn.conv2d(%x, %w, padding=[2, 4, 3, 1], strides=[2, 1])",
        ),
        (
            "nn.conv2d(nn.pad(%l, 0f, pad_width=[[0, 0], [1, 2], [3, 0], [0, 0]]), %w, "
            'data_layout="NHWC")',
            'nn.conv2d(%l, %w, padding=[1, 3, 2, 0], data_layout="NHWC")',
        ),
        (
            "nn.conv1d(nn.pad(%s, 0f, pad_width=[[0, 0], [0, 0], [2, 1]]), %sw)",
            "nn.conv1d(%s, %sw, padding=[2, 1])",
        ),
        (
            "nn.contrib_conv2d_NCHWc(nn.pad(%b, 0f, "
            "pad_width=[[0, 0], [0, 0], [1, 2], [3, 0], [0, 0]]), %bw, "
            'data_layout="NCHW2c", kernel_layout="OIHW2i2o")',
            "nn.contrib_conv2d_NCHWc(%b, %bw, padding=[1, 3, 2, 0], "
            'data_layout="NCHW2c", kernel_layout="OIHW2i2o")',
        ),
        (
            f"qnn.conv2d(nn.pad(%q, 5, {ROUND}), %qw, 5, 2, 1f, 1f)",
            "qnn.conv2d(%q, %qw, 5, 2, 1f, 1f, padding=[1, 3, 2, 0])",
        ),
        (
            f"nn.avg_pool2d(nn.pad(%x, 0f, {ROUND}), pool_size=[3, 3])",
            "nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 3, 2, 0], count_include_pad=True)",
        ),
        (
            f"nn.avg_pool2d(nn.pad(%x, 0f, {ROUND}), pool_size=[3, 3], padding=[1, 1, 1, 1], "
            "count_include_pad=True)",
            "nn.avg_pool2d(%x, pool_size=[3, 3], padding=[2, 4, 3, 1], count_include_pad=True)",
        ),
        (
            f"nn.max_pool2d(nn.pad(nn.relu(%x), 0f, {ROUND}), pool_size=[4, 4])",
            "nn.max_pool2d(nn.relu(%x), pool_size=[4, 4], padding=[1, 3, 2, 0])",
        ),
        (
            f"nn.max_pool2d(nn.pad(%q, -128i8, {ROUND}), pool_size=[2, 2])",
            "nn.max_pool2d(%q, pool_size=[2, 2], padding=[1, 3, 2, 0])",
        ),
        (
            f"let %p = nn.pad(%x, 0f, {ROUND}); let %y = nn.conv2d(%p, %w); %y",
            f"let %p = nn.pad(%x, 0f, {ROUND}); "
            "let %y = nn.conv2d(%x, %w, padding=[1, 3, 2, 0]); %y",
        ),
    ],
)
def test_a_pad_becomes_padding(before, after):
    assert_rewrites(PASS, before, after, PARAMS)


@pytest.mark.parametrize(
    "body",
    [
        f"nn.conv2d(nn.pad(%x, 1f, {ROUND}), %w)",
        f'nn.conv2d(nn.pad(%x, 0f, {ROUND}, pad_mode="edge"), %w)',
        "nn.conv2d(nn.pad(%x, 0f, pad_width=[[1, 0], [0, 0], [1, 2], [3, 0]]), %w)",
        "nn.conv2d(%x, nn.pad(%w, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]))",
        f"qnn.conv2d(nn.pad(%q, 0, {ROUND}), %qw, 5, 2, 1f, 1f)",
        f"nn.avg_pool2d(nn.pad(%x, 0f, {ROUND}), pool_size=[3, 3], padding=[1, 1, 1, 1])",
        f"nn.max_pool2d(nn.pad(%x, 0f, {ROUND}), pool_size=[4, 4])",  # %x may be less
        f"nn.max_pool2d(nn.pad(nn.relu(%x), 0f, {ROUND}), pool_size=[3, 3])",  # a row of padding
        f"nn.max_pool2d(nn.pad(nn.relu(%x), 0f, {ROUND}), pool_size=[4, 4], dilation=[2, 2])",
        "nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, -1], [0, 0]]), %w)",
        "nn.avg_pool2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [-1, 0], [0, 0]]), "
        "pool_size=[3, 3])",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body, PARAMS)


def test_below_everything_is_what_a_max_pool_pads_with():
    x = relay.var("x", shape=(1, 1, 4, 4))
    for value, folds in ((-np.inf, True), (-3.4e38, False)):
        padded = relay.nn.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)), relay.const(value, "float32"))
        module = relay.IRModule.from_expr(relay.nn.max_pool2d(padded, pool_size=(2, 2)))
        after = PASS(module)
        assert ("nn.pad" in count_ops(after["main"])) is not folds
        assert_means_the_same(after, module, rtol=None)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("strides", [1, 2, 3])
def test_pools_of_all_steps_mean_the_same(strides, ceil_mode):
    x = relay.var("x", shape=(1, 2, 7, 8))
    padded = relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)))
    options = {"pool_size": (3, 3), "strides": strides, "ceil_mode": ceil_mode}
    module = relay.IRModule.from_expr(relay.nn.avg_pool2d(padded, **options))
    after = PASS(module)
    assert "nn.pad" not in count_ops(after["main"])
    assert_means_the_same(after, module)


def test_who_else_reads_the_pad_keeps_it():
    body = f"%0 = nn.pad(%x, 0f, {ROUND}); (nn.conv2d(%0, %w), %0)"
    after = PASS(parse(body, PARAMS))["main"].body
    assert after[0].args[0].name_hint == "x" and after[1].op.name == "nn.pad"
