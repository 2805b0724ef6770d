"""Approximations: how close they are, and where they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from relay.op.opdef import get

EXACT: dict[str, Callable[..., Any]] = {
    "fast_exp": np.exp,
    "fast_tanh": np.tanh,
    "fast_erf": scipy.special.erf,
}


def run(name: str, data: np.ndarray) -> Any:
    reference = get(name).reference
    assert reference is not None
    return reference(data)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_approximations_are_close(name: str, dtype: str) -> None:
    high = 80.0 if name == "fast_exp" else 12.0
    data = np.linspace(-high, high, 20001).astype(dtype)
    data = np.concatenate([data, data / 1e3, data / 1e6])
    exact = EXACT[name](data.astype(np.float64))
    np.testing.assert_allclose(run(name, data).astype(np.float64), exact, rtol=5e-7, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials_leave_the_range_as_exact_ones_do(dtype: str) -> None:
    limits = np.finfo(dtype)
    most = np.log(np.array(limits.max, "float64")) - 0.01
    data = np.array([np.nan, np.inf, -np.inf, 2 * most, -3 * most, most, 0.0], dtype)
    found = run("fast_exp", data)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, np.exp(data), rtol=5e-6)
    assert found[-1] == 1


@pytest.mark.parametrize("name", ["fast_tanh", "fast_erf"])
def test_odd_functions_end_at_1(name: str) -> None:
    found = run(name, np.array([np.inf, -np.inf, 1e30, np.nan, 0.0, -0.0], "float32"))
    np.testing.assert_allclose(found, [1, -1, 1, np.nan, 0, 0], rtol=5e-7)
    assert np.signbit(found[-1])
