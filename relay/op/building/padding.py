"""The forms of padding of spatial axes, as `relay.nn.utils`.

    1                  the same everywhere
    (1, 2)             for each axis, on both sides
    (1, 2, 3, 4)       before each axis and then after each: top, left, bottom, right

The last is the long form, which attributes hold (`relay.op.building.window`).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.errors import RelayError
from relay.op.building.window import long_padding


def get_pad_tuple1d(padding: int | Sequence[int]) -> tuple[int, ...]:
    """(left, right)"""
    return _pad_tuple(padding, 1)


def get_pad_tuple2d(padding: int | Sequence[int]) -> tuple[int, ...]:
    """(top, left, bottom, right)"""
    return _pad_tuple(padding, 2)


def get_pad_tuple3d(padding: int | Sequence[int]) -> tuple[int, ...]:
    """(front, top, left, back, bottom, right)"""
    return _pad_tuple(padding, 3)


def _pad_tuple(padding: int | Sequence[int], count: int) -> tuple[int, ...]:
    found = long_padding(padding, count)
    if len(found) != 2 * count:
        forms = " or ".join(map(str, sorted({1, count, 2 * count})))
        raise RelayError(f"padding of {count} axes has {forms} values, found {padding}")
    return found


__all__ = ["get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d"]
