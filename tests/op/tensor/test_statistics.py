"""Statistics made of other operators, against SciPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

import relay
from relay.check.infer import infer_expr
from relay.ir.expr import Expr, Function
from relay.ir.types import ShapeVar

VALUES = np.random.default_rng(3).normal(2.0, 3.0, (2, 3, 4))
x = relay.var("x", shape=VALUES.shape, dtype="float64")


def evaluate(expr: Expr, *values: Any, **named: Any) -> Any:
    function = Function(tuple(relay.analysis.free_vars(expr)), expr)
    module = relay.IRModule.from_expr(function)
    return relay.create_executor("debug", mod=module).evaluate()(*values, **named)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 1, (0, -1)])
def test_mean_and_spread_agree_with_torch(axis: Any, keepdims: bool, unbiased: bool) -> None:
    t = torch.from_numpy(VALUES)
    options: dict[str, Any] = {"dim": axis, "keepdim": keepdims}
    spread = t.var(correction=int(unbiased), **options).numpy()
    mean = t.mean(**options).numpy()
    found = evaluate(relay.std(x, axis, keepdims, unbiased=unbiased), VALUES)
    np.testing.assert_allclose(found.numpy(), np.sqrt(spread))
    pair = relay.mean_variance(x, axis, keepdims, unbiased=unbiased).astuple()
    for part, expected in zip(evaluate(pair, VALUES), (mean, spread), strict=True):
        np.testing.assert_allclose(part.numpy(), expected)
    pair = relay.mean_std(x, axis, keepdims, unbiased=unbiased).astuple()
    for part, expected in zip(evaluate(pair, VALUES), (mean, np.sqrt(spread)), strict=True):
        np.testing.assert_allclose(part.numpy(), expected)


def test_axes_may_be_those_that_stay() -> None:
    found = evaluate(relay.std(x, 1, exclude=True), VALUES)
    np.testing.assert_allclose(found.numpy(), VALUES.std((0, 2)))
    mean, _ = evaluate(relay.mean_variance(x, 1, exclude=True).astuple(), VALUES)
    np.testing.assert_allclose(mean.numpy(), VALUES.mean((0, 2)))


def test_other_axes_of_extent_1_stay() -> None:
    ones = relay.var("y", shape=(1, 3))
    mean, spread = infer_expr(relay.mean_variance(ones, 1).astuple()).checked_type.fields
    assert mean.shape == spread.shape == (1,)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [1, (0, 2)])
def test_logsumexp_does_not_overflow(axis: Any, keepdims: bool) -> None:
    large = VALUES * 1000
    found = evaluate(relay.logsumexp(x, axis, keepdims), large)
    expected = scipy.special.logsumexp(large, axis, keepdims=keepdims)
    np.testing.assert_allclose(found.numpy(), expected)


def summed(data: np.ndarray, ids: np.ndarray, count: int) -> np.ndarray:
    result = np.zeros((count, *data.shape[1:]), data.dtype)
    for row, number in zip(data, ids, strict=True):
        result[number] += row
    return result


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_segments_are_summed(dtype: str) -> None:
    rows = np.arange(15).reshape(5, 3).astype(dtype)
    numbers = np.array([0, 0, 3, 1, 3], "int32")
    data = relay.var("data", shape=(5, 3), dtype=dtype)
    ids = relay.var("ids", shape=(5,), dtype="int32")
    found = evaluate(relay.segment_sum(data, ids), data=rows, ids=numbers)
    np.testing.assert_array_equal(found.numpy(), summed(rows, numbers, 4))
    assert found.dtype == dtype
    found = evaluate(relay.segment_sum(data, ids, 6), data=rows, ids=numbers)
    np.testing.assert_array_equal(found.numpy(), summed(rows, numbers, 6))


def test_statistics_of_symbolic_extents() -> None:
    n = ShapeVar("n")
    data = relay.var("data", shape=(n, 4))
    assert str(infer_expr(relay.std(data, 1)).checked_type) == "Tensor[(n), float32]"
    assert str(infer_expr(relay.logsumexp(data, 1, True)).checked_type) == "Tensor[(n, 1), float32]"
