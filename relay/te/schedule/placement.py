"""Primitives on where a stage is computed, and where its result is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from relay.errors import RelayError
from relay.te.expr import INDEX, Axis, Const, Expr, Var, const, reads, substitute, variables
from relay.te.loops import Kind, MemoryScope
from relay.te.schedule.stages import Loop, Schedule, Stage, one_loop_per_axis
from relay.te.simplify import Linear, Simplifier


def set_scope(s: Schedule, stage: str, scope: MemoryScope) -> Schedule:
    """Store the result in registers, on the stack or in the workspace.

    workspace acc: float32[6, 64]   ->   register acc: float32[6, 64]
    """
    if s.is_output(s[stage]) or scope is MemoryScope.GLOBAL:
        raise RelayError(f"stage `{stage}`: outputs, and only they, are given to the kernel")
    return s.with_stage(replace(s[stage], scope=scope))


def stream(s: Schedule, stage: str) -> Schedule:
    """Use streaming stores, for results that exceed the caches and are not read soon.

    y[i] = x[i] + 1   ->   y[i] = x[i] + 1, streaming
    """
    return s.with_stage(replace(s[stage], streaming=True))


def compute_at(
    s: Schedule, stage: str, consumer: str, loop: str, *, padded: bool = False
) -> Schedule:
    """Compute the stage inside a loop of a consumer: only the part an iteration needs.

    for i in 9: t[i] = …                        for i in 8:
    for i in 8: y[i] = t[i] + t[i + 1]   ->       for i' in 2: t[i'] = … of i + i'
                                                  y[i] = t[0] + t[1]

    `padded`: the region also covers iterations of the consumer that its guards exclude.
    """
    found, reader = s[stage], s[consumer]
    op = found.computation
    if s.is_output(found):
        raise RelayError(f"stage `{stage}` is an output: all of it is wanted, not a part at a time")
    expect_nothing_inside(s, stage)
    level = reader.position(loop)
    origin, region = _needed(s, found, reader, level, padded)
    reduced = op.reduction_axes
    local = [Axis(INDEX, axis.name, extent) for axis, extent in zip(op.axes, region, strict=True)]
    loops, offsets = one_loop_per_axis(local, reduced)
    values: dict[Var, Expr] = {axis: offsets[axis] for axis in reduced}
    guards: list[Expr] = []
    for axis, start, own in zip(op.axes, origin, local, strict=True):
        values[axis] = start + offsets[own]
        if own.extent != axis.extent or not is_zero(start):
            guards += [values[axis] >= 0, values[axis] < axis.extent]
    return s.with_stage(
        replace(
            found,
            loops=loops,
            values=values,
            guards=tuple(guards),
            origin=origin,
            region=region,
            at=(consumer, loop),
        )
    )


def _needed(
    s: Schedule, stage: Stage, consumer: Stage, level: int, padded: bool = False
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The region (origin, sizes) of a stage read by an iteration of loop `level` of `consumer`."""
    made = {id(tensor) for tensor in stage.tensors}
    boxes: list[list[tuple[Expr, int, int] | None]] = []
    readers = s.readers(stage.name)
    if not readers or stage is consumer:
        raise RelayError(f"stage `{consumer.name}` does not read `{stage.name}`")
    for reader in readers:
        free = _loops_inside(s, reader, consumer, level)
        simplifier = Simplifier()
        for one in _enclosing_loops(s, reader):
            simplifier.bind(one.var, one.extent)
        for read in chain.from_iterable(map(reads, reader.computation.bodies)):
            if id(read.source) in made:
                indices = [simplifier(substitute(i, reader.values)) for i in read.indices]
                boxes.append([_span(i, simplifier, free) for i in indices])
    origin: list[Expr] = []
    region: list[Expr] = []
    for position, axis in enumerate(stage.computation.axes):
        start, size = _cover([box[position] for box in boxes], axis.extent, padded)
        origin.append(start)
        region.append(size)
    return tuple(origin), tuple(region)


def _loops_inside(s: Schedule, reader: Stage, consumer: Stage, level: int) -> set[Var]:
    """The variables that vary within an iteration of loop `level` of `consumer`."""
    free: set[Var] = set()
    current = reader
    while current.name != consumer.name:
        free.update(loop.var for loop in current.loops)
        if current.at is None:
            raise RelayError(
                f"stage `{current.name}` reads it too and is not computed inside `{consumer.name}`"
            )
        parent = s[current.at[0]]
        inside = parent.position(current.at[1])
        if parent.name == consumer.name:
            if inside < level:
                raise RelayError(f"stage `{current.name}` is computed outside that loop")
            free.update(loop.var for loop in parent.loops[level + 1 : inside + 1])
            return free
        free.update(loop.var for loop in parent.loops[: inside + 1])
        current = parent
    free.update(loop.var for loop in consumer.loops[level + 1 :])
    return free


def _enclosing_loops(s: Schedule, stage: Stage) -> list[Loop]:
    loops = list(stage.loops)
    while stage.at is not None:
        parent = s[stage.at[0]]
        loops += parent.loops[: parent.position(stage.at[1]) + 1]
        stage = parent
    return loops


def _span(position: Expr, simplifier: Simplifier, free: set[Var]) -> tuple[Expr, int, int] | None:
    """(fixed part, lowest, highest offset) of an index; None if it does not separate."""
    total = simplifier.linear(position)
    fixed: dict[Expr, int] = {}
    low = high = total.constant
    for atom, coefficient in total.terms.items():
        moving = variables(atom) & free
        if not moving:
            if reads(atom):
                return None  # memory may change within the iteration
            fixed[atom] = coefficient
            continue
        below, above = simplifier.interval(atom)
        if below is None or above is None or not variables(atom) <= free:
            return None
        if coefficient < 0:
            below, above = above, below
        low, high = low + below * coefficient, high + above * coefficient
    return simplifier.build(Linear(fixed)), low, high


def _cover(
    spans: Sequence[tuple[Expr, int, int] | None], extent: Expr, padded: bool
) -> tuple[Expr, Expr]:
    """The smallest range that covers all spans; the whole axis if they are incomparable."""
    whole = const(0, INDEX), extent
    if not spans or spans[0] is None:
        return whole
    anchor = spans[0][0]
    low, high = spans[0][1:]
    for span in spans[1:]:
        if span is None or span[0] != anchor:
            return whole
        low, high = min(low, span[1]), max(high, span[2])
    size = high - low + 1
    if isinstance(extent, Const):
        if isinstance(anchor, Const):
            low, high = max(low, 0), min(high, int(extent.value) - 1)
        if high - low + 1 >= int(extent.value):
            return (whole[0], const(size, INDEX)) if padded else whole
    return Simplifier()(anchor + low), const(max(0, high - low + 1), INDEX)


def is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def expect_nothing_inside(s: Schedule, name: str) -> None:
    for other in s.inside(name):
        raise RelayError(f"stage `{other.name}` is computed inside `{name}`, which must stay")


def check(s: Schedule) -> None:
    """Refuse an invalid schedule: a stage inside a loop that does not exist, computed after a
    reader, or with a smaller region than its readers need."""
    for stage in s.stages:
        if stage.at is None:
            continue
        consumer = s[stage.at[0]]
        level = consumer.position(stage.at[1])
        for loop in consumer.loops[: level + 1]:
            if loop.kind is Kind.VECTOR or loop.instruction is not None:
                kind = "vector loop" if loop.kind is Kind.VECTOR else "operation"
                raise RelayError(f"stage `{stage.name}` is computed in {kind} `{loop.name}`")
        origin, region = _needed(s, stage, consumer, level)
        held = zip(stage.origin, stage.region, strict=True)
        for axis, now, before in zip(
            stage.computation.axes, zip(origin, region, strict=True), held, strict=True
        ):
            if not _within(now, before, axis.extent):
                raise RelayError(
                    f"more of stage `{stage.name}` is read than it computes in loop "
                    f"`{stage.at[1]}` of `{stage.at[0]}`: place it after its readers"
                )


def _within(part: tuple[Expr, Expr], whole: tuple[Expr, Expr], extent: Expr) -> bool:
    """Whether a range (start, size) lies in another; `extent` is the size of the axis."""
    if part == whole or (is_zero(whole[0]) and whole[1] == extent):
        return True
    before = Simplifier().linear(Simplifier()(part[0] - whole[0]))
    if before.terms or not isinstance(part[1], Const) or not isinstance(whole[1], Const):
        return False
    return 0 <= before.constant <= int(whole[1].value) - int(part[1].value)
