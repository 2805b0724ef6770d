"""What a weight has to do with the channels on both sides."""

import pytest

import relay
from relay.analysis.value_flow import Flow
from relay.transform import InferType
from relay.transform.scales.weight_axes import is_own_weight, products

HEADER = '#[version = "0.0.5"]\n'


def function(x, w, body):
    source = f"def @main(%x: Tensor[{x}, float32], %w: Tensor[{w}, float32]) {{ {body} }}"
    return InferType()(relay.parse(HEADER + source))["main"]


@pytest.mark.parametrize(
    ("x", "w", "body", "entering", "leaving", "channels"),
    [
        ("(1, 4, 5, 5)", "(6, 4, 3, 3)", "nn.conv2d(%x, %w)", (1,), (1,), (4, 6)),
        ("(1, 4, 5, 5)", "(6, 2, 3, 3)", "nn.conv2d(%x, %w, groups=2)", (1,), (1,), (4, 6)),
        ("(1, 4, 5, 5)", "(4, 3, 3, 3)", "nn.conv2d(%x, %w, groups=4)", (1,), (1,), (4, 12)),
        (
            "(1, 4, 5, 5)",
            "(4, 3, 3, 3)",
            "nn.conv2d_transpose(%x, %w, groups=2)",
            (1,),
            (1,),
            (4, 6),
        ),
        (
            "(1, 2, 5, 5, 8)",
            "(6, 16, 3, 3)",
            'nn.conv2d(%x, %w, data_layout="NCHW8c", out_layout="NHWC")',
            (1, 4),
            (3,),
            (16, 6),
        ),
        ("(2, 3, 4)", "(5, 4)", "nn.dense(%x, %w)", (2,), (2,), (4, 5)),
        ("(3, 4)", "(4, 5)", "nn.matmul(%x, %w)", (1,), (1,), (4, 5)),
        ("(2, 3, 4)", "(2, 4, 5)", "nn.batch_matmul(%x, %w)", (2,), (2,), (4, 5)),
    ],
)
def test_channels_of_products(x, w, body, entering, leaving, channels):
    product = products(function(x, w, body).body)[0]
    assert (product.entering.axes, product.leaving.axes) == (entering, leaving)
    assert tuple(map(product.channels, (product.entering, product.leaving))) == channels


def test_in_a_batch_of_products_both_sides_may_be_the_weight():
    call = function("(2, 3, 4)", "(2, 5, 4)", "nn.batch_matmul(%x, %w, transpose_b=True)").body
    right, left = products(call)
    assert (right.data, right.weight, right.entering.axes, right.leaving.axes) == (0, 1, (2,), (2,))
    assert (left.data, left.weight, left.entering.axes, left.leaving.axes) == (1, 0, (2,), (1,))


def test_what_is_no_product_or_not_of_one_element_type():
    assert products(function("(2, 3)", "(2, 3)", "%x * %w").body) == ()
    assert products(function("(3, 2)", "(3, 4)", "nn.matmul(%x, %w, transpose_a=True)").body) == ()
    mixed = 'nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float32")'
    assert products(function("(2, 3)", "(4, 3)", mixed).body) == ()


def test_a_weight_is_fixed_and_used_once():
    constant, x = relay.const([[1.0, 2.0]]), relay.var("x", shape=(3, 2))
    for body, own in (
        (relay.nn.dense(x, constant), True),
        (relay.nn.dense(relay.nn.dense(x, constant) + constant, constant), False),
    ):
        assert is_own_weight(constant, Flow(relay.Function([x], body))) == own
    assert not is_own_weight(x, Flow(relay.Function([x], relay.nn.dense(x, x))))
