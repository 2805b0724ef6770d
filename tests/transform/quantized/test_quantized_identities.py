"""Positions in quantized tensors."""

import numpy as np
import pytest

import relay
from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExpr()
REAL = 'qnn.dequantize(%i, 0.1f, 3, out_dtype="float32")'


@pytest.mark.parametrize("attrs", ["axis=[0]", "axis=[0], keepdims=True", "select_last_index=True"])
@pytest.mark.parametrize("operator", ["argmax", "argmin"])
def test_the_position_of_an_extremum_is_that_of_the_integers(operator, attrs):
    assert_rewrites(PASS, f"{operator}({REAL}, {attrs})", f"{operator}(%i, {attrs})")


def test_so_is_their_order():
    assert_rewrites(PASS, f"argsort({REAL}, is_ascend=False)", "argsort(%i, is_ascend=False)")


@pytest.mark.parametrize(
    "real",
    [
        'qnn.dequantize(%i, -0.1f, 3, out_dtype="float32")',  # the other way round
        'qnn.dequantize(%i, 0.1f, 3, out_dtype="float16")',  # some fall together
        'qnn.dequantize(%k, 0.1f, 3, out_dtype="float32")',
        'qnn.dequantize(%i, %t, 3, out_dtype="float32")',
        'qnn.dequantize(%i, 1e-44f, 3, out_dtype="float32")',
    ],
)
def test_where_the_order_may_be_another_it_stays(real):
    assert_stays(PASS, f"argmax({real}, axis=[0])")


@pytest.mark.parametrize("scale", [1.1e-30, 0.003, 0.7, 0.9e30])
def test_all_integers_keep_their_order_and_none_fall_together(scale):
    integers = np.arange(-(2**15), 2**15, dtype="int16")
    q = relay.var("q", shape=integers.shape, dtype="int16")
    real = relay.qnn.op.dequantize(q, relay.const(scale, "float32"), relay.const(-(2**15)))
    module = relay.IRModule.from_expr(relay.Function([q], real))
    result = relay.create_executor("debug", module).evaluate()(integers).numpy()
    assert (np.diff(result) > 0).all()
