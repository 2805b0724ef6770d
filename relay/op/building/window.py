"""Sliding windows over spatial axes: their attributes, their number, and a view of them.

Shared by convolutions and pools, which compute in the layout (`NC…`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.op.building.numerics import sliding_windows
from relay.op.site import Site

Pair = tuple[int, int]
Sizes = int | Sequence[int]  # as given by users: a value per spatial axis

# --- attributes --------------------------------------------------------------------------------

_PER_AXIS = frozenset(
    (
        "strides",
        "dilation",
        "dilations",
        "kernel_size",
        "pool_size",
        "output_padding",
        "output_size",
    )
)


SPATIAL = {1: "W", 2: "HW", 3: "DHW"}  # spatial axes by their number

# default values by the number of spatial axes
_DEFAULTS: dict[str, Callable[[int], Any]] = {
    "strides": lambda axes: (1,) * axes,
    "dilation": lambda axes: (1,) * axes,
    "padding": lambda axes: (0,) * (2 * axes),
    "output_padding": lambda axes: (0,) * axes,
    "layout": lambda axes: "NC" + SPATIAL[axes],
    "data_layout": lambda axes: "NC" + SPATIAL[axes],
    "kernel_layout": lambda axes: "OI" + SPATIAL[axes],
}


class SpatialAttrs(Attrs):
    """Attributes of operators over spatial axes.

    A class with a number of axes has defaults for what its base leaves without:

    class Conv2DAttrs(ConvAttrs, axes=2): strides = (1, 1), data_layout = "NCHW", …
    """

    __slots__ = ()
    axes: ClassVar[int]  # the number of spatial axes
    spatial: ClassVar[str]  # their letters

    def __init_subclass__(cls, axes: int | None = None) -> None:
        if axes is None:
            return
        cls.axes, cls.spatial = axes, SPATIAL[axes]
        if not is_dataclass(cls):
            return
        for known in fields(cls):  # of the base
            if known.default is MISSING and known.name in _DEFAULTS.keys() - vars(cls).keys():
                setattr(cls, known.name, _DEFAULTS[known.name](axes))
                cls.__annotations__[known.name] = known.type


class WindowAttrs(SpatialAttrs):
    """Attributes with sizes for each spatial axis and padding in its long form.

    A single value means all axes: 1, (1, 1) and (1, 1, 1, 1) make equal attributes.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        Attrs.__post_init__(self)
        for name, value in self.items():
            if name == "padding":
                object.__setattr__(self, name, long_padding(value, self.axes))
            elif name in _PER_AXIS and value is not None:
                object.__setattr__(self, name, per_axis(value, self.axes))


@attrs
class KernelAttrs(WindowAttrs):
    """strides: the distance between windows
    padding: zeros around data; for each axis, or before and then after each
    dilation: the distance between the elements of a window
    groups: the number of independent groups of channels
    channels: the number of output channels; with kernel_size it determines the type of weight
    kernel_size: the extents of the window
    data_layout: the order of the axes of data
    kernel_layout: the order of the axes of weight: outputs, inputs, and the window
    out_layout: the order of the axes of the result; "" is that of data
    """

    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str
    kernel_layout: str
    out_layout: str = ""


@attrs
class PoolAttrs(WindowAttrs):
    """pool_size: the extents of the window
    strides: the distance between windows
    dilation: the distance between the elements of a window
    padding: padding that does not count; for each axis, or before and then after each
    layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    ceil_mode: round the number of windows up, so that the last one may exceed the padding
    """

    pool_size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    layout: str
    out_layout: str = ""
    ceil_mode: bool = False


@attrs
class AvgPoolAttrs(PoolAttrs):
    """count_include_pad: include the zero padding in the mean"""

    count_include_pad: bool = False


def per_axis(values: Sizes, count: int) -> tuple[int, ...]:
    """One value for each spatial axis; a single one is repeated."""
    given = (values,) if isinstance(values, int) else tuple(values)
    return given * count if len(given) == 1 else given


def long_padding(padding: Sizes, count: int) -> tuple[int, ...]:
    """Padding before all axes, then after all, from 1, `count` or 2 * `count` values; other lengths
    are left for relations to report."""
    given = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(given) == 1:
        return given * (2 * count)
    return given * 2 if len(given) == count else given


def pad_pairs(padding: Sizes, count: int) -> tuple[Pair, ...]:
    """(before, after) for each spatial axis."""
    values = long_padding(padding, count)
    return tuple(zip(values[:count], values[count:], strict=True))


def require_sizes(site: Site, name: str, least: int) -> None:
    """An attribute must hold one value per spatial axis, of at least `least`."""
    values, count = getattr(site.attrs, name), site.attrs.axes
    if len(values) != count or any(value < least for value in values):
        site.fail(
            f"`{name}` does not fit",
            f"{count} value(s), or one for all, of {least} or more",
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


def window_counts(
    site: Site, extents: Sequence[Dim], sizes: Sequence[Dim], ceil_mode: bool = False
) -> list[Dim]:
    """The number of windows on each axis: floor((padded - covered) / stride) + 1.

    With `ceil_mode` the last one may exceed the padding.
    """
    known = site.attrs
    dilation = getattr(known, "dilation", (1,) * known.axes)
    counts: list[Dim] = []
    for extent, size, stride, step, (before, after) in zip(
        extents, sizes, known.strides, dilation, pad_pairs(known.padding, known.axes), strict=True
    ):
        site.require_some(
            size, (), "the window has no elements", "extents of 1 or more", f"{sizes}"
        )
        covered = dims.add(dims.multiply(dims.subtract(size, 1), step), 1)
        room = dims.subtract(dims.add(extent, before + after), covered)
        site.require_natural(
            room,
            "the window is larger than the padded input",
            f"an extent of {covered} or more",
            f"{extent}, padded with {before} and {after}",
        )
        steps = dims.floor_divide(dims.add(room, stride - 1 if ceil_mode else 0), stride)
        counts.append(dims.add(steps, 1))
    return counts


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
        raise EvaluationError.of(
            "the window is larger than the padded input",
            expected=f"extents of {tuple(covered)} or more",
            found=f"{padded.shape[2:]}",
        )
    axes = tuple(range(2, 2 + count))
    view = sliding_windows(padded, tuple(covered), axes)
    steps = tuple(slice(None, None, stride) for stride in strides)
    inside = tuple(slice(None, None, step) for step in dilation)
    return view[(slice(None), slice(None), *steps, *inside)]


def overlapped(
    parts: np.ndarray,
    extents: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[Pair],
) -> np.ndarray:
    """The transpose of `windows` as a linear map: the sum (batch, channels, extents…) of parts
    (batch, channels, positions…, window…) at their positions."""
    count = len(extents)
    positions, sizes = parts.shape[2 : 2 + count], parts.shape[2 + count :]
    axes = list(zip(extents, positions, sizes, strides, dilation, pads, strict=True))
    whole = [
        max(before + extent + after, (places - 1) * stride + (size - 1) * step + 1)
        for extent, places, size, stride, step, (before, after) in axes
    ]
    total = np.zeros((*parts.shape[:2], *whole), parts.dtype)
    everything = (slice(None), slice(None))
    for place in np.ndindex(*sizes):
        starts = [at * step for at, step in zip(place, dilation, strict=True)]
        target = (
            slice(start, start + places * stride, stride)
            for start, places, stride in zip(starts, positions, strides, strict=True)
        )
        total[everything + tuple(target)] += parts[(..., *place)]
    inside = (slice(before, before + extent) for extent, *_, (before, _) in axes)
    return total[everything + tuple(inside)]
