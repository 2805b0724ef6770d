"""The roof of this machine: how fast its kernels compute, and how fast memory is, measured.

    roof = measure()          roof.flops      operations per second of a product of matrices
                              roof.bandwidth  bytes per second of a sum that no cache holds

A kernel of `flops` operations over `bytes` of memory takes at least
`max(flops / roof.flops, bytes / roof.bandwidth)` seconds (the roofline model).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from relay.driver import compile
from relay.immutable import frozen
from relay.ir.expr import Function, var
from relay.op import nn
from relay.op.tensor.binary import add

SIDE = 512  # of the matrices
LENGTH = 1 << 24  # of the vectors: 64 MiB each
MIN_RUNS, SECONDS = 3, 0.2


@frozen
class Roof:
    """The limits of a machine, for float32."""

    flops: float  # per second
    bandwidth: float  # bytes per second
    threads: int

    def seconds(self, flops: int, nbytes: int) -> float:
        """The least time for so many operations over so many bytes."""
        return max(flops / self.flops, nbytes / self.bandwidth)


def measure(threads: int | None = None) -> Roof:
    """Compile and time both kernels; about a second."""
    chance = np.random.default_rng(0)
    x, w = var("x", shape=(SIDE, SIDE)), var("w", shape=(SIDE, SIDE))
    square = [chance.standard_normal((SIDE, SIDE), np.float32) for _ in range(2)]
    product = compile(Function((x, w), nn.dense(x, w)), {"w": square[1]}, threads=threads)
    a, b = var("a", shape=(LENGTH,)), var("b", shape=(LENGTH,))
    total = compile(Function((a, b), add(a, b)), threads=threads)
    long = np.ones((2, LENGTH), np.float32)
    out = np.ones(LENGTH, np.float32)
    return Roof(
        2 * SIDE**3 / _shortest(lambda: product(square[0])),
        3 * out.nbytes / _shortest(lambda: total(long[0], long[1], out=out)),
        product.threads,
    )


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
