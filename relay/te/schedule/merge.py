"""Primitives that remove stages: inline, join."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from relay import tree
from relay.errors import RelayError
from relay.te.compute import Computation
from relay.te.expr import Axis, Expr, Read, Reduce, Var, remake, substitute
from relay.te.loops import MemoryScope
from relay.te.reduction import reduce
from relay.te.schedule.placement import expect_nothing_inside
from relay.te.schedule.stages import Schedule, Stage, make_stage


def inline(s: Schedule, stage: str) -> Schedule:
    """Inline a stage into all its readers; it is removed unless it is an output.

    t[i] = x[i] + 1;  y[i] = t[i] * 2   ->   y[i] = (x[i] + 1) * 2
    """
    found = s[stage]
    if found.is_reduction:
        raise RelayError(f"stage `{stage}` is a reduction and cannot be computed where it is read")
    expect_nothing_inside(s, stage)
    op = found.computation
    bodies = {
        id(tensor): op.bodies[place]
        for tensor, place in zip(found.tensors, found.places, strict=True)
    }
    keep = s.is_output(found)
    return replace(
        s,
        stages=tuple(
            one if one is found else _with_bodies_inlined(one, op.axes, bodies)
            for one in s.stages
            if keep or one is not found
        ),
    )


def _with_bodies_inlined(stage: Stage, axes: tuple[Axis, ...], bodies: Mapping[int, Expr]) -> Stage:
    if not any(id(tensor) in bodies for tensor in stage.op.inputs):
        return stage
    if not isinstance(stage.op, Computation):
        raise RelayError(f"procedure `{stage.name}` reads memory: its inputs stay as they are")
    # shared: chains of stages would otherwise grow exponentially
    done: dict[Expr, Expr] = {}

    def put(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and id(after.source) in bodies:
            if after not in done:
                places: dict[Var, Expr] = dict(zip(axes, after.indices, strict=True))
                done[after] = substitute(bodies[id(after.source)], places)
            return done[after]
        return remake(before, after)

    return replace(stage, op=Computation(stage.op.axes, transform_bodies(stage.op.bodies, put)))


def join(s: Schedule, first: str, second: str) -> Schedule:
    """Compute two independent stages of one shape in the same loops; named as the first.

    y[i] = x[i] + 1;  z[i] = x[i] * 2   ->   for i: y[i] = x[i] + 1; z[i] = x[i] * 2
    """
    one, other = s[first], s[second]
    if first == second:
        raise RelayError(f"stage `{first}` is named twice")
    for name in (first, second):
        expect_nothing_inside(s, name)
    axes = one.computation.axes
    if [axis.extent for axis in axes] != [axis.extent for axis in other.computation.axes]:
        raise RelayError(f"stages `{first}` and `{second}` have different shapes")
    if one.is_reduction or other.is_reduction:
        raise RelayError("reductions are not joined: join what reads them")
    names: dict[Var, Expr] = dict(zip(other.computation.axes, axes, strict=True))
    bodies = (
        *one.computation.bodies,
        *(substitute(body, names) for body in other.computation.bodies),
    )
    offset = len(one.computation.bodies)
    tensors = (*one.tensors, *other.tensors)
    places = (*one.places, *(place + offset for place in other.places))
    scope = MemoryScope.GLOBAL if s.is_output(one) or s.is_output(other) else one.scope
    made = replace(make_stage(one.name, tensors, Computation(axes, bodies), scope), places=places)
    # at the position of the later one, the inputs of both are available
    begin, end = sorted((s.names[first], s.names[second]))
    earlier, between = s.stages[begin], s.stages[begin + 1 : end + 1]
    for stage in between:
        if any(id(tensor) in map(id, earlier.tensors) for tensor in stage.inputs):
            raise RelayError(f"`{stage.name}` reads `{earlier.name}`, which is computed before")
    rest = [stage for stage in s.stages if stage is not earlier]
    rest[end - 1] = made
    return replace(s, stages=tuple(rest))


def transform_bodies(
    bodies: tuple[Expr, ...], step: Callable[[Expr, Expr], Expr]
) -> tuple[Expr, ...]:
    """Rewrite the bodies of a computation; the results of a reduction share their values."""
    first = bodies[0]
    if not isinstance(first, Reduce):
        return tuple(tree.transform(body, step) for body in bodies)
    values = tuple(tree.transform(value, step) for value in first.values)
    return reduce(first.combiner, values, first.axes)


def with_bodies(stage: Stage, step: Callable[[Expr, Expr], Expr]) -> Stage:
    op = stage.computation
    return replace(stage, op=Computation(op.axes, transform_bodies(op.bodies, step)))
