"""Products instead of quotients."""

import numpy as np
import pytest

import relay
from relay.nd import Weight
from relay.transform import DivToMul, InferType
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays

PASS = DivToMul()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("divide(%x, 4f)", "multiply(%x, 0.25f)"),
        ("divide(divide(%x, 2f), -8f)", "multiply(multiply(%x, 0.5f), -0.125f)"),
        ("divide(%x, add(1f, 3f))", "multiply(%x, 0.25f)"),
        ("let %c = 4f; let %y = divide(%x, %c); %y", "let %y = multiply(%x, 0.25f); %y"),
        (
            "if (%c) { divide(%x, 4f) } else { fn () { divide(%y, 2f) }() }",
            "if (%c) { multiply(%x, 0.25f) } else { fn () { multiply(%y, 0.5f) }() }",
        ),
    ],
)
def test_a_constant_divisor_becomes_a_factor(before, after):
    assert_rewrites(PASS, before, after)


@pytest.mark.parametrize(
    "body",
    [
        "divide(%x, 0f)",
        "divide(%x, 1e-40f)",  # its reciprocal is infinite
        "divide(%x, 1e38f)",  # that of this one has lost digits
        "divide(4f, %x)",
        "divide(%x, %y)",
        "divide(%k, 4)",
        "floor_divide(%x, 4f)",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


def test_a_weight_may_become_zero():
    weight = relay.Constant(Weight("w", np.full(3, 4, "float32")))
    x = relay.var("x", shape=(2, 3))
    module = InferType()(relay.IRModule.from_expr(relay.divide(x, weight)))
    assert PASS(module)["main"] is module["main"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_result_is_off_by_one_rounding_at_most(dtype):
    x = relay.var("x", shape=(2, 50), dtype=dtype)
    divisors = relay.const(np.linspace(0.1, 9, 50), dtype)
    module = relay.IRModule.from_expr(relay.divide(x, divisors))
    after = PASS(module)
    assert after["main"].body.op.name == "multiply"
    tolerance = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-7, "float64": 4e-16}[dtype]
    assert_means_the_same(after, module, rtol=tolerance)
