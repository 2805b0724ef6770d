"""Overlaps and suppression of boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# (IoU of a box with others) -> which of them it suppresses
Suppresses = Callable[[np.ndarray], np.ndarray]


def corners(boxes: np.ndarray) -> np.ndarray:
    """The lowest and highest corners of boxes (…, 4) given by two opposite corners."""
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate((np.minimum(first, second), np.maximum(first, second)), -1)


def overlap(box: np.ndarray, others: np.ndarray, pixel: float = 0.0) -> np.ndarray:
    """The intersection over union (IoU) of a box with each of the others.

    Boxes are (lowest, highest corner). If corners are inclusive pixels, `pixel` is 1 and added to
    each side. Boxes without area do not overlap.
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
    """Indices in descending order of score; a stable sort."""
    return np.argsort(-scores, kind="stable")


def best_boxes(
    boxes: np.ndarray,
    most: int,
    suppresses: Suppresses,
    classes: np.ndarray | None = None,
    pixel: float = 0.0,
) -> list[int]:
    """Non-maximum suppression: the indices of the kept boxes, which come sorted by score.

    Each kept box suppresses later ones of its class that overlap it too much. At most `most` are
    kept; negative is all.
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
