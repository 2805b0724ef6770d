"""The distribution of the elements of a tensor over many batches, and the ranges chosen from it.

A histogram has a fixed number of bins around zero; where an element does not fit, pairs of bins
are merged, so that the range need not be known in advance and each batch is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from relay.quantize.scheme import Integers, Scheme

BINS: Final = 8192
CANDIDATES: Final = 64  # of the ends of a range
COARSE: Final = 8  # bins that are one for a divergence
ENOUGH: Final = 16  # elements in a bin, on average, for a distribution to be known


class Histogram:
    """How often elements fall between equidistant bounds."""

    def __init__(self) -> None:
        self.low = np.inf
        self.high = -np.inf
        self.reach = 0.0  # the bins go from -reach to reach
        self.counts = np.zeros(BINS)

    def add(self, values: np.ndarray) -> None:
        """Count the elements of a batch, which are finite."""
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        most = max(-low, high)
        if most > self.reach:
            self._widen(most)
        if self.reach:
            places = ((values.ravel() + np.float32(self.reach)) * self._per_unit).astype(np.int32)
            np.minimum(places, BINS - 1, out=places)
            self.counts += np.bincount(places, minlength=BINS)
        else:
            self.counts[BINS // 2] += values.size

    @property
    def _per_unit(self) -> np.float32:
        return np.float32(BINS / (2 * self.reach))

    def _widen(self, most: float) -> None:
        if not self.reach:
            # zeros so far
            self.reach = most
            return
        while self.reach < most:
            half = self.counts.reshape(-1, 2).sum(1)
            rest = np.zeros(BINS // 4)
            self.counts = np.concatenate([rest, half, rest])
            self.reach *= 2

    @property
    def centers(self) -> np.ndarray:
        """The centers of the bins."""
        found: np.ndarray = (np.arange(BINS) + 0.5) * (2 * self.reach / BINS) - self.reach
        return found

    @property
    def is_zero(self) -> bool:
        return not self.reach


Choice = Callable[[Histogram, Integers], tuple[float, float]]


def chosen_range(scheme: Scheme, found: Histogram, integers: Integers) -> tuple[float, float]:
    """The range of data, in the calibrate_mode of a scheme."""
    mode = scheme.calibrate_mode
    if callable(mode):
        return mode(found, integers)
    if mode == "global_scale":
        return -scheme.global_scale, scheme.global_scale
    if found.is_zero:
        return 0.0, 0.0
    if mode == "percentile":
        return percentile(found, scheme.percentile)
    return {"max": extremes, "mse": least_error, "kl_divergence": least_divergence}[mode](
        found, integers
    )


def extremes(found: Histogram, integers: Integers) -> tuple[float, float]:
    """The range from the least to the greatest element; `integers` is not read."""
    del integers
    return min(found.low, 0.0), max(found.high, 0.0)


def percentile(found: Histogram, percent: float) -> tuple[float, float]:
    """The central range that contains `percent` % of the elements."""
    outside = (100 - percent) / 200
    below = np.cumsum(found.counts) / found.counts.sum()
    width = 2 * found.reach / BINS
    first, last = np.searchsorted(below, [outside, 1 - outside])
    low = max(first * width - found.reach, found.low)
    high = min((last + 1) * width - found.reach, found.high)
    return min(float(low), 0.0), max(float(high), 0.0)


def _shorter(found: Histogram, integers: Integers) -> list[tuple[float, float]]:
    """Candidate ranges inside of the extremes, the widest first."""
    low, high = extremes(found, integers)
    if integers.symmetric:
        low, high = -max(-low, high), max(-low, high)
    shares = np.linspace(1, 0.1, CANDIDATES).tolist()
    if low == 0 or high == 0 or integers.symmetric:
        return [(low * share, high * share) for share in shares]
    both = np.linspace(1, 0.2, 12).tolist()
    found_pairs = [(low * a, high * b) for a in both for b in both]
    return [*((low * share, high * share) for share in shares), *found_pairs]


def least_error(found: Histogram, integers: Integers) -> tuple[float, float]:
    """The range with the least mean squared error."""
    used = found.counts > 0
    centers, counts = found.centers[used], found.counts[used]

    def error(ends: tuple[float, float]) -> float:
        known = integers.parameters(*ends)
        back = known.centered(centers) * known.scale.astype(np.float64)
        return float(((back - centers) ** 2 * counts).sum())

    return min(_shorter(found, integers), key=error)


def least_divergence(found: Histogram, integers: Integers) -> tuple[float, float]:
    """The range whose integers have the distribution with the least Kullback-Leibler divergence
    from that of the elements.

    Elements outside of a range are clipped to its ends. The distribution of the integers spreads
    the elements of each evenly over its bins. Zeros are left out: after a ReLU they say nothing
    about the other elements.
    """
    centers = found.centers.reshape(-1, COARSE).mean(1)
    counts = found.counts.reshape(-1, COARSE).sum(1)
    counts = np.where(np.abs(centers) > 2 * COARSE * found.reach / BINS, counts, 0.0)
    if counts.sum() < ENOUGH * len(counts):
        return extremes(found, integers)
    if not counts.any():
        return extremes(found, integers)

    def divergence(ends: tuple[float, float]) -> float:
        known = integers.parameters(*ends)
        low, high = (float(end * known.scale) for end in known.ends)
        inside = np.where((centers >= low) & (centers <= high), counts, 0.0)
        has = inside > 0
        if not has.any():
            return float("inf")
        first, last = np.flatnonzero(has)[[0, -1]]
        wanted = inside.copy()
        wanted[first] += counts[:first].sum()
        wanted[last] += counts[last + 1 :].sum()
        level = (known.centered(centers) - known.ends[0]).astype(int)
        sums, bins = (np.bincount(level, each) for each in (inside, has))
        guess = np.where(has, sums[level] / np.maximum(bins[level], 1), 0.0)
        p, q = wanted[has] / wanted.sum(), guess[has] / guess.sum()
        return float((p * np.log(p / q)).sum())

    return min(_shorter(found, integers), key=divergence)
