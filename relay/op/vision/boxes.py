"""Boxes: how much they overlap, and which ones to keep of those that show the same thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# (the overlap of a box with others) -> which of these it suppresses
Suppresses = Callable[[np.ndarray], np.ndarray]


def corners(boxes: np.ndarray) -> np.ndarray:
    """Boxes (…, 4), given by two opposite corners, by their lowest and their highest one."""
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)), -1)


def overlap(box: np.ndarray, others: np.ndarray, pixel: float = 0.0) -> np.ndarray:
    """The area that a box shares with each of the others, divided by the area the two cover.

    Boxes go from their lowest to their highest corner. If these are pixels that belong to the box,
    it is `pixel` = 1 longer than their distance. Two boxes without area do not overlap.
    """

    def area(low: np.ndarray, high: np.ndarray) -> Any:
        sides = np.maximum(high - low + box.dtype.type(pixel), 0)
        return sides[..., 0] * sides[..., 1]

    shared = area(np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:]))
    covered = area(box[:2], box[2:]) + area(others[:, :2], others[:, 2:]) - shared
    quotients: np.ndarray = np.divide(
        shared, covered, out=np.zeros_like(covered), where=covered > 0
    )
    return quotients


def by_score(scores: np.ndarray) -> np.ndarray:
    """Positions from the highest score to the lowest; of equal ones the first comes first."""
    return np.argsort(-scores, kind="stable")


def best_boxes(
    boxes: np.ndarray,
    most: int,
    suppresses: Suppresses,
    classes: np.ndarray | None = None,
    pixel: float = 0.0,
) -> list[int]:
    """Positions of the boxes to keep, of boxes that come in the order of their scores.

    Each box that is kept suppresses later ones of its class that overlap it too much. At most
    `most` are kept; negative is all.
    """
    alive = np.ones(len(boxes), bool)
    kept: list[int] = []
    for place in range(len(boxes)):
        if len(kept) == most:
            break
        if alive[place]:
            kept.append(place)
            rest = slice(place + 1, None)
            gone = suppresses(overlap(boxes[place], boxes[rest], pixel))
            if classes is not None:
                gone = gone & (classes[rest] == classes[place])
            alive[rest] &= ~gone
    return kept
