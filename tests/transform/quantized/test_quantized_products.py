"""Products of numbers that are integers add up integers, and so does what is added to them."""

import pytest

from relay.transform import FakeQuantizationToInteger
from tests.transform.quantizing import assert_rewrites, assert_stays

PASS = FakeQuantizationToInteger()
PARAMS = """
    %q: Tensor[(1, 2, 6, 6), uint8], %w: Tensor[(4, 2, 3, 3), int8],
    %l: Tensor[(1, 6, 6, 2), uint8], %lw: Tensor[(3, 3, 2, 4), int8],
    %m: Tensor[(3, 8), int8], %n: Tensor[(2, 8), int8], %t: Tensor[(8, 2), int8],
    %a: Tensor[(5, 3, 8), uint8], %b: Tensor[(5, 2, 8), uint8], %c: Tensor[(2, 3, 3), int8],
    %u: Tensor[(2, 3, 2, 2), int8], %h: Tensor[(3, 8), int16]
"""
FLOAT = 'out_dtype="float32"'


def real(name: str, scale: str = "0.5f", zero: str = "3", axis: int = -1) -> str:
    return f"qnn.dequantize({name}, {scale}, {zero}, axis={axis}, {FLOAT})"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"nn.conv2d({real('%q')}, {real('%w', '0.25f', '1')}, strides=[2, 2])",
            f"qnn.dequantize(qnn.conv2d(%q, %w, 3, 1, 0.5f, 0.25f, strides=[2, 2]), 0.125f, 0, "
            f"{FLOAT})",
        ),
        (
            f"nn.conv2d({real('%q')}, {real('%w', '$[0.5f, 1f, 2f, 4f]$', '0', 0)})",
            "qnn.dequantize(qnn.conv2d(%q, %w, 3, 0, 0.5f, $[0.5f, 1f, 2f, 4f]$), "
            f"$[0.25f, 0.5f, 1f, 2f]$, 0, axis=1, {FLOAT})",
        ),
        (
            f"nn.conv2d({real('%l')}, {real('%lw', '$[0.5f, 1f, 2f, 4f]$', '0', 3)}, "
            'data_layout="NHWC", kernel_layout="HWIO")',
            "qnn.dequantize(qnn.conv2d(%l, %lw, 3, 0, 0.5f, $[0.5f, 1f, 2f, 4f]$, "
            'data_layout="NHWC", kernel_layout="HWIO"), '
            f"$[0.25f, 0.5f, 1f, 2f]$, 0, axis=3, {FLOAT})",
        ),
        (
            f"nn.conv2d_transpose({real('%q')}, {real('%u', '$[0.5f, 1f, 2f]$', '0', 1)}, "
            "strides=[2, 2])",
            "qnn.dequantize(qnn.conv2d_transpose(%q, %u, 3, 0, 0.5f, $[0.5f, 1f, 2f]$, "
            f"strides=[2, 2]), $[0.25f, 0.5f, 1f]$, 0, axis=1, {FLOAT})",
        ),
        (
            f"nn.conv1d({real('%a')}, {real('%c', '$[0.5f, 1f]$', '0', 0)}, padding=[1, 2])",
            "%0 = qnn.conv2d(expand_dims(%a, axis=2), expand_dims(%c, axis=2), 3, 0, 0.5f, "
            "$[0.5f, 1f]$, padding=[0, 1, 0, 2]); "
            f"qnn.dequantize(squeeze(%0, axis=[2]), $[0.25f, 0.5f]$, 0, axis=1, {FLOAT})",
        ),
        (
            f"nn.dense({real('%m')}, {real('%n', '$[0.5f, 1f]$', '0', 0)})",
            "qnn.dequantize(qnn.dense(%m, %n, 3, 0, 0.5f, $[0.5f, 1f]$), $[0.25f, 0.5f]$, 0, "
            f"axis=1, {FLOAT})",
        ),
        (
            f"nn.matmul({real('%m')}, {real('%t', '$[0.5f, 1f]$', '$[1, 2]$', 1)})",
            "qnn.dequantize(qnn.dense(%m, transpose(%t, axes=[1, 0]), 3, $[1, 2]$, 0.5f, "
            f"$[0.5f, 1f]$), $[0.25f, 0.5f]$, 0, axis=1, {FLOAT})",
        ),
        (
            f"nn.batch_matmul({real('%a')}, {real('%b', '0.25f', '4')}, transpose_b=True)",
            "qnn.dequantize(qnn.batch_matmul(%a, %b, 3, 4, 0.5f, 0.25f, transpose_b=True), "
            f"0.125f, 0, {FLOAT})",
        ),
        (
            f"nn.bias_add(nn.conv2d({real('%q')}, {real('%w', '0.25f', '0')}), "
            "$[1f, 2f, -3f, 4f]$)",
            "qnn.dequantize(add(qnn.conv2d(%q, %w, 3, 0, 0.5f, 0.25f), "
            f"$[[[8]], [[16]], [[-24]], [[32]]]$), 0.125f, 0, {FLOAT})",
        ),
        (
            f"add(nn.dense({real('%m')}, {real('%n', '$[0.5f, 1f]$', '0', 0)}), "
            f"{real('$[7, 8]$', '0.25f', '0')})",
            f"qnn.dequantize(add(qnn.dense(%m, %n, 3, 0, 0.5f, $[0.5f, 1f]$), $[7, 4]$), "
            f"$[0.25f, 0.5f]$, 0, axis=1, {FLOAT})",
        ),
    ],
)
def test_a_product_is_one_of_integers(before, after):
    assert_rewrites(PASS, before, after, PARAMS)


@pytest.mark.parametrize(
    "body",
    [
        # several scales of data
        f"nn.dense({real('%m', '$[0.5f, 1f, 2f]$', '0', 0)}, {real('%n')})",
        # scales of weights along what is summed
        f"nn.conv2d({real('%q')}, {real('%w', '$[0.5f, 1f]$', '0', 1)})",
    ],
)
def test_other_products_stay(body):
    assert_stays(PASS, body, PARAMS)


def test_a_number_too_large_for_sums_is_added_as_one():
    assert_rewrites(
        PASS,
        f"add(nn.dense({real('%m')}, {real('%n')}), 1e12f)",
        f"add(qnn.dequantize(qnn.dense(%m, %n, 3, 3, 0.5f, 0.5f), 0.25f, 0, {FLOAT}), 1e12f)",
        PARAMS,
    )
