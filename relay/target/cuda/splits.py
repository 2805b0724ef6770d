"""Splitting the inner axes of sums of products that have too few tiles for all multiprocessors.

    c[i, j] = sum(a[i, k] * b[k, j])   ->   p[s, i, j] = sum(a[i, s*n + k] * b[s*n + k, j])
                                            c[i, j] = sum(p[s, i, j])

The parts are summed in order, so that results do not depend on which is done first. Positions of a
window are split one by one, channels in multiples of a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product as combinations
from math import prod

from relay.target.cuda.launches import ceil_div
from relay.target.cuda.matmul import choose_tile
from relay.target.cuda.products import Product, recognize
from relay.te import expr as te
from relay.te.compute import Computation, from_bodies
from relay.te.loops import MemoryScope
from relay.te.reduction import SUM, reduce
from relay.te.schedule import Schedule, Stage, make_stage, unused_name

_STEPS = 16  # steps of a loop that are worth splitting
_LEFT = 4  # steps that are left at least


def split_products(s: Schedule, multiprocessors: int) -> Schedule:
    """The schedule with the inner axes of products split where that pays."""
    for name in [stage.name for stage in s.stages]:
        product = recognize(s[name])
        if product is None:
            continue
        parts = _parts(product, multiprocessors)
        if parts:
            s = _split(s, s[name], parts)
    return s


def _parts(product: Product, multiprocessors: int) -> dict[te.Axis, int]:
    """The number of parts that each inner axis is split into."""
    rows, columns, inner, batch = (
        prod(int(axis.extent.value) for axis in axes)
        for axes in (product.rows, product.columns, product.inner, product.batch)
    )
    tile = choose_tile(product, multiprocessors)
    programs = ceil_div(rows, tile.rows) * ceil_div(columns, tile.columns) * batch
    steps = ceil_div(inner, tile.inner)
    wanted = multiprocessors // programs
    if wanted < 2 or steps < _STEPS:
        return {}
    *window, last = product.inner
    choices: list[tuple[int, ...]] = [(1, int(axis.extent.value)) for axis in window]
    count = int(last.extent.value)
    whole = count // tile.inner if count % tile.inner == 0 else 1
    choices.append(tuple(n for n in range(1, whole + 1) if whole % n == 0))
    best: tuple[int, ...] | None = None
    for chosen in combinations(*choices):
        parts = prod(chosen)
        if parts <= min(2 * wanted, steps // _LEFT) and (
            best is None or _distance(parts, wanted) < _distance(prod(best), wanted)
        ):
            best = chosen
    if best is None or prod(best) == 1:
        return {}
    return {axis: n for axis, n in zip(product.inner, best, strict=True) if n > 1}


def _distance(parts: int, wanted: int) -> int:
    """How far a number of parts is from what is wanted; fewer are worse than more."""
    return parts - wanted if parts >= wanted else 2 * (wanted - parts)


def _split(s: Schedule, stage: Stage, parts: Mapping[te.Axis, int]) -> Schedule:
    op = stage.computation
    reduction = op.reduction
    assert reduction is not None
    outer: list[te.Axis] = []
    inner: list[te.Axis] = []
    values: dict[te.Var, te.Expr] = {}
    for axis in reduction.axes:
        count = int(axis.extent.value)
        if axis not in parts:
            inner.append(axis)
            continue
        part = te.axis(parts[axis], f"{axis.name}_part")
        outer.append(part)
        left = count // parts[axis]
        values[axis] = part
        if left > 1:
            rest = te.axis(left, axis.name)
            inner.append(rest)
            values[axis] = part * left + rest
    fresh = tuple(te.Axis(te.INDEX, axis.name, axis.extent) for axis in op.axes)
    values |= zip(op.axes, fresh, strict=True)
    value = te.substitute(reduction.values[0], values)
    own = (*outer, *fresh)
    (partial,) = from_bodies(own, reduce(SUM, (value,), inner), f"{stage.name}_part")
    assert isinstance(partial.op, Computation)
    again = [te.axis(axis.extent, axis.name) for axis in outer]
    total = reduce(SUM, (partial[(*again, *op.axes)],), again)
    names = {one.name for one in s.stages}
    name = unused_name(f"{stage.name}_part", names)
    before = make_stage(name, (partial,), partial.op, MemoryScope.WORKSPACE)
    summed = make_stage(stage.name, stage.tensors, Computation(op.axes, total), stage.scope)
    stages = tuple(
        new for one in s.stages for new in ((before, summed) if one is stage else (one,))
    )
    return replace(s, stages=stages)
