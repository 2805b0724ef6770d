"""Random numbers: known answers, reproducible streams, and whether they look random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import relay
from relay.check.infer import infer_expr
from relay.errors import RelayError, TypeCheckError
from relay.ir.types import TensorType
from relay.op.opdef import get
from relay.op.random import threefry

# The vectors that Random123 publishes for threefry4x64 with 20 rounds: counter, key, result.
PI = (
    "243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89",
    "452821e638d01377 be5466cf34e90c6c be5466cf34e90c6c c0ac29b7c97c50dd",
)
KNOWN_ANSWERS = [
    (
        " ".join(["0" * 16] * 4),
        " ".join(["0" * 16] * 4),
        "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b",
    ),
    (
        " ".join(["f" * 16] * 4),
        " ".join(["f" * 16] * 4),
        "29c24097942bba1b 0371bbfb0f6f4e11 3c231ffa33f83a1c cd29113fde32d168",
    ),
    (*PI, "a7e8fde591651bd9 baafd0c30138319b 84a5c1a729e685b9 901d406ccebc1ba4"),
]


def words(text: str) -> np.ndarray:
    return np.array([int(word, 16) for word in text.split()], np.uint64)


def draw(name: str, key: Any, *args: Any, **attrs: Any) -> tuple[np.ndarray, np.ndarray]:
    op = get(f"random.{name}")
    made = op.make_attrs(attrs)
    return op.reference(key, *args, **(dict(made.items()) if made else {}))


def bits(key: Any, count: int) -> np.ndarray:
    return draw("threefry_generate", key, out_shape=(count,))[1]


def uniform(key: Any, count: int) -> np.ndarray:
    bounds = np.float64(0), np.float64(1)
    return draw("uniform", key, *bounds, out_shape=(count,), out_dtype="float64")[1]


KEY = threefry.make_key(2024)

# --- the cipher --------------------------------------------------------------------------------


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_the_cipher_gives_the_published_answers(counter: str, key: str, expected: str) -> None:
    (block,) = threefry.encrypt(words(key), words(counter)[None])
    np.testing.assert_array_equal(block, words(expected))


def test_the_cipher_takes_many_counters_at_once() -> None:
    counters = np.arange(24, dtype=np.uint64).reshape(6, 4)
    together = threefry.encrypt(KEY[:4], counters)
    for place in range(6):
        alone = threefry.encrypt(KEY[:4], counters[place : place + 1])
        np.testing.assert_array_equal(together[place : place + 1], alone)


# --- streams -----------------------------------------------------------------------------------


def test_the_same_generator_gives_the_same_numbers() -> None:
    np.testing.assert_array_equal(bits(KEY, 50), bits(KEY.copy(), 50))


def test_a_generator_goes_on_where_it_stopped() -> None:
    following, first = draw("threefry_generate", KEY, out_shape=(2, 4))
    _, second = draw("threefry_generate", following, out_shape=(12,))
    np.testing.assert_array_equal(np.concatenate((first.reshape(-1), second)), bits(KEY, 20))


def test_numbers_that_fill_no_block_leave_the_rest_of_it_unused() -> None:
    following, first = draw("threefry_generate", KEY, out_shape=(5,))
    np.testing.assert_array_equal(first, bits(KEY, 8)[:5])
    np.testing.assert_array_equal(bits(following, 4), bits(KEY, 12)[8:])


def test_the_counter_carries_into_its_second_word() -> None:
    key = KEY.copy()
    key[4] = 2**64 - 1
    following, numbers = draw("threefry_generate", key, out_shape=(8,))
    assert list(following[4:6]) == [1, 1]
    carried = KEY.copy()
    carried[5] = 1
    np.testing.assert_array_equal(numbers[4:], bits(carried, 4))


def test_what_a_generator_gives_repeats_neither_itself_nor_its_children() -> None:
    left, right = draw("threefry_split", KEY)
    grandchildren = draw("threefry_split", left) + draw("threefry_split", right)
    following = draw("threefry_generate", KEY, out_shape=(4000,))[0]
    streams = [bits(key, 4000) for key in (KEY, following, left, right, *grandchildren)]
    assert len(np.unique(np.concatenate(streams))) == 8 * 4000


def test_seeds_fill_the_whole_key() -> None:
    assert list(threefry.make_key(2**192 + 3)[:4]) == [3, 0, 0, 1]
    keys = [relay.random.threefry_key(seed).data.numpy() for seed in range(20)]
    assert len({key.tobytes() for key in keys}) == 20
    for seed in (-1, 2**256):
        with pytest.raises(RelayError, match=r"a seed is a number from 0 to 2\*\*256 - 1"):
            relay.random.threefry_key(seed)


# --- do they look random? (each of these fails for one in a million generators) ------------------

RARE = 1e-6
COUNT = 40_000


def streams() -> dict[str, np.ndarray]:
    left, right = draw("threefry_split", KEY)
    return {"seed": KEY, "next seed": threefry.make_key(2025), "left": left, "right": right}


@pytest.mark.parametrize("name", streams())
def test_uniform_numbers_are_uniform(name: str) -> None:
    values = uniform(streams()[name], COUNT)
    assert values.min() >= 0 and values.max() < 1
    counts = np.histogram(values, 200, (0, 1))[0]
    assert scipy.stats.chisquare(counts).pvalue > RARE
    assert scipy.stats.kstest(values, "uniform").pvalue > RARE


@pytest.mark.parametrize("name", streams())
def test_every_bit_is_set_half_the_time(name: str) -> None:
    stream = bits(streams()[name], COUNT).view(np.uint8).reshape(COUNT, 8)
    ones = np.unpackbits(stream, axis=1).sum(0, dtype=np.int64)
    deviations = (ones - COUNT / 2) / np.sqrt(COUNT / 4)
    assert scipy.stats.chi2.sf(np.square(deviations).sum(), 64) > RARE


def test_neighbors_are_not_correlated() -> None:
    values = uniform(KEY, COUNT)
    for lag in (1, 2, 3, 4, 5, 8):
        correlation = np.corrcoef(values[:-lag], values[lag:])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(COUNT), lag


def test_streams_are_not_correlated() -> None:
    values = [uniform(key, COUNT) for key in streams().values()]
    correlations = np.corrcoef(values) - np.eye(len(values))
    assert np.abs(correlations).max() < 5 / np.sqrt(COUNT)


def test_pairs_fill_the_square_evenly() -> None:
    pairs = uniform(KEY, COUNT).reshape(-1, 2)
    counts = np.histogram2d(*pairs.T, bins=16, range=((0, 1), (0, 1)))[0]
    assert scipy.stats.chisquare(counts.reshape(-1)).pvalue > RARE


def test_normal_numbers_are_normal() -> None:
    _, values = draw(
        "normal", KEY, np.float64(3), np.float64(2), out_shape=(COUNT,), out_dtype="float64"
    )
    assert np.isfinite(values).all()
    assert scipy.stats.kstest(values, "norm", (3, 2)).pvalue > RARE
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5 / np.sqrt(COUNT)


def test_classes_come_as_often_as_they_should() -> None:
    probs = np.array([[0.1, 0.0, 0.6, 0.3], [5.0, 3.0, 2.0, -1.0]])
    _, found = draw("multinomial", KEY, probs, num_samples=COUNT)
    for row, wanted in zip(found, [(0.1, 0, 0.6, 0.3), (0.5, 0.3, 0.2, 0)], strict=True):
        counts = np.bincount(row, minlength=4)
        possible = np.array(wanted) > 0
        assert not counts[~possible].any()
        expected = np.array(wanted)[possible] * COUNT
        assert scipy.stats.chisquare(counts[possible], expected).pvalue > RARE


# --- in programs -------------------------------------------------------------------------------


def test_a_program_threads_its_generator_through() -> None:
    key = relay.random.threefry_key(5)
    key, first = relay.random.uniform(key, (2, 3), low=-1.0, high=2.0)
    left, right = relay.random.threefry_split(key)
    _, second = relay.random.normal(left, (4,), dtype="float64", mean=1.0, scale=0.0)
    _, third = relay.random.multinomial(right, relay.const([0.0, 1.0]), 5)
    values = relay.create_executor("debug").evaluate(relay.Tuple([first, second, third]))
    found = [value.numpy() for value in values]
    assert found[0].shape == (2, 3) and found[0].dtype == np.float32
    assert (found[0] >= -1).all() and (found[0] <= 2).all()
    np.testing.assert_array_equal(found[1], np.ones(4))
    np.testing.assert_array_equal(found[2], np.ones(5, np.int32))


def test_bounds_may_be_computed() -> None:
    low = relay.const(1.0) + relay.const(1.0)
    _, values = relay.random.uniform(relay.random.threefry_key(0), (3,), low=low, high=2.0)
    np.testing.assert_array_equal(
        relay.create_executor("debug").evaluate(values).numpy(), np.full(3, 2, np.float32)
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda key, x: relay.random.uniform(x, (2,)), "argument `key` has the wrong type"),
        (lambda key, x: relay.random.uniform(key, (-2,)), "`out_shape` has a negative extent"),
        (lambda key, x: relay.random.normal(key, (2,), "float16"), "cannot be drawn"),
        (lambda key, x: relay.random.uniform(key, (2,), low=x), "argument `low`"),
        (lambda key, x: relay.random.multinomial(key, x, -1), "`num_samples` is negative"),
    ],
)
def test_what_cannot_be_drawn_is_refused(build: Any, message: str) -> None:
    x = relay.var("x", TensorType((3,)))
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(build(relay.random.threefry_key(0), x).astuple())
