"""Threefry-4x64 with 20 rounds: random bits as a function of a key and a counter.

A generator is a tensor of ten uint64,

    words 0 to 3    the key
    words 4 and 5   the number of used blocks of four numbers, low word first
    words 6 to 9    0

and every operator returns the next generator. The cipher maps the counter (low, high, purpose, 0)
to four words; purpose is 0 for numbers, and 1 and 2 for the keys of the two generators of a split,
so numbers and keys never come from the same input.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers, as easy as 1, 2, 3 (SC
2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from relay import te
from relay.op.building.elements import place, size
from relay.te.loops import Kind

WORDS: Final = 10  # of a generator

_NUMBERS, _LEFT, _RIGHT = 0, 1, 2

_PARITY: Final = 0x1BD11BDAA9FC1A22
# The rotations of the second word of each pair, by round.
_ROTATIONS: Final = (
    (14, 16),
    (52, 57),
    (23, 40),
    (5, 37),
    (25, 33),
    (46, 12),
    (58, 22),
    (32, 32),
)
_ROUNDS: Final = 20


def cipher(
    key: Sequence[Any], counter: Sequence[Any], name: Callable[[Any], Any] = lambda word: word
) -> tuple[Any, ...]:
    """The block of four words of a key and a counter of four words.

    Words are arrays of uint64, for all blocks at once, or scalar expressions; then `name` binds one
    to a variable.
    """

    def rotated(word: Any, distance: int) -> Any:
        return (word << distance) | (word >> (64 - distance))

    schedule = (*key, name(key[0] ^ key[1] ^ key[2] ^ key[3] ^ _PARITY))
    a, b, c, d = (name(word + part) for word, part in zip(counter, key, strict=True))
    for step in range(_ROUNDS):
        left, right = _ROTATIONS[step % 8]
        a = name(a + b)
        c = name(c + d)
        a, b, c, d = a, name(rotated(d, right) ^ c), c, name(rotated(b, left) ^ a)
        if step % 4 == 3:
            turn = step // 4 + 1
            a = name(a + schedule[turn % 5])
            b = name(b + schedule[(turn + 1) % 5])
            c = name(c + schedule[(turn + 2) % 5])
            d = name(d + schedule[(turn + 3) % 5] + turn)
    return a, b, c, d


def encrypt(key: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """The blocks (n, 4) of a key for counters (n, 4)."""
    return np.stack(cipher(tuple(key), tuple(counters.T)), -1)


def make_key(seed: int) -> np.ndarray:
    """The generator of a seed below 2**256."""
    words = np.frombuffer(seed.to_bytes(32, "little"), "<u8").astype(np.uint64)
    return np.concatenate((words, np.zeros(WORDS - 4, np.uint64)))


def take(generator: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The next generator, and `count` random words."""
    blocks = -(-count // 4)
    low = generator[4] + np.arange(blocks, dtype=np.uint64)
    counters = np.zeros((blocks, 4), np.uint64)
    counters[:, 0] = low
    counters[:, 1] = generator[5] + (low < generator[4]).astype(np.uint64)
    counters[:, 2] = _NUMBERS
    numbers = encrypt(generator[:4], counters).reshape(-1)[:count]
    following = generator.copy()
    following[4:5] += np.uint64(blocks)
    following[5:6] += following[4:5] < generator[4:5]
    return following, numbers


def split(generator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two generators with new keys, derived from the key and the counter."""
    low, high = generator[4:6]
    counters = np.array([(low, high, purpose, 0) for purpose in (_LEFT, _RIGHT)], np.uint64)
    rest = np.zeros(WORDS - 4, np.uint64)
    left, right = encrypt(generator[:4], counters)
    return np.concatenate((left, rest)), np.concatenate((right, rest))


# --- the same as loops -------------------------------------------------------------------------


def take_loops(generator: te.Tensor, shape: Sequence[te.Expr]) -> tuple[te.Tensor, te.Tensor]:
    """The next generator, and random words of that shape."""
    count = size(shape)
    blocks = (count + 3) // 4

    def write(b: te.Builder, numbers: te.Buffer) -> None:
        key = [b.let(generator[i]) for i in range(4)]
        with b.loop(blocks, kind=Kind.PARALLEL) as block:
            counter = _ahead(generator, block)
            words = cipher(key, (*map(b.let, counter), _word(_NUMBERS), _word(0)), b.let)
            for i, word in enumerate(words):
                number = b.let(block * 4 + i)
                with b.if_(number < count):
                    b.store(numbers, place(number, shape), word)

    def following(i: te.Expr) -> te.Expr:
        low, high = _ahead(generator, blocks)
        return te.select(te.equal(i, 4), low, te.select(te.equal(i, 5), high, generator[i]))

    (numbers,) = te.procedure([generator], [(shape, "uint64")], write, "threefry")
    return te.compute(generator.shape, following, "generator"), numbers


def split_loops(generator: te.Tensor, out: tuple[te.Spec, te.Spec]) -> tuple[te.Tensor, ...]:
    """Two generators with new keys."""

    def write(b: te.Builder, *results: te.Buffer) -> None:
        key = [b.let(generator[i]) for i in range(4)]
        for result, purpose in zip(results, (_LEFT, _RIGHT), strict=True):
            counter = (generator[4], generator[5], _word(purpose), _word(0))
            words = cipher(key, counter, b.let)
            for i in range(WORDS):
                b.store(result, i, words[i] if i < 4 else 0)

    outputs = [(spec.shape, spec.dtype) for spec in out]
    return te.procedure([generator], outputs, write, "threefry_split")


def _ahead(generator: te.Tensor, blocks: te.Expr) -> tuple[te.Expr, te.Expr]:
    """The low and the high word of the counter, advanced by some blocks."""
    low = generator[4] + te.cast(blocks, "uint64")
    return low, generator[5] + te.cast(low < generator[4], "uint64")


def _word(value: int) -> te.Expr:
    return te.const(value, "uint64")
