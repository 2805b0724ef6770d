"""The roof of this machine: how fast its kernels compute, and how fast memory is, measured.

    roof = relay.machine.measure()
    roof.flops         operations per second of a product of matrices
    roof.bandwidth     bytes per second of a sum that no cache holds
    roof.bandwidths    the same for sums of smaller sizes, which caches hold

A kernel of `flops` operations over `bytes` of memory takes at least
`max(flops / roof.flops, bytes / bandwidth)` seconds (the roofline model), with the bandwidth of the
cache that holds so many bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from relay.driver import compile
from relay.executors.roof import Roof
from relay.ir.expr import Function, var
from relay.op import nn
from relay.op.tensor.binary import add

__all__ = ["Roof", "measure"]

SIDE: Final = 512  # of the matrices
LENGTHS: Final = tuple(1 << n for n in (12, 14, 16, 18, 20, 24))  # of vectors: 48 KiB to 192 MiB
MIN_RUNS, SECONDS = 3, 0.1


def measure(threads: int | None = None) -> Roof:
    """Compile and time a product of matrices, and sums of vectors; about two seconds."""
    chance = np.random.default_rng(0)
    x, w = var("x", shape=(SIDE, SIDE)), var("w", shape=(SIDE, SIDE))
    square = [chance.standard_normal((SIDE, SIDE), np.float32) for _ in range(2)]
    product = compile(Function((x, w), nn.dense(x, w)), {"w": square[1]}, threads=threads)
    flops = 2 * SIDE**3 / _shortest(lambda: product(square[0]))
    bandwidths = tuple((12 * length, _bandwidth(length, threads)) for length in LENGTHS)
    return Roof(flops, bandwidths[-1][1], product.threads, bandwidths)


def _bandwidth(length: int, threads: int | None) -> float:
    """Bytes per second of a sum of vectors, less what a call of the same on one element takes."""
    call, taken = (_sum_seconds(size, threads) for size in (1, length))
    return 12 * length / max(taken - call, taken / 10)


def _sum_seconds(length: int, threads: int | None) -> float:
    a, b = var("a", shape=(length,)), var("b", shape=(length,))
    total = compile(Function((a, b), add(a, b)), threads=threads)
    given, out = np.ones((2, length), np.float32), np.ones(length, np.float32)
    return _shortest(lambda: total(given[0], given[1], out=out))


def _shortest(once: Callable[[], object]) -> float:
    """The time of the fastest of several calls."""
    once()
    found: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(found) < MIN_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        once()
        found.append(time.perf_counter() - start)
    return min(found)
