"""Which values elements may have."""

from math import inf

import ml_dtypes
import numpy as np
import pytest

from relay import dtypes
from relay.analysis.value_ranges import (
    Range,
    clip_bounds,
    exact_integers,
    is_lossless,
    of_dtype,
    of_expression,
)
from relay.op.building.numerics import convert
from relay.transform.simplify.rule_window import Window
from tests.transform.rewriting import parse


@pytest.mark.parametrize(
    ("body", "low", "high"),
    [
        ("%u", 0, 255),
        ("%x", -inf, inf),
        ("%c", 0, 1),
        ('cast(%u, dtype="int32")', 0, 255),
        ('cast(%i, dtype="float32")', -128, 127),
        ('cast(%i, dtype="uint8")', 0, 255),
        ('cast(clip(%k, a_min=-3f, a_max=300f), dtype="int16")', -3, 300),
        ('cast(clip(%k, a_min=-3f, a_max=300f), dtype="int8")', -128, 127),
        ('cast(%k, dtype="float16")', -inf, inf),  # rounded, and some are infinite
        ("nn.relu(%i)", 0, 127),
        ("clip(%x, a_min=-1f, a_max=2f)", -1, 2),
        ("negative(%i)", -128, 127),
    ],
)
def test_of_expressions(body, low, high):
    main = parse(body)["main"]
    assert of_expression(main.body, Window(main)) == Range(low, high)


def test_bounds_of_a_clip():
    assert clip_bounds(parse("clip(%x, a_min=1f, a_max=2f)")["main"].body) == Range(1, 2)
    assert clip_bounds(parse("clip(%x, a_min=2f, a_max=1f)")["main"].body) is None
    assert clip_bounds(parse("nn.relu(%x)")["main"].body) == Range(0, inf)
    assert clip_bounds(parse("exp(%x)")["main"].body) is None


def test_ranges_are_compared_and_cut():
    assert Range(1, 2).within(Range(0, 2)) and not Range(0, 2).within(Range(1, 2))
    assert Range(0, 5).common(Range(2, 9)) == Range(2, 5)
    assert of_dtype("int4") == Range(-8, 7)


SMALL = (
    *("bool", "int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16"),
    *("float16", "bfloat16"),
)


def all_values(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_integer(dtype) and dtypes.bits(dtype) < 8:
        low, high = of_dtype(dtype).low, of_dtype(dtype).high
        return np.arange(low, high + 1).astype(getattr(ml_dtypes, dtype))
    bits = dtypes.bits(dtype)
    words = np.arange(2**bits, dtype=f"uint{max(8, bits)}")
    return words.view(dtypes.to_numpy(dtype))


@pytest.mark.parametrize("source", (*SMALL, *dtypes.FLOAT8, *dtypes.MICROSCALING))
def test_lossless_means_that_every_value_comes_back(source):
    given = all_values(source)
    targets = (*SMALL[1:], "int32", "int64", "float32", "float64", "float8_e5m2")
    with np.errstate(all="ignore"):
        wide = given.astype(np.float64)
        for target in targets:
            there = convert(given, target).astype(np.float64)
            comes_back = np.array_equal(there, wide, equal_nan=dtypes.is_float(target))
            assert is_lossless(source, target) == comes_back, target
    assert is_lossless(source, "bool") == (source == "bool")


def test_integers_that_floats_tell_apart():
    assert exact_integers("float32") == Range(-(2**24), 2**24)
    assert exact_integers("float16") == Range(-2048, 2048)
    assert exact_integers("uint8") == Range(0, 255)
