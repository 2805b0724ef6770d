"""Products of quantized numbers are products of bytes, and terms for their zero points."""

import numpy as np
import pytest

import relay
from relay.analysis import list_op_freqs
from relay.ir.parameters import bind_params_by_name
from relay.transform import QnnCanonicalize
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays, parse

PASS = QnnCanonicalize()
PARAMS = """
    %x: Tensor[(3, 8), uint8], %w: Tensor[(2, 8), int8], %v: Tensor[(2, 8), uint8],
    %a: Tensor[(5, 3, 8), int8], %b: Tensor[(5, 2, 8), int8],
    %q: Tensor[(1, 4, 6, 6), uint8], %k: Tensor[(6, 4, 3, 3), int8],
    %l: Tensor[(1, 6, 6, 4), uint8], %lk: Tensor[(3, 3, 4, 6), int8],
    %g: Tensor[(6, 2, 3, 3), int8], %d: Tensor[(4, 1, 3, 3), int8], %m: Tensor[(4, 2, 3, 3), int8],
    %t: Tensor[(4, 5, 3, 2), int8], %z: int32, %zs: Tensor[(6), int32], %h: Tensor[(3, 8), int16]
"""


def test_zero_points_of_zero_leave_nothing_behind():
    assert_rewrites(
        PASS,
        "qnn.dense(%x, %w, 0, 0, 0.5f, 0.25f)",
        'nn.dense(%x, %w, out_dtype="int32")',
        PARAMS,
    )
    assert_rewrites(
        PASS,
        "qnn.conv2d(%q, %k, 0, 0, 0.5f, 0.25f, padding=[1, 1, 1, 1])",
        'nn.conv2d(%q, %k, padding=[1, 1, 1, 1], out_dtype="int32")',
        PARAMS,
    )


def test_a_zero_point_of_data_is_a_term_of_the_weight():
    assert_rewrites(
        PASS,
        "qnn.dense(%x, %w, 3, 0, 0.5f, 0.25f)",
        """
        %0 = nn.dense(%x, %w, out_dtype="int32");
        subtract(%0, multiply(3, sum(cast(%w, dtype="int32"), axis=[1])))
        """,
        PARAMS,
    )


def test_a_zero_point_of_the_weight_is_a_term_of_data():
    assert_rewrites(
        PASS,
        "qnn.dense(%x, %w, 0, %z, 0.5f, 0.25f)",
        """
        %0 = nn.dense(%x, %w, out_dtype="int32");
        subtract(%0, multiply(sum(cast(%x, dtype="int32"), axis=[-1], keepdims=True), %z))
        """,
        PARAMS,
    )


def test_a_convolution_is_padded_with_its_zero_point():
    assert_rewrites(
        PASS,
        "qnn.conv2d(%q, %k, 3, 0, 0.5f, 0.25f, padding=[1, 0, 2, 1], strides=[2, 2])",
        """
        %0 = nn.pad(%q, cast(3, dtype="uint8"), pad_width=[[0, 0], [0, 0], [1, 2], [0, 1]]);
        %1 = nn.conv2d(%0, %k, strides=[2, 2], out_dtype="int32");
        %2 = multiply(3, sum(cast(%k, dtype="int32"), axis=[1, 2, 3]));
        subtract(%1, expand_dims(%2, axis=1, num_newaxis=2))
        """,
        PARAMS,
    )


@pytest.mark.parametrize(
    "body",
    [
        "qnn.dense(%x, %w, %z, %z, 0.5f, 0.25f)",
        "qnn.dense(%x, %v, 3, 200, 0.5f, 0.25f)",
        "qnn.dense(%x, %v, 3, %z, 0.5f, 0.25f)",
        "qnn.batch_matmul(%a, %b, 3, -4, 0.5f, 0.25f, transpose_b=True)",
        "qnn.batch_matmul(%b, %a, %z, %z, 0.5f, 0.25f, transpose_b=True)",
        "qnn.batch_matmul(%b, %b, 3, 4, 0.5f, 0.25f, transpose_a=True)",
        "qnn.conv2d(%q, %k, 3, 4, 0.5f, 0.25f, padding=[1, 1, 1, 1])",
        "qnn.conv2d(%q, %k, 0, 4, 0.5f, 0.25f, padding=[1, 1, 1, 1], dilation=[2, 1])",
        "qnn.conv2d(%q, %k, 200, %zs, 0.5f, 0.25f, strides=[2, 1])",
        'qnn.conv2d(%l, %lk, 3, %zs, 0.5f, 0.25f, padding=[1, 1, 1, 1], data_layout="NHWC", '
        'kernel_layout="HWIO")',
        "qnn.conv2d(%q, %g, 3, 0, 0.5f, 0.25f, groups=2, padding=[1, 1, 1, 1])",
        "qnn.conv2d(%q, %d, 3, 0, 0.5f, 0.25f, groups=4)",
        "qnn.conv2d_transpose(%q, %t, 0, 0, 0.5f, 0.25f, strides=[2, 2])",
        "qnn.conv2d_transpose(%q, %t, 3, 0, 0.5f, 0.25f, strides=[2, 1], padding=[1, 0, 0, 1])",
        "qnn.conv2d_transpose(%q, %t, %z, 0, 0.5f, 0.25f, groups=2)",
    ],
)
def test_every_product_is_one_of_bytes(body):
    module = parse(body, PARAMS)
    result = PASS(module)
    assert not any(name.startswith("qnn.") for name in list_op_freqs(result))
    assert_means_the_same(result, module, rtol=None)


def test_a_known_weight_is_shifted_where_it_fits():
    body = "qnn.dense(%x, %v, 0, 120, 0.5f, 0.25f)"
    small = np.arange(100, 116, dtype="uint8").reshape(2, 8)
    module = parse(body, PARAMS)
    module["main"] = bind_params_by_name(module["main"], {"v": relay.nd.array(small)})
    module = relay.transform.InferType()(module)
    result = PASS(module)
    assert set(list_op_freqs(result)) == {"nn.dense"}
    assert_means_the_same(result, module, rtol=None)


@pytest.mark.parametrize(
    "body",
    [
        'qnn.dense(%x, %w, 3, 0, 0.5f, 0.25f, out_dtype="int64")',
        "qnn.dense(%h, %w, 3, 0, 0.5f, 0.25f)",
        # weights of groups that have a zero point, and those written (channels, multiplier)
        "qnn.conv2d(%q, %g, 3, 4, 0.5f, 0.25f, groups=2)",
        "qnn.conv2d(%q, %m, 3, 0, 0.5f, 0.25f, groups=4)",
        # a transposed weight that has a zero point
        "qnn.conv2d_transpose(%q, %t, 3, %z, 0.5f, 0.25f)",
        # other operators are kernels of their own
        'qnn.requantize(%x, 0.5f, 3, 0.25f, 0, out_dtype="int8")',
    ],
)
def test_it_leaves_alone(body):
    assert_stays(PASS, body, PARAMS)
