"""Gradient rules of the pools of `relay.op.vision.roi`: the same as other operators.

Gradients are those of data; regions have none, as in torchvision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay import dtypes
from relay.ir.expr import Expr, const
from relay.op.building import sampling_rules as sampling
from relay.op.building.layouts import read_layout
from relay.op.building.sampling_rules import REAL, number
from relay.op.gradient_rules import Backward, arange, build, relaid
from relay.op.tensor.require import require

MOST_PLACES = 1024  # of samples in a cell along an axis


def aligned_samples(site: Backward) -> Expr:
    """The mean or the maximum of the samples of each cell, as many as the largest region has."""
    known: Any = site.attrs
    dtype = sampling.wide(site.type)
    counts = sampling.sizes(site, known.layout, "HW")
    image, edges = _regions(site, 0.5 if known.aligned else 0.0)
    taps: list[sampling.Taps] = []
    used: list[Expr] = []  # whether a region has the sample
    inside: list[Expr] = []  # whether the sample is in data
    each: list[Expr] = []
    for axis, (count, cells) in enumerate(zip(counts, known.pooled_size, strict=True)):
        start, end = edges[axis], edges[2 + axis]
        length = end - start if known.aligned else build("maximum", end - start, number(1))
        finite = build("isfinite", length)
        samples: Expr = number(known.sample_ratio)
        most: Expr = const(known.sample_ratio, "int64")
        if known.sample_ratio <= 0:
            samples = build("ceil", build("maximum", length / number(cells), number(0)))
            samples = build("where", finite, samples, number(0))
            most = _most(samples)
        samples = build("where", finite, samples + build("zeros_like", length), number(0))
        each.append(samples)
        step = length / build("maximum", samples * number(cells), number(1))
        numbers = build("arange", const(0), most, const(1), dtype="int64")
        numbers = sampling.spread(numbers, 2 + 2 * axis, 5).astype(REAL)
        cell = sampling.spread(arange(0, cells), 1 + 2 * axis, 5).astype(REAL)
        place = start + (cell * samples + numbers + number(0.5)) * step
        used.append(build("less", numbers, samples))
        extent = count.astype(REAL)
        inside += [
            build("greater_equal", place, number(-1)),
            build("less_equal", place, extent),
            used[-1],
        ]
        safe = build("where", inside[-3], place, number(0))
        taps.append(sampling.linear_taps(sampling.clipped(safe, count), count))
    rows = sampling.rows(site.args[0], known.layout, "HW").astype(dtype)
    read = sampling.terms(rows, image, counts, taps)
    value = reduce(lambda a, b: build("maximum" if known.mode == "max_term" else "add", a, b), read)
    exists = build("expand_dims", reduce(_both, inside), axis=-1)
    value = build("where", exists, value, const(0, dtype))
    if known.mode == "avg":
        total = build("sum", value, axis=[2, 4])
        count = build("maximum", each[0] * each[1], number(1))
        made = total / build("reshape", count, newshape=(-1, 1, 1, 1)).astype(dtype)
    else:
        counted = build("expand_dims", reduce(_both, used), axis=-1)
        value = build("where", counted, value, const(_lowest(dtype), dtype))
        made = build("max", value, axis=[2, 4])
        some = build("greater", each[0] * each[1], number(0))
        some = build("reshape", some, newshape=(-1, 1, 1, 1))
        made = build("where", some, made, const(0, dtype))
    return relaid(made.astype(site.type.dtype), "NHWC", known.layout)


def largest_elements(site: Backward) -> Expr:
    """The maximum of the elements of each cell, along one axis after the other."""
    known: Any = site.attrs
    dtype = site.type.dtype
    data = relaid(site.args[0], known.layout, "NCHW")
    image, edges = _regions(site, 0.0)
    made = build("take", data, build("reshape", image, newshape=(-1,)), axis=0)
    some: list[Expr] = []
    for axis, (count, cells) in enumerate(
        zip(sampling.sizes(site, known.layout, "HW"), known.pooled_size, strict=True)
    ):
        first, last = (
            build("reshape", _rounded(edges[edge]), newshape=(-1, 1)) for edge in (axis, 2 + axis)
        )
        length = build("maximum", last - first + number(1), number(1))
        cell = build("reshape", arange(0, cells), newshape=(1, -1)).astype(REAL)
        begin = first + build("floor", cell * length / number(cells))
        end = first + build("ceil", (cell + number(1)) * length / number(cells))
        places = build("arange", const(0), count, const(1), dtype="int64").astype(REAL)
        places = build("reshape", places, newshape=(1, 1, -1))
        covered = build(
            "logical_and",
            build("greater_equal", places, build("expand_dims", begin, axis=-1)),
            build("less", places, build("expand_dims", end, axis=-1)),
        )  # (region, cell, place)
        some.append(build("any", covered, axis=[2]))
        # (region, channel, …, place, …) with a cell before the place
        made = build("expand_dims", made, axis=2 + axis)
        mask = build("expand_dims", covered, axis=1)
        mask = build("expand_dims", mask, axis=4 if axis == 0 else 2)
        made = build("where", mask, made, const(_lowest(dtype), dtype))
        made = build("max", made, axis=[3 + axis])
    exists = build(
        "logical_and",
        build("expand_dims", some[0], axis=2),
        build("expand_dims", some[1], axis=1),
    )
    made = build("where", build("expand_dims", exists, axis=1), made, const(0, dtype))
    return relaid(made, "NCHW", known.layout)


def _regions(site: Backward, shift: float) -> tuple[Expr, Sequence[Expr]]:
    """The images of regions, and their tops, lefts, bottoms and rights, as (regions, 1, 1, 1, 1)"""
    data, rois = site.args
    rois = build("stop_gradient", rois).astype(REAL)
    columns = [
        sampling.spread(build("take", rois, const(column), axis=1), 0, 5)
        for column in (0, 2, 1, 4, 3)
    ]
    layout = read_layout(site.attrs.layout)
    count = site.tensor_type(data).shape[layout.places("N")[0]]
    images = sampling.size(relaid(data, site.attrs.layout, "NCHW"), 0, count)
    image = sampling.clipped(columns[0], images).astype("int64")
    scale = number(site.attrs.spatial_scale)
    return image, [column * scale - number(shift) for column in columns[1:]]


def _most(samples: Expr) -> Expr:
    """The largest number of samples, which must not be too large for memory."""
    found = build("maximum", build("max", samples), number(0))
    return require(
        found.astype("int64"),
        build("less_equal", found, number(MOST_PLACES)),
        "a region has too many samples for a gradient",
        f"at most {MOST_PLACES} along each axis of a cell; `sample_ratio` sets their number",
        "{:g}",
        found,
    )


def _rounded(value: Expr) -> Expr:
    """The nearest integer, ties away from zero."""
    return build("sign", value) * build("floor", build("abs", value) + number(0.5))


def _both(one: Expr, other: Expr) -> Expr:
    return build("logical_and", one, other)


def _lowest(dtype: str) -> float:
    return float(np.finfo(dtypes.to_numpy(dtype)).min)
