"""Conversions agree with NumPy and ml_dtypes on every pattern of bits, and with the language."""

from types import SimpleNamespace

import numpy as np
import pytest

from relay import dtypes, te
from relay.op.building.numerics import convert
from relay.te import narrow
from relay.te.evaluate import evaluate
from relay.te.expr import Cast
from relay.tree import postorder
from tests.support.looping import each

MACHINES = [SimpleNamespace(has_f16c=one, has_nearest=one) for one in (False, True)]
CARRIERS = {
    **dict.fromkeys(narrow.NARROW_FLOATS, "float32"),
    **narrow.STORAGE,
}


def apply(body, array):
    """`body` of every element."""
    source = te.placeholder(array.shape, dtypes.from_numpy(array.dtype))
    return evaluate([te.compute(array.shape, lambda i: body(source[i]))], {source: array})[0]


def patterns(dtype):
    """Every number of a narrow type."""
    bits = dtypes.bits(dtype)
    return np.arange(1 << bits, dtype=f"u{max(8, bits) // 8}").view(dtypes.to_numpy(dtype))


def same(found, expected):
    """The same bits, but for those of NaN; zeros have signs."""
    assert found.dtype == expected.dtype
    numbers = ~np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), ~numbers)
    bits = f"u{found.dtype.itemsize}"
    np.testing.assert_array_equal(found[numbers].view(bits), expected[numbers].view(bits))


def halfway(dtype):
    """Every number of the type, what lies halfway between neighbors, and just beside that."""
    with np.errstate(invalid="ignore"):  # NaN that signals
        numbers = patterns(dtype).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middles = (numbers[1:] + numbers[:-1]) / 2
    last = numbers[-1] + (numbers[-1] - numbers[-2]) * np.array([0.25, 0.5, 0.75, 1, 100])
    return np.concatenate([numbers, middles, last, -last, [0.0, -0.0, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize("facts", MACHINES, ids=["bits", "f16c"])
@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_every_narrow_float_is_its_float32(dtype: str, facts) -> None:
    array = patterns(dtype)
    with np.errstate(invalid="ignore"):
        same(apply(lambda x: narrow.from_narrow(x, facts), array), array.astype(np.float32))


@pytest.mark.parametrize("facts", MACHINES, ids=["bits", "f16c"])
@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_a_float32_is_rounded_to_even(dtype: str, facts) -> None:
    with np.errstate(all="ignore"):
        exact = halfway(dtype).astype(np.float32)
        beside = [np.nextafter(exact, np.float32(way)) for way in (-np.inf, np.inf)]
    random = np.random.default_rng(0).integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    array = np.concatenate([exact, *beside, random])
    with np.errstate(all="ignore"):
        expected = array.astype(dtypes.to_numpy(dtype))
    same(apply(lambda x: narrow.to_narrow(x, dtype, facts), array), expected)


@pytest.mark.full
@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_every_float32_is_rounded_to_even(dtype: str) -> None:
    for start in range(0, 1 << 32, 1 << 24):
        array = np.arange(start, start + (1 << 24), dtype=np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            expected = array.astype(dtypes.to_numpy(dtype))
        same(apply(lambda x: narrow.to_narrow(x, dtype, MACHINES[0]), array), expected)


@pytest.mark.parametrize("facts", MACHINES, ids=["bits", "f16c"])
@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_a_float64_is_rounded_as_the_language_rounds_it(dtype: str, facts) -> None:
    exact = halfway(dtype)
    beside = [np.nextafter(exact, way) for way in (-np.inf, np.inf)]
    array = np.concatenate([exact, *beside])
    with np.errstate(all="ignore"):
        expected = convert(array, dtype).astype(np.float32)
    same(apply(lambda x: narrow.expand_cast(x, "float64", dtype, facts), array), expected)


@pytest.mark.parametrize("facts", MACHINES, ids=["bits", "f16c"])
@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_what_was_only_moved_is_not_converted_twice(dtype: str, facts) -> None:
    x = te.placeholder((1,), dtype)[0]
    assert narrow.to_narrow(narrow.from_narrow(x, facts), dtype, facts) is x
    assert narrow.to_narrow(narrow.from_narrow(x, facts) + 1.0, dtype, facts) is not x


def numbers(dtype):
    """Values of a type in its carrier, with the ends of the integers and what is beside them."""
    if not dtypes.is_float(dtype):
        if dtype == "bool":
            return np.array([False, True])
        low, high = te.lowest(dtype).value, te.highest(dtype).value
        chosen = [
            low,
            low + 1,
            high - 1,
            high,
            *(x for x in (-9, -1, 0, 1, 100) if low <= x <= high),
        ]
        return np.array(chosen, "u8" if dtype == "uint64" else "i8").astype(
            CARRIERS.get(dtype, dtype)
        )
    ends = [side * 2.0**k for k in (0, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64) for side in (1, -1)]
    chosen = np.array([*ends, 0.0, -0.0, 0.5, -0.9, 2.5, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        array = chosen.astype(dtypes.to_numpy(dtype)).astype(CARRIERS.get(dtype, dtype))
        beside = [np.nextafter(array, array.dtype.type(way)) for way in (-np.inf, np.inf)]
        around = np.concatenate([array, *beside, array + 1, array - 1])
        return around.astype(dtypes.to_numpy(dtype)).astype(array.dtype)


@pytest.mark.parametrize("target", dtypes.NAMES)
@each("source", dtypes.NAMES)
def test_a_cast_is_that_of_the_language(source: str, target: str) -> None:
    array = numbers(source)
    with np.errstate(all="ignore"):
        expected = convert(array.astype(dtypes.to_numpy(source)), target)
        expected = expected.astype(CARRIERS.get(target, target))
    for facts in MACHINES:
        found = apply(lambda x, facts=facts: narrow.expand_cast(x, source, target, facts), array)
        same(found, expected)


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", [*dtypes.SIGNED, *dtypes.UNSIGNED[1:]])
def test_only_integers_in_range_are_left_to_the_machine(source: str, target: str) -> None:
    x = te.placeholder((1,), source)
    y = narrow.expand_cast(x[0], source, target, MACHINES[0])
    (left,) = [part for part in postorder(y) if isinstance(part, Cast)]
    array = numbers(source)
    for element in array:
        inside = te.compute((1,), lambda i, left=left: left.operand)
        value = evaluate([inside], {x: np.array([element])})[0][0]
        assert te.lowest(target).value <= int(value) <= te.highest(target).value


# --- compiled ----------------------------------------------------------------------------------


@pytest.mark.rotate(4)
@pytest.mark.parametrize(
    ("source", "lanes"),
    [(dtype, None) for dtype in dtypes.NAMES]
    + [(dtype, 1) for dtype in ("float64", "float32", "uint64", "bool")],
)
def test_compiled_casts_are_those_of_the_language(source: str, lanes, compiled_all) -> None:
    array = numbers(source).astype(dtypes.to_numpy(source))
    casts = [lambda x, target=target: te.cast(x, target) for target in dtypes.NAMES]
    for target, found in zip(dtypes.NAMES, compiled_all(casts, array, lanes=lanes), strict=True):
        with np.errstate(all="ignore"):
            same_numbers(found, convert(array, target))


@pytest.mark.parametrize("dtype", narrow.NARROW_FLOATS)
def test_compiled_narrow_floats_are_rounded_to_even(dtype: str, compiled) -> None:
    with np.errstate(all="ignore"):
        exact = halfway(dtype).astype(np.float32)
        beside = [np.nextafter(exact, np.float32(way)) for way in (-np.inf, np.inf)]
        array = np.concatenate([exact, *beside])
        same_numbers(
            compiled(lambda x: te.cast(x, dtype), array), array.astype(dtypes.to_numpy(dtype))
        )
        every = patterns(dtype)
        same_numbers(compiled(lambda x: te.cast(x, "float32"), every), every.astype(np.float32))
        same_numbers(
            compiled(lambda x: x + 1.0, every), (every.astype("f4") + 1).astype(every.dtype)
        )


def same_numbers(found, expected):
    assert found.dtype == expected.dtype
    if dtypes.is_float(dtypes.from_numpy(found.dtype)):
        same(found, expected)
    else:
        np.testing.assert_array_equal(found, expected)
