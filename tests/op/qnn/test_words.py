"""Fixed point in words of 64 bits against the same in integers of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay import te
from relay.op.qnn import fixed_point, words
from relay.te.evaluate import evaluate

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
FACTORS = st.one_of(
    st.floats(2.0**-40, 2.0**40, width=32),
    st.sampled_from([0.5, 1.0, 2.0**-31, 2.0**29, 2.0**31, 1 - 2.0**-40, 1e-30, 1e30]),
)
ROUNDING = st.sampled_from(["UPWARD", "TONEAREST"])


def ran(body: Any, **values: Any) -> int:
    """The scalar that `body` makes of scalar tensors."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    tensors = {n: te.placeholder((), a.dtype.name, n) for n, a in arrays.items()}
    made = te.compute((), lambda: body(**{n: t[()] for n, t in tensors.items()}))
    (found,) = evaluate([made], {tensors[n]: a for n, a in arrays.items()})
    return int(found)


def exact(value: int, factor: float, rounding: Any) -> int:
    """What integers without bounds give, in 32 bits."""
    found = fixed_point.scaled(np.array([value], object), np.array(factor), rounding)
    return int(fixed_point.saturated(found, "int32"))


@given(INT32, INT32, FACTORS, ROUNDING)
def test_a_word_holds_integers_of_32_bits(
    data: int, zero_point: int, factor: float, rounding: Any
) -> None:
    def body(x: te.Expr, zero: te.Expr, f: te.Expr) -> te.Expr:
        own = words.factors((), lambda: f)()
        return words.saturated(words.scaled(words.centered(x, zero), own, rounding), "int32")

    found = ran(body, x=np.int32(data), zero=np.int32(zero_point), f=np.float64(factor))
    assert found == exact(data - zero_point, factor, rounding)


@given(INT64, INT32, FACTORS, ROUNDING)
def test_two_words_hold_integers_of_64_bits(
    data: int, zero_point: int, factor: float, rounding: Any
) -> None:
    def body(x: te.Expr, zero: te.Expr, f: te.Expr) -> te.Expr:
        own = words.factors((), lambda: f)()
        return words.saturated(words.scaled_long(words.difference(x, zero), own, rounding), "int32")

    found = ran(body, x=np.int64(data), zero=np.int32(zero_point), f=np.float64(factor))
    assert found == exact(data - zero_point, factor, rounding)


DISTANCES = st.integers(-(2**32) + 1, 2**32 - 1)


@given(DISTANCES, DISTANCES, FACTORS)
def test_a_product_of_two_distances_is_rounded_once(x: int, y: int, factor: float) -> None:
    def body(x: te.Expr, y: te.Expr, f: te.Expr) -> te.Expr:
        own = words.factors((), lambda: f)()
        return words.saturated(words.scaled_long(words.product(x, y), own), "int32")

    found = ran(body, x=np.int64(x), y=np.int64(y), f=np.float64(factor))
    assert found == exact(x * y, factor, "UPWARD")


@pytest.mark.parametrize("factor", [0.3, -0.3, 0.0, 0.5, 1 - 2.0**-40, -(2.0**-9), 3e20])
def test_a_factor_has_the_parts_that_floats_have(factor: float) -> None:
    multiplier, exponent = fixed_point.multiplier_and_exponent(np.array(factor))
    found = ran(lambda f: words.factors((), lambda: f)().multiplier, f=np.float64(factor))
    assert found == multiplier
    if factor:
        assert (
            ran(lambda f: words.factors((), lambda: f)().exponent, f=np.float64(factor)) == exponent
        )
