"""Threefry-4x64 with 20 rounds: random bits as a function of a key and a counter.

Nothing is remembered between calls. A generator is a tensor of ten uint64,

    words 0 to 3    the key
    words 4 and 5   how many blocks of four numbers were taken, the low word first
    words 6 to 9    0

and whoever takes numbers gets the generator for the next ones along with them. The cipher turns
the counter (low, high, purpose, 0) into four words; purpose is 0 for numbers, and 1 and 2 for the
keys of the two generators that a split makes. So numbers and keys never come from one input.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers, as easy as 1, 2, 3
(SC 2011).
"""

from __future__ import annotations

from typing import Final

import numpy as np

WORDS: Final = 10  # of a generator

_NUMBERS, _LEFT, _RIGHT = 0, 1, 2

_PARITY: Final = np.uint64(0x1BD11BDAA9FC1A22)
# How far the second word of each pair is rotated, round after round.
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


def _rotated(words: np.ndarray, distance: int) -> np.ndarray:
    result: np.ndarray = (words << np.uint64(distance)) | (words >> np.uint64(64 - distance))
    return result


def encrypt(key: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """The blocks (n, 4) that a key of four words makes of counters (n, 4)."""
    schedule = (*key, np.bitwise_xor.reduce(key) ^ _PARITY)
    a, b, c, d = (words + schedule[i] for i, words in enumerate(counters.T))
    for step in range(_ROUNDS):
        left, right = _ROTATIONS[step % 8]
        a = a + b
        c = c + d
        a, b, c, d = a, _rotated(d, right) ^ c, c, _rotated(b, left) ^ a
        if step % 4 == 3:
            turn = step // 4 + 1
            a = a + schedule[turn % 5]
            b = b + schedule[(turn + 1) % 5]
            c = c + schedule[(turn + 2) % 5]
            d = d + schedule[(turn + 3) % 5] + np.uint64(turn)
    return np.stack((a, b, c, d), -1)


def make_key(seed: int) -> np.ndarray:
    """The generator of a seed below 2**256."""
    words = np.frombuffer(seed.to_bytes(32, "little"), "<u8").astype(np.uint64)
    return np.concatenate((words, np.zeros(WORDS - 4, np.uint64)))


def take(generator: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The generator for the next numbers, and `count` random words."""
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
    """Two generators with keys of their own, which the key and the counter determine."""
    low, high = generator[4:6]
    counters = np.array([(low, high, purpose, 0) for purpose in (_LEFT, _RIGHT)], np.uint64)
    rest = np.zeros(WORDS - 4, np.uint64)
    left, right = encrypt(generator[:4], counters)
    return np.concatenate((left, rest)), np.concatenate((right, rest))
