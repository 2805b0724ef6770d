"""Sums and products of integers: near the real ones, and what is refused."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.interpreter.evaluate import evaluate

RANDOM = np.random.default_rng(13)


def const(value, dtype="int8"):
    return relay.const(value, dtype)


def affine(scale, zero_point):
    return const(scale, "float32"), const(zero_point, "int32")


@pytest.mark.parametrize(
    ("name", "real", "steps"),
    [("add", np.add, 1.5), ("subtract", np.subtract, 1.5), ("mul", np.multiply, 0.5)],
)
def test_the_result_is_near_that_of_real_numbers(name, real, steps):
    a, b = RANDOM.integers(-128, 128, (2, 500)).astype("int8")
    call = getattr(relay.qnn.op, name)(
        const(a), const(b), *affine(0.02, 4), *affine(0.03, -9), *affine(0.08, 1)
    )
    found = (evaluate(call).numpy().astype(float) - 1) * 0.08
    expected = real((a.astype(float) - 4) * 0.02, (b.astype(float) + 9) * 0.03)
    inside = np.abs(expected) < 0.08 * 120
    assert np.abs(found - expected)[inside].max() <= steps * 0.08 + 1e-9
    assert inside.mean() > 0.9


def test_equal_scales_change_nothing_but_the_sum():
    a, b = RANDOM.integers(-60, 60, (2, 500)).astype("int8")
    same = affine(0.3, 0)
    found = evaluate(relay.qnn.op.add(const(a), const(b), *same, *same, *same)).numpy()
    np.testing.assert_array_equal(found, a + b)


def test_tensors_are_joined_under_one_scale():
    parts = [const([10, -10]), const([10, 20, 30])]
    call = relay.qnn.op.concatenate(
        parts,
        [const(0.5, "float32"), const(1.0, "float32")],
        [const(0, "int32"), const(10, "int32")],
        *affine(0.5, 0),
        axis=0,
    )
    assert evaluate(call).numpy().tolist() == [10, -10, 0, 20, 40]


def test_each_tensor_needs_a_scale():
    parts = [const([1]), const([2])]
    one = [const(0.5, "float32")]
    zeros = [const(0, "int32")] * 2
    call = relay.qnn.op.concatenate(parts, one, zeros, *affine(0.5, 0), axis=0)
    with pytest.raises(TypeCheckError, match="`input_scales` does not fit `data`"):
        infer_expr(call)


def test_operands_of_different_types_are_refused():
    same = affine(0.3, 0)
    call = relay.qnn.op.add(const([1]), const([1], "uint8"), *same, *same, *same)
    with pytest.raises(TypeCheckError, match="element types differ"):
        infer_expr(call)


def test_the_new_scale_is_one_for_all():
    same = affine(0.3, 0)
    vector = const(np.ones(3), "float32"), const(0, "int32")
    call = relay.qnn.op.mul(const([1, 2, 3]), const([1]), *vector, *same, *vector)
    with pytest.raises(TypeCheckError, match="`output_scale` is no scale"):
        infer_expr(call)
