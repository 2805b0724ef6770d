"""Integers times real factors: exact, against fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from relay.op.opdef import get
from relay.op.qnn.fixed_point import (
    centered,
    multiplier_and_exponent,
    nearest,
    saturated,
    scaled,
    times,
)

RANDOM = np.random.default_rng(3)
FACTORS = [0.3, 0.5, 1.0, 1.5, 2.0**-31, 3e-12, 2.0**29, 1e9, 2.0**31, 7e12, 1 - 2.0**-40]
INTEGERS = [0, 1, -1, 2, -3, 127, -128, 2**31 - 1, -(2**31), 2**32 - 1, -(2**32) + 1]


def halves_up(value):
    return math.floor(value + Fraction(1, 2))


def halves_away(value):
    return halves_up(value) if value >= 0 else -halves_up(-value)


@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_becomes_31_bits_and_a_power_of_two(factor):
    multiplier, exponent = multiplier_and_exponent(np.float64(factor))
    assert 2**30 <= multiplier < 2**31
    kept = int(multiplier) * Fraction(2) ** int(exponent - 31)
    assert abs(kept - Fraction(factor)) <= Fraction(factor) / 2**31


def test_a_factor_of_zero_gives_zero():
    assert scaled(np.array([5, -5]), np.float64(0)).tolist() == [0, 0]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    ("rounding", "exactly"), [("UPWARD", halves_up), ("TONEAREST", halves_away)]
)
def test_products_are_exact_and_rounded_once(factor, rounding, exactly):
    values = [*INTEGERS, *RANDOM.integers(-(2**32), 2**32, 50).tolist()]
    multiplier, exponent = multiplier_and_exponent(np.float64(factor))
    kept = int(multiplier) * Fraction(2) ** int(exponent - 31)
    found = scaled(np.array(values, np.int64), np.float64(factor), rounding)
    assert found.tolist() == [exactly(value * kept) for value in values]


def test_integers_of_more_than_64_bits_are_exact_too():
    values = np.array([2**62, -(2**63) + 5], np.int64)
    (difference,) = centered(values, np.array(-(2**31), np.int32))
    assert difference.tolist() == [2**62 + 2**31, -(2**63) + 5 + 2**31]
    assert scaled(difference, np.float64(2.0**-40)).tolist() == [
        halves_up(Fraction(value, 2**40)) for value in difference.tolist()
    ]
    assert times(np.array([2**40]), np.array([-(2**40)])).tolist() == [-(2**80)]


def test_nothing_times_a_factor_is_nothing():
    assert scaled(np.zeros((0, 3), np.int64), np.float64(0.5)).shape == (0, 3)


def test_halves_go_up_or_away_from_zero():
    values = np.array([-5, -3, -1, 1, 3, 5])
    half = np.float64(0.5)
    assert scaled(values, half, "UPWARD").tolist() == [-2, -1, 0, 1, 2, 3]
    assert scaled(values, half, "TONEAREST").tolist() == [-3, -2, -1, 1, 2, 3]
    assert nearest(values / 2, "UPWARD").tolist() == [-2, -1, 0, 1, 2, 3]
    assert nearest(values / 2, "TONEAREST").tolist() == [-3, -2, -1, 1, 2, 3]


def test_a_float_just_below_a_half_does_not_round_up():
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert nearest(np.array([below]), "UPWARD").tolist() == [0]


def test_what_is_outside_of_the_element_type_becomes_its_end():
    assert saturated(np.array([[-1, 300, 7]]), "uint8").tolist() == [0, 255, 7]
    assert saturated(np.array([2**90], object), "int8") == 127


def test_the_arithmetic_is_that_of_the_fixed_point_operator():
    values = RANDOM.integers(-(2**31), 2**31, 100).astype(np.int32)
    for factor in (0.3, 0.9999, 1e-4, 2.0**-20):
        multiplier, exponent = multiplier_and_exponent(np.float64(factor))
        product = get("fixed_point_multiply").reference(
            values, multiplier=int(multiplier), shift=int(exponent)
        )
        assert scaled(values.astype(np.int64), np.float64(factor)).tolist() == product.tolist()
