"""Windows that slide over spatial axes: layouts, padding, how many fit, and a view of them.

Convolutions and pools share this. They compute with the batch and the channels in front (`NC…`);
layouts say where the axes of a tensor stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from relay.errors import Diagnostic, EvaluationError
from relay.ir import dims
from relay.ir.dims import Dim
from relay.op.site import Site

T = TypeVar("T")

Pair = tuple[int, int]


# --- layouts -----------------------------------------------------------------------------------


def permutation(source: str, target: str) -> tuple[int, ...]:
    """For each axis of layout `target`, where it stands in layout `source`."""
    return tuple(source.index(letter) for letter in target)


def permuted(values: Sequence[T], source: str, target: str) -> tuple[T, ...]:
    """Something per axis in the order of `source`, in the order of `target`."""
    return tuple(values[i] for i in permutation(source, target))


# --- sizes given in short forms ----------------------------------------------------------------


def per_axis(values: Sequence[int], count: int) -> tuple[int, ...]:
    """One value for each spatial axis; a single one is meant for all."""
    return tuple(values) * count if len(values) == 1 else tuple(values)


def pad_pairs(padding: Sequence[int], count: int) -> tuple[Pair, ...]:
    """(before, after) for each spatial axis, from 1, `count` or 2 * `count` values.

    With 2 * `count`, all that stand before come first: (top, left, bottom, right).
    """
    values = per_axis(padding, count)
    after = values[count:] or values[:count]
    return tuple(zip(values[:count], after, strict=True))


def padding_tuple(padding: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Padding in its long form: all that stand before, then all that stand after."""
    given = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(given) not in (1, count, 2 * count):
        return given  # the relation reports it, with the place in the program
    pairs = pad_pairs(given, count)
    return (*(before for before, _ in pairs), *(after for _, after in pairs))


def sizes_tuple(sizes: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Sizes in their long form, one per spatial axis."""
    return per_axis((sizes,) if isinstance(sizes, int) else sizes, count)


def require_sizes(site: Site, name: str, values: Sequence[int], count: int, least: int) -> None:
    """An attribute must hold one value per spatial axis, or one for all, of at least `least`."""
    if len(values) not in (1, count) or any(value < least for value in values):
        site.fail(
            f"`{name}` does not fit",
            f"{count} values, or one for all, of {least} or more",
            f"{name} = {tuple(values)}",
        )


def require_padding(site: Site, values: Sequence[int], count: int) -> None:
    """Padding must have one of its forms."""
    if len(values) not in (1, count, 2 * count) or any(value < 0 for value in values):
        site.fail(
            "`padding` does not fit",
            f"1, {count} or {2 * count} values of 0 or more",
            f"padding = {tuple(values)}",
        )


# --- counting and viewing ----------------------------------------------------------------------


def window_count(
    site: Site,
    extent: Dim,
    size: Dim,
    stride: int,
    dilation: int,
    pads: Pair,
    ceil_mode: bool = False,
) -> Dim:
    """How many windows fit on an axis: floor((padded - covered) / stride) + 1.

    With `ceil_mode` the last one may stick out.
    """
    covered = dims.add(dims.multiply(dims.subtract(size, 1), dilation), 1)
    room = dims.subtract(dims.add(extent, sum(pads)), covered)
    if isinstance(room, int) and room < 0:
        site.fail(
            "the window is larger than the padded input",
            f"an extent of {covered} or more",
            f"{extent}, padded with {pads[0]} and {pads[1]}",
        )
    return dims.add(dims.floor_divide(dims.add(room, stride - 1 if ceil_mode else 0), stride), 1)


def windows(
    data: np.ndarray,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[Pair],
    fill: float,
    ceil_mode: bool = False,
) -> np.ndarray:
    """A view (batch, channels, positions…, window…) of data (batch, channels, extents…), which is
    padded with `fill`."""
    count = len(sizes)
    covered = [(size - 1) * step + 1 for size, step in zip(sizes, dilation, strict=True)]
    widths = [(0, 0), (0, 0), *pads]
    if ceil_mode:
        for axis in range(count):
            before, after = pads[axis]
            over = (data.shape[2 + axis] + before + after - covered[axis]) % strides[axis]
            more = strides[axis] - over if over else 0
            widths[2 + axis] = (before, after + more)
    padded = np.pad(data, widths, constant_values=fill)
    if any(c > d for c, d in zip(covered, padded.shape[2:], strict=True)):
        raise EvaluationError(
            Diagnostic(
                "the window is larger than the padded input",
                expected=f"extents of {tuple(covered)} or more",
                found=f"{padded.shape[2:]}",
            )
        )
    axes = tuple(range(2, 2 + count))
    view = np.lib.stride_tricks.sliding_window_view(padded, tuple(covered), axes)
    steps = tuple(slice(None, None, stride) for stride in strides)
    inside = tuple(slice(None, None, step) for step in dilation)
    return view[(slice(None), slice(None), *steps, *inside)]
