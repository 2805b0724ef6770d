"""Primitives that add stages: caches, packed copies, subexpressions, partial reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from relay import tree
from relay.errors import RelayError
from relay.te.compute import Computation, Tensor, axis_name, from_bodies
from relay.te.expr import (
    INDEX,
    Axis,
    Expr,
    Read,
    Var,
    const,
    every,
    index,
    remake,
    select,
    substitute,
    variables,
)
from relay.te.loops import MemoryScope
from relay.te.reduction import reduce
from relay.te.schedule.loops import is_multiple, tiles
from relay.te.schedule.merge import transform_bodies, with_bodies
from relay.te.schedule.placement import expect_nothing_inside
from relay.te.schedule.stages import Schedule, Stage, make_stage
from relay.te.simplify import Simplifier


def cache_read(s: Schedule, reader: str, tensor: Tensor, name: str) -> Schedule:
    """Copy a tensor that one stage reads, to be placed near that stage.

    y[i] = x[i] * 2   ->   copy[i] = x[i];  y[i] = copy[i] * 2
    """
    return _replace_reads(s, reader, tensor, name, tuple, tensor.shape)


def cache_write(s: Schedule, stage: str, name: str) -> Schedule:
    """Compute into a new tensor, then copy it; a tile of it can be computed in the loops of the
    copy.

    y[i] = sum(x[i, k] for k)   ->   acc[i] = sum(x[i, k] for k);  y[i] = acc[i]
    """
    found = s[stage]
    op = found.computation
    fresh: dict[Var, Expr] = {axis: Axis(INDEX, axis.name, axis.extent) for axis in op.axes}
    own = tuple(axis for axis in fresh.values() if isinstance(axis, Axis))

    def put(before: Expr, after: Expr) -> Expr:
        return fresh.get(after, after) if isinstance(after, Var) else remake(before, after)

    made = from_bodies(own, transform_bodies(op.bodies, put), name)
    copies = tuple(Read(tensor.dtype, tensor, tuple(op.axes)) for tensor in made)
    return _insert_before(s, _anew(s, found, Computation(op.axes, copies)), made, name)


def pack(
    s: Schedule,
    reader: str,
    tensor: Tensor,
    name: str,
    blocks: Sequence[tuple[int, int]],
    order: Sequence[int] | None = None,
) -> Schedule:
    """Copy a tensor in blocks, zero-padded: axis a in blocks of f for each (a, f); first the
    numbers of blocks, then the positions inside them. `order` permutes the axes of the copy.

    y[i, j] = b[i, j]
      ->   p[io, jo, ii] = b[io*16 + ii, jo] or 0;  y[i, j] = p[i // 16, j, i % 16]
                                                    pack(s, "y", b, "p", [(0, 16)])
    """
    shape: list[Expr] = list(tensor.shape)
    axes = [axis for axis, _ in blocks]
    if not all(0 <= axis < tensor.rank for axis in axes) or len(set(axes)) < len(axes):
        raise RelayError(
            f"the axes of `{tensor.name}` are 0 to {tensor.rank - 1}, each at most once"
        )
    if any(factor < 1 for _, factor in blocks):
        raise RelayError("a block has at least one element")
    for axis, factor in blocks:
        shape[axis] = tiles(shape[axis], factor)
    shape += [const(factor, INDEX) for _, factor in blocks]
    order = tuple(range(len(shape)) if order is None else order)
    if sorted(order) != list(range(len(shape))):
        raise RelayError(f"the order is one of the {len(shape)} axes of the copy, found {order}")

    def place(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        outer = list(indices)
        inner = []
        for axis, factor in blocks:
            inner.append(outer[axis] % factor)
            outer[axis] = outer[axis] // factor
        both = outer + inner
        return tuple(both[i] for i in order)

    def original(indices: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        both = [indices[order.index(i)] for i in range(len(shape))]
        outer, inner = both[: tensor.rank], both[tensor.rank :]
        conditions = []
        for (axis, factor), position in zip(blocks, inner, strict=True):
            outer[axis] = outer[axis] * factor + position
            if not is_multiple(tensor.shape[axis], factor):
                conditions.append(outer[axis] < tensor.shape[axis])
        return outer, conditions

    permuted = [shape[i] for i in order]
    return _replace_reads(s, reader, tensor, name, place, permuted, original)


def extract(s: Schedule, stage: str, part: Expr, axes: Sequence[Axis], name: str) -> Schedule:
    """Compute a subexpression as a tensor over some axes of the stage.

    c[i, j] = sum(f(i, k) * b[k, j] for k)   ->   t[i, k] = f(i, k);  c[i, j] = sum(t[i, k] * …)

    It is computed for every value of the axes, whether the stage uses it or not.
    """
    found = s[stage]
    op = found.computation
    missing = (variables(part) & {*op.axes, *op.reduction_axes}) - set(axes)
    if missing:
        names = ", ".join(sorted(f"`{var.name}`" for var in missing))
        raise RelayError(f"what is extracted from `{stage}` depends on {names} too")
    if not any(part == one for body in op.bodies for one in tree.postorder(body)):
        raise RelayError(f"`{part!r}` is no part of stage `{stage}`")
    fresh: dict[Var, Expr] = {axis: Axis(INDEX, axis.name, axis.extent) for axis in axes}
    own = tuple(axis for axis in fresh.values() if isinstance(axis, Axis))
    (tensor,) = from_bodies(own, (substitute(part, fresh),), name)

    def put(before: Expr, after: Expr) -> Expr:
        return Read(tensor.dtype, tensor, tuple(axes)) if before == part else remake(before, after)

    return _insert_before(s, with_bodies(found, put), (tensor,), name)


def rfactor(s: Schedule, stage: str, axis: int, lanes: int, name: str) -> Schedule:
    """Factor a reduction into `lanes` partial results: a reduction in vector lanes.

    y[i] = sum(x[i, k] for k < 100)
      ->   p[i, l] = sum(x[i, k*16 + l] if k*16 + l < 100 else 0 for k < 7)
           y[i] = sum(p[i, l] for l < 16)                       rfactor(s, "y", 0, 16, "p")
    """
    found = s[stage]
    op = found.computation
    reduction = op.reduction
    if reduction is None:
        raise RelayError(f"stage `{stage}` reduces nothing")
    if not 0 <= axis < len(reduction.axes) or lanes < 1:
        raise RelayError(f"stage `{stage}` has no reduction axis {axis} in {lanes} lanes")
    old = reduction.axes[axis]
    lane = Axis(INDEX, "l", const(lanes, INDEX))
    step = Axis(INDEX, old.name, tiles(old.extent, lanes))
    where = step * lanes + lane
    fresh: dict[Var, Expr] = {one: Axis(INDEX, one.name, one.extent) for one in op.axes}
    values = [substitute(value, {**fresh, old: where}) for value in reduction.values]
    if not is_multiple(old.extent, lanes):
        neutral = reduction.combiner.identity(tuple(value.dtype for value in values))
        inside = where < old.extent
        values = [select(inside, value, rest) for value, rest in zip(values, neutral, strict=True)]
    axes = tuple(step if one is old else one for one in reduction.axes)
    own = (*(one for one in fresh.values() if isinstance(one, Axis)), lane)
    partial = from_bodies(own, reduce(reduction.combiner, values, axes), name)
    last = Axis(INDEX, "l", const(lanes, INDEX))
    parts = tuple(Read(one.dtype, one, (*op.axes, last)) for one in partial)
    bodies = reduce(reduction.combiner, parts, last)
    return _insert_before(s, _anew(s, found, Computation(op.axes, bodies)), partial, name)


def reindex(s: Schedule, stage: str, groups: Sequence[Sequence[Axis]]) -> Schedule:
    """Fuse and permute the axes of a temporary tensor: each group becomes one axis.

    t[i, j, l] = f(i, j, l);  y = t[i, j, l]
      ->   t[l, ij] = f(ij // n, ij % n, l);  y = t[l, i*n + j]       reindex(s, "t", [[l], [i, j]])
    """
    found = s[stage]
    op = found.computation
    if s.is_output(found):
        raise RelayError(f"stage `{stage}` is an output: its axes are given")
    if [id(axis) for axis in op.axes if all(axis not in group for group in groups)] or sum(
        map(len, groups)
    ) != len(op.axes):
        raise RelayError(f"every axis of stage `{stage}` belongs to one of the groups")
    expect_nothing_inside(s, stage)
    values: dict[Var, Expr] = {}
    axes: list[Axis] = []
    simplify = Simplifier()
    for group in groups:
        size = simplify(_product([axis.extent for axis in group]))
        joined = Axis(INDEX, "".join(axis.name for axis in group), size)
        axes.append(joined)
        rest: Expr = joined
        for axis in reversed(group[1:]):
            values[axis] = rest % axis.extent
            rest = rest // axis.extent
        values[group[0]] = rest

    def put(before: Expr, after: Expr) -> Expr:
        return values.get(after, after) if isinstance(after, Var) else remake(before, after)

    made = from_bodies(tuple(axes), transform_bodies(op.bodies, put), found.name)
    positions = [[op.axes.index(axis) for axis in group] for group in groups]
    others = {id(old): made[place] for old, place in zip(found.tensors, found.places, strict=True)}

    def read(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and id(after.source) in others:
            places = []
            for group, where in zip(groups, positions, strict=True):
                place = after.indices[where[0]]
                for axis, i in zip(group[1:], where[1:], strict=True):
                    place = place * axis.extent + after.indices[i]
                places.append(place)
            return Read(after.dtype, others[id(after.source)], tuple(places))
        return remake(before, after)

    assert isinstance(made[0].op, Computation)
    stages = []
    for one in s.stages:
        if one is found:
            stages.append(make_stage(found.name, made, made[0].op, found.scope))
        elif any(id(tensor) in others for tensor in one.inputs):
            stages.append(with_bodies(one, read))
        else:
            stages.append(one)
    return replace(s, stages=tuple(stages))


def _replace_reads(
    s: Schedule,
    reader: str,
    tensor: Tensor,
    name: str,
    place: Callable[[Sequence[Expr]], tuple[Expr, ...]],
    shape: Iterable[Expr],
    original: Callable[[Sequence[Expr]], tuple[list[Expr], list[Expr]]] | None = None,
) -> Schedule:
    found = s[reader]
    if not any(tensor is one for one in found.inputs):
        raise RelayError(f"stage `{reader}` does not read `{tensor.name}`")
    axes = tuple(Axis(INDEX, axis_name(i), size) for i, size in enumerate(shape))
    where, conditions = original(axes) if original else (list(axes), [])
    element = Read(tensor.dtype, tensor, tuple(where))
    body = select(every(*conditions), element, const(0, tensor.dtype)) if conditions else element
    (copy,) = from_bodies(axes, (body,), name)

    def put(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and after.source is tensor:
            return Read(copy.dtype, copy, tuple(map(index, place(after.indices))))
        return remake(before, after)

    return _insert_before(s, with_bodies(found, put), (copy,), name)


def _insert_before(s: Schedule, changed: Stage, made: tuple[Tensor, ...], name: str) -> Schedule:
    """Replace a stage, and insert a new stage before it, which it reads."""
    if name in s.names:
        raise RelayError(f"there is already a stage `{name}`")
    op = made[0].op
    assert isinstance(op, Computation)
    stage = make_stage(name, made, op, MemoryScope.WORKSPACE)
    stages: list[Stage] = []
    for one in s.stages:
        stages += [stage, changed] if one.name == changed.name else [one]
    return replace(s, stages=tuple(stages))


def _anew(s: Schedule, stage: Stage, op: Computation) -> Stage:
    """An unscheduled stage with another definition of the same tensors."""
    expect_nothing_inside(s, stage.name)
    return replace(make_stage(stage.name, stage.tensors, op, stage.scope), places=stage.places)


def _product(sizes: Sequence[Expr]) -> Expr:
    total: Expr = const(1, INDEX)
    for size in sizes:
        total = total * size
    return total
