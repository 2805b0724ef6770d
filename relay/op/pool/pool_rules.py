"""Gradient rules of pools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay.ir.expr import Expr, const
from relay.op.building.layouts import extents, read_layout, spatial_axes
from relay.op.building.separable_rules import fixed, separable
from relay.op.building.window import pad_pairs
from relay.op.gradient_rules import Backward, Composed, build, relaid


def max_pool_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient of a window goes to the first maximum."""
    (data,) = site.args
    known = site.attrs
    spatial = spatial_axes(known.layout)
    if len(spatial) == 2:
        return [build("nn.max_pool2d_grad", site.gradient, data, **dict(known.items()))]
    places = build(f"nn.max_pool{len(spatial)}d_positions", data, **dict(known.items()))
    plain = "NC" + spatial
    rows = _rows(data, known.layout, plain)
    result = known.out_layout or known.layout
    # a window outside of data has no place
    nowhere = const(np.iinfo(np.int64).max, "int64")
    where = build("where", build("less", places, const(0, "int64")), nowhere, places)
    added = build(
        "scatter_elements",
        build("zeros_like", rows),
        _rows(where, result, plain),
        _rows(site.gradient, result, plain),
        axis=2,
        reduction="add",
    )
    ordered = build("reshape_like", added, relaid(data, known.layout, plain))
    return [relaid(ordered, plain, known.layout)]


def _rows(value: Expr, layout: str, plain: str) -> Expr:
    """(n, c, x…) as (n, c, elements)"""
    return build("reshape", relaid(value, layout, plain), newshape=(0, 0, -1))


def avg_pool_gradient(site: Backward) -> Sequence[Expr]:
    """The gradient of a window is divided evenly among its elements."""
    (data,) = site.args
    return [build("nn.avg_pool2d_grad", site.gradient, data, **dict(site.attrs.items()))]


def _along(site: Backward, number: int, extent: int, rows: Expr) -> Expr:
    known = site.attrs
    return build(
        "nn.avg_pool1d",
        rows,
        pool_size=known.pool_size[number],
        strides=known.strides[number],
        dilation=known.dilation[number],
        padding=pad_pairs(known.padding, known.axes)[number],
        ceil_mode=known.ceil_mode,
        count_include_pad=known.count_include_pad,
    )


avg_pool_matrices = separable(_along)


def _adaptive(site: Backward, number: int, extent: int, rows: Expr) -> Expr:
    size = site.attrs.output_size
    return build("nn.adaptive_avg_pool1d", rows, output_size=[size[number]] if size else ())


adaptive_avg_pool_matrices = separable(_adaptive)


def _adaptive_max(site: Backward) -> Expr:
    """The maxima of windows that are read with constant indices; short ones repeat an element."""
    (data,) = site.args
    known = site.attrs
    layout = read_layout(known.layout)
    spatial = spatial_axes(known.layout)
    whole = fixed(site, extents(site.tensor_type(data).shape, known.layout, spatial))
    sizes = known.output_size or whole
    made: Expr = data
    axes: list[int] = []
    order = sorted(range(len(spatial)), key=lambda number: -layout.places(spatial[number])[0])
    for number in order:
        (axis,) = layout.places(spatial[number])
        extent, size = whole[number], sizes[number]
        starts = [i * extent // size for i in range(size)]
        ends = [-(-(i + 1) * extent // size) for i in range(size)]
        longest = max((b - a for a, b in zip(starts, ends, strict=True)), default=0)
        places = [
            [min(a + k, b - 1) for k in range(longest)] for a, b in zip(starts, ends, strict=True)
        ]
        made = build("take", made, const(np.array(places, "int64"), "int64"), axis=axis)
        axes = [axis + 1, *(later + 1 for later in axes)]
    return relaid(build("max", made, axis=axes), known.layout, known.out_layout or known.layout)


adaptive_max_pool_windows = Composed(_adaptive_max)


def _global(reduction: str) -> Composed:
    def result(site: Backward) -> Expr:
        known = site.attrs
        layout = read_layout(known.layout)
        axes = [layout.places(letter)[0] for letter in spatial_axes(known.layout)]
        made = build(reduction, site.args[0], axis=axes, keepdims=True)
        return relaid(made, known.layout, known.out_layout or known.layout)

    return Composed(result)


global_max_pool, global_avg_pool = _global("max"), _global("mean")


def max_pool_grad_gradient(site: Backward) -> Sequence[Expr | None]:
    """The elements of the gradient at the maxima, which do not move with data."""
    data = site.args[1]
    known = site.attrs
    places = build("nn.max_pool2d_positions", data, **dict(known.items()))
    result = known.out_layout or known.layout
    rows, where = _rows(site.gradient, known.layout, "NCHW"), _rows(places, result, "NCHW")
    found = build("gather", rows, where, axis=2)
    inside = build("greater_equal", where, const(0, "int64"))
    found = build("where", inside, found, build("zeros_like", found))
    ordered = build("reshape_like", found, relaid(site.args[0], result, "NCHW"))
    return [relaid(ordered, "NCHW", result), None]


def avg_pool_grad_gradient(site: Backward) -> Sequence[Expr | None]:
    """The pool of the gradient."""
    return [build("nn.avg_pool2d", site.gradient, **dict(site.attrs.items())), None]
