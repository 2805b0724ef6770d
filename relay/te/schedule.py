"""How a computation is carried out: in which order, in which lanes, on which threads.

A `Schedule` holds a `Stage` for every tensor that is computed. A stage has loops, and says what its
axes are in terms of them. Each primitive is a pure function from schedule to schedule; what comes
out computes the same, in another way:

    s = create([c])                                  for i in 64: for j in 64: c[i, j] = …
    s = split(s, "c", "j", 16, ("jo", "ji"))         for i in 64: for jo in 4: for ji in 16: …
    s = vectorize(s, "c", "ji")
    s = parallel(s, "c", "i")

Loops are known by name, stages too. Schedule a consumer before what is computed inside it:
`compute_at` looks at the loops the consumer has by then, and they stay as they are from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relay import tree
from relay.errors import RelayError, did_you_mean
from relay.te.compute import (
    Computation,
    Placeholder,
    Procedure,
    Tensor,
    axis_name,
    from_bodies,
)
from relay.te.expr import (
    INDEX,
    Axis,
    Const,
    Expr,
    Read,
    Reduce,
    Var,
    const,
    every,
    index,
    remake,
    select,
    substitute,
    variables,
)
from relay.te.loops import Kind, Scope
from relay.te.simplify import Linear, Simplifier


@dataclass(frozen=True)
class Loop:
    """One loop of a stage."""

    var: Var
    extent: Expr
    kind: Kind = Kind.SERIAL
    reduces: bool = False

    @property
    def name(self) -> str:
        return self.var.name

    @property
    def count(self) -> int:
        """How often it runs, where that is known."""
        if not isinstance(self.extent, Const):
            raise RelayError(f"how often loop `{self.name}` runs is known at run time only")
        return int(self.extent.value)


@dataclass(frozen=True)
class Stage:
    """One computation with its loops.

    `values` says what each axis is, over the variables of the loops; where `guards` do not hold
    there is nothing to do. A stage computed `at` a loop of another makes only what is needed there:
    the part of its tensor that begins at `origin` and has the sizes `region`.
    """

    name: str
    tensors: tuple[Tensor, ...]
    op: Computation | Procedure
    loops: tuple[Loop, ...]
    values: Mapping[Var, Expr]
    origin: tuple[Expr, ...]
    region: tuple[Expr, ...]
    guards: tuple[Expr, ...] = ()
    at: tuple[str, str] | None = None  # stage, loop
    scope: Scope = Scope.WORKSPACE
    places: tuple[int, ...] = ()  # which body each of the tensors is
    streaming: bool = False  # stores go past the caches

    def loop(self, name: str) -> Loop:
        for loop in self.loops:
            if loop.name == name:
                return loop
        known = [loop.name for loop in self.loops]
        hint = did_you_mean(name, known)
        raise RelayError(
            f"stage `{self.name}` has no loop `{name}`; it has {', '.join(known)}"
            + (f"; {hint}" if hint else "")
        )

    def position(self, name: str) -> int:
        return self.loops.index(self.loop(name))

    @property
    def computation(self) -> Computation:
        if not isinstance(self.op, Computation):
            raise RelayError(f"stage `{self.name}` is a procedure: its loops stand as written")
        return self.op

    @property
    def is_reduction(self) -> bool:
        return isinstance(self.op, Computation) and self.op.reduction is not None

    @property
    def inputs(self) -> list[Tensor]:
        return list(self.op.inputs)


@dataclass(frozen=True)
class Schedule:
    """Stages in an order in which they can be computed."""

    stages: tuple[Stage, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    names: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {stage.name: i for i, stage in enumerate(self.stages)}
        object.__setattr__(self, "names", names)

    def __getitem__(self, name: str) -> Stage:
        if name not in self.names:
            hint = did_you_mean(name, self.names)
            raise RelayError(f"there is no stage `{name}`" + (f"; {hint}" if hint else ""))
        return self.stages[self.names[name]]

    def with_stage(self, changed: Stage) -> Schedule:
        stages = tuple(changed if one.name == changed.name else one for one in self.stages)
        return replace(self, stages=stages)

    def stage_of(self, tensor: Tensor) -> Stage | None:
        """The stage that computes a tensor; None for an input."""
        for stage in self.stages:
            if any(made is tensor for made in stage.tensors):
                return stage
        return None

    def readers(self, name: str) -> list[Stage]:
        """The stages that read what stage `name` computes."""
        made = {id(tensor) for tensor in self[name].tensors}
        return [stage for stage in self.stages if any(id(one) in made for one in stage.inputs)]

    def inside(self, name: str) -> list[Stage]:
        """The stages computed in a loop of stage `name`."""
        return [stage for stage in self.stages if stage.at is not None and stage.at[0] == name]

    def is_output(self, stage: Stage) -> bool:
        wanted = {id(tensor) for tensor in self.outputs}
        return any(id(tensor) in wanted for tensor in stage.tensors)


def create(outputs: Sequence[Tensor], inputs: Sequence[Tensor] | None = None) -> Schedule:
    """Every computation that the outputs need, with one loop per axis, all of them one by one."""
    order = _computations(outputs)
    given = [tensor for tensor in order if isinstance(tensor.op, Placeholder)]
    made: dict[int, list[Tensor]] = {}
    for tensor in order:
        if not isinstance(tensor.op, Placeholder):
            made.setdefault(id(tensor.op), []).append(tensor)
    names: set[str] = set()
    stages = []
    wanted = {id(tensor) for tensor in outputs}
    for tensors in made.values():
        first = tensors[0]
        assert not isinstance(first.op, Placeholder)
        if isinstance(first.op, Procedure) or first.op.reduction is not None:
            tensors = _all_results(first.op, tensors)
        name = unused_name(first.name, names)
        scope = Scope.WORKSPACE
        if any(id(tensor) in wanted for tensor in tensors):
            scope = Scope.GLOBAL
        stages.append(make_stage(name, tuple(tensors), first.op, scope))
    listed = tuple(given if inputs is None else inputs)
    for tensor in given:
        if not any(tensor is one for one in listed):
            raise RelayError(f"`{tensor.name}` is read and is none of the inputs")
    return Schedule(tuple(stages), listed, tuple(outputs))


def _all_results(op: Computation | Procedure, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The results of a reduction or a procedure, in order: also those nobody reads, it needs them
    itself."""
    name = tensors[0].name
    given = {tensor.position: tensor for tensor in tensors}
    shapes: list[tuple[tuple[Expr, ...], str]]
    if isinstance(op, Procedure):
        shapes = [(buffer.shape, buffer.dtype) for buffer in op.outputs]
    else:
        shapes = [(tensors[0].shape, body.dtype) for body in op.bodies]
    return [
        given.get(i) or Tensor(name, shape, dtype, op, i) for i, (shape, dtype) in enumerate(shapes)
    ]


def make_stage(
    name: str, tensors: tuple[Tensor, ...], op: Computation | Procedure, scope: Scope
) -> Stage:
    """A stage as it is before anything is decided."""
    zero = const(0, INDEX)
    shape = tensors[0].shape
    places = tuple(tensor.position for tensor in tensors)
    origin = (zero,) * len(shape)
    if isinstance(op, Procedure):
        return Stage(name, tensors, op, (), {}, origin, shape, scope=scope, places=places)
    loops, values = _one_loop_per_axis(op.axes, op.reduction_axes)
    return Stage(name, tensors, op, loops, values, origin, shape, scope=scope, places=places)


def _one_loop_per_axis(
    axes: Sequence[Axis], reduced: Sequence[Axis]
) -> tuple[tuple[Loop, ...], dict[Var, Expr]]:
    names: set[str] = set()
    loops: list[Loop] = []
    values: dict[Var, Expr] = {}
    for axis in (*axes, *reduced):
        var = Var(INDEX, unused_name(axis.name, names))
        loops.append(Loop(var, axis.extent, reduces=len(loops) >= len(axes)))
        values[axis] = var
    return tuple(loops), values


def _computations(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Every tensor the outputs need, each after those it is computed from."""
    order: list[Tensor] = []
    state: dict[int, bool] = {}
    pending = [(tensor, False) for tensor in reversed(outputs)]
    while pending:
        tensor, ready = pending.pop()
        if ready:
            order.append(tensor)
        elif id(tensor) not in state:
            state[id(tensor)] = True
            pending.append((tensor, True))
            if not isinstance(tensor.op, Placeholder):
                pending.extend((below, False) for below in reversed(list(tensor.op.inputs)))
    return order


def unused_name(name: str, names: set[str]) -> str:
    """The name, with a number when it is taken; it is added to the names."""
    chosen, number = name, 0
    while chosen in names:
        number += 1
        chosen = f"{name}{number}"
    names.add(chosen)
    return chosen


# --- loops


def split(
    s: Schedule, stage: str, loop: str, factor: int, names: tuple[str, str] | None = None
) -> Schedule:
    """Two loops for one; where the factor does not divide the extent, a guard.

    for i in 56: f(i)   ->   for io in 10: for ii in 6: if io*6 + ii < 56: f(io*6 + ii)
    """
    found = s[stage]
    old = _not_in_lanes(found.loop(loop))
    if factor < 1:
        raise RelayError(f"loop `{loop}` is split by a number from 1 on, found {factor}")
    outer_name, inner_name = names or (f"{loop}.o", f"{loop}.i")
    outer, inner = Var(INDEX, outer_name), Var(INDEX, inner_name)
    value = outer * factor + inner
    parts = (
        replace(old, var=outer, extent=_tiles(old.extent, factor)),
        replace(old, var=inner, extent=const(factor, INDEX), kind=Kind.SERIAL),
    )
    loops = tuple(new for one in found.loops for new in (parts if one is old else (one,)))
    guards = () if _is_multiple(old.extent, factor) else (value < old.extent,)
    return _with_loops(s, found, loops, {old.var: value}, guards)


def fuse(s: Schedule, stage: str, outer: str, inner: str, name: str | None = None) -> Schedule:
    """One loop for two that follow each other.

    for i in 4: for j in 8: f(i, j)   ->   for ij in 32: f(ij // 8, ij % 8)
    """
    found = s[stage]
    first, second = _not_in_lanes(found.loop(outer)), _not_in_lanes(found.loop(inner))
    if found.position(inner) != found.position(outer) + 1:
        raise RelayError(f"`{inner}` is not the loop directly inside `{outer}`")
    if first.reduces != second.reduces:
        raise RelayError(f"of `{outer}` and `{inner}` only one is a reduction")
    var = Var(INDEX, name or f"{outer}.{inner}")
    parts = {first.var: var // second.extent, second.var: var % second.extent}
    joined = replace(first, var=var, extent=Simplifier()(first.extent * second.extent))
    loops = tuple(joined if one is first else one for one in found.loops if one is not second)
    return _with_loops(s, found, loops, parts)


def reorder(s: Schedule, stage: str, *names: str) -> Schedule:
    """The named loops in this order, in the places they had together.

    for i: for j: for k: …   ->   for k: for i: for j: …        reorder(s, "c", "k", "i", "j")
    """
    found = s[stage]
    chosen = [found.loop(name) for name in names]
    if len(set(names)) != len(names):
        raise RelayError("a loop is named twice")
    places = iter(chosen)
    loops = tuple(next(places) if one in chosen else one for one in found.loops)
    return _with_loops(s, found, loops, {})


def tile(
    s: Schedule,
    stage: str,
    rows: tuple[str, int],
    columns: tuple[str, int],
) -> Schedule:
    """Blocks of two loops.

    for i in 64: for j in 64: …
      ->   for i.o in 16: for j.o in 8: for i.i in 4: for j.i in 8: …
                                              tile(s, "c", ("i", 4), ("j", 8))
    """
    (row, row_factor), (column, column_factor) = rows, columns
    s = split(s, stage, row, row_factor)
    s = split(s, stage, column, column_factor)
    return reorder(s, stage, f"{row}.o", f"{column}.o", f"{row}.i", f"{column}.i")


def _tiles(extent: Expr, factor: int) -> Expr:
    """How many blocks of `factor` cover an extent."""
    return Simplifier()((extent + (factor - 1)) // factor)


def _is_multiple(extent: Expr, factor: int) -> bool:
    return isinstance(extent, Const) and int(extent.value) % factor == 0


def _not_in_lanes(loop: Loop) -> Loop:
    if loop.kind is Kind.VECTOR:
        raise RelayError(f"loop `{loop.name}` runs in the lanes of vectors already")
    return loop


def _with_loops(
    s: Schedule,
    stage: Stage,
    loops: tuple[Loop, ...],
    parts: Mapping[Var, Expr],
    guards: tuple[Expr, ...] = (),
) -> Schedule:
    """The stage with other loops: `parts` says what the variables that are gone were."""
    names = [loop.name for loop in loops]
    for name in names:
        if names.count(name) > 1:
            raise RelayError(f"stage `{stage.name}` has two loops `{name}`")
    for other in s.inside(stage.name):
        assert other.at is not None
        level = stage.position(other.at[1])
        before = {loop.var for loop in stage.loops[: level + 1]}
        if names[level] != other.at[1] or {loop.var for loop in loops[: level + 1]} != before:
            raise RelayError(
                f"stage `{other.name}` is computed in loop `{other.at[1]}` of `{stage.name}`, "
                "which stays where it is from then on"
            )
    changed = replace(
        stage,
        loops=loops,
        values={axis: substitute(one, parts) for axis, one in stage.values.items()},
        guards=(*(substitute(guard, parts) for guard in stage.guards), *guards),
    )
    return s.with_stage(changed)


def _with_kind(s: Schedule, stage: str, loop: str, kind: Kind) -> Schedule:
    found = s[stage]
    old = found.loop(loop)
    loops = tuple(replace(one, kind=kind) if one is old else one for one in found.loops)
    return s.with_stage(replace(found, loops=loops))


def vectorize(s: Schedule, stage: str, loop: str) -> Schedule:
    """All iterations at once, in the lanes of vectors. Nothing is computed inside such a loop.

    for i in 16: y[i] = x[i] + 1   ->   y[0:16] = x[0:16] + 1
    """
    found = s[stage].loop(loop)
    if not isinstance(found.extent, Const):
        raise RelayError(f"loop `{loop}` runs a number of times known at run time only: split it")
    if found.reduces:
        raise RelayError(f"loop `{loop}` reduces: lanes need results of their own (`rfactor`)")
    return _with_kind(s, stage, loop, Kind.VECTOR)


def unroll(s: Schedule, stage: str, loop: str) -> Schedule:
    """A copy of the body for every iteration.

    for i in 2: y[i] = x[i]   ->   y[0] = x[0]; y[1] = x[1]
    """
    s[stage].loop(loop).count  # noqa: B018  (an error when it is not a number)
    return _with_kind(s, stage, loop, Kind.UNROLLED)


def parallel(s: Schedule, stage: str, loop: str) -> Schedule:
    """Iterations spread over threads. A reduction is never spread: the order of its additions, and
    with it every bit of the result, stays the same for any number of threads.

    for i in 64: y[i] = …   ->   parallel for i in 64: y[i] = …
    """
    if s[stage].loop(loop).reduces:
        raise RelayError(f"loop `{loop}` reduces: threads split results, never a reduction")
    return _with_kind(s, stage, loop, Kind.PARALLEL)


# --- stages


def set_scope(s: Schedule, stage: str, scope: Scope) -> Schedule:
    """Keep what the stage makes in registers, on the stack or in the workspace.

    workspace acc: float32[6, 64]   ->   register acc: float32[6, 64]
    """
    if s.is_output(s[stage]) or scope is Scope.GLOBAL:
        raise RelayError(f"stage `{stage}`: outputs, and only they, are given to the kernel")
    return s.with_stage(replace(s[stage], scope=scope))


def stream(s: Schedule, stage: str) -> Schedule:
    """Store past the caches what is larger than they are, and not read again soon.

    y[i] = x[i] + 1   ->   y[i] = x[i] + 1, streaming
    """
    return s.with_stage(replace(s[stage], streaming=True))


def inline(s: Schedule, stage: str) -> Schedule:
    """Compute where it is read, again for every reader. The stage is gone, unless it is an output.

    t[i] = x[i] + 1;  y[i] = t[i] * 2   ->   y[i] = (x[i] + 1) * 2
    """
    found = s[stage]
    if found.is_reduction:
        raise RelayError(f"stage `{stage}` is a reduction and cannot be computed where it is read")
    _expect_nothing_inside(s, stage)
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
    # the same element read twice is one expression, however long the chain of stages
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
    """Two stages of one shape that do not read each other, in the same loops, named as the first.

    y[i] = x[i] + 1;  z[i] = x[i] * 2   ->   for i: y[i] = x[i] + 1; z[i] = x[i] * 2
    """
    one, other = s[first], s[second]
    if first == second:
        raise RelayError(f"stage `{first}` is named twice")
    for name in (first, second):
        _expect_nothing_inside(s, name)
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
    scope = Scope.GLOBAL if s.is_output(one) or s.is_output(other) else one.scope
    made = replace(make_stage(one.name, tensors, Computation(axes, bodies), scope), places=places)
    # where the later of the two stood, everything both read is there
    begin, end = sorted((s.names[first], s.names[second]))
    earlier, between = s.stages[begin], s.stages[begin + 1 : end + 1]
    for stage in between:
        if any(id(tensor) in map(id, earlier.tensors) for tensor in stage.inputs):
            raise RelayError(f"`{stage.name}` reads `{earlier.name}`, so it comes between the two")
    rest = [stage for stage in s.stages if stage is not earlier]
    rest[end - 1] = made
    return replace(s, stages=tuple(rest))


def transform_bodies(
    bodies: tuple[Expr, ...], step: Callable[[Expr, Expr], Expr]
) -> tuple[Expr, ...]:
    """Rewrite the bodies of a computation; the values of a reduction stay one tuple."""
    first = bodies[0]
    if not isinstance(first, Reduce):
        return tuple(tree.transform(body, step) for body in bodies)
    values = tuple(tree.transform(value, step) for value in first.values)
    return tuple(
        Reduce(value.dtype, first.combiner, first.axes, values, i) for i, value in enumerate(values)
    )


def compute_at(s: Schedule, stage: str, consumer: str, loop: str) -> Schedule:
    """Compute inside a loop of a consumer what that iteration needs, instead of everything before.

    for i in 9: t[i] = …                        for i in 8:
    for i in 8: y[i] = t[i] + t[i + 1]   ->       for i' in 2: t[i'] = … of i + i'
                                                  y[i] = t[0] + t[1]
    """
    found, reader = s[stage], s[consumer]
    op = found.computation
    if s.is_output(found):
        raise RelayError(f"stage `{stage}` is an output: all of it is wanted, not a part at a time")
    _expect_nothing_inside(s, stage)
    level = reader.position(loop)
    origin, region = _needed(s, found, reader, level)
    reduced = op.reduction_axes
    local = [Axis(INDEX, axis.name, extent) for axis, extent in zip(op.axes, region, strict=True)]
    loops, offsets = _one_loop_per_axis(local, reduced)
    values: dict[Var, Expr] = {axis: offsets[axis] for axis in reduced}
    guards: list[Expr] = []
    for axis, start, own in zip(op.axes, origin, local, strict=True):
        values[axis] = start + offsets[own]
        if own.extent != axis.extent or not _is_zero(start):
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


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def _needed(
    s: Schedule, stage: Stage, consumer: Stage, level: int
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The part of a stage that an iteration of loop `level` of `consumer` reads."""
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
        for body in reader.computation.bodies:
            for part in tree.postorder(body):
                if isinstance(part, Read) and id(part.source) in made:
                    boxes.append(
                        [
                            _span(simplifier(substitute(i, reader.values)), simplifier, free)
                            for i in part.indices
                        ]
                    )
    origin: list[Expr] = []
    region: list[Expr] = []
    for position, axis in enumerate(stage.computation.axes):
        start, size = _cover([box[position] for box in boxes], axis.extent)
        origin.append(start)
        region.append(size)
    return tuple(origin), tuple(region)


def _loops_inside(s: Schedule, reader: Stage, consumer: Stage, level: int) -> set[Var]:
    """The variables that run while loop `level` of `consumer` stands still."""
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
    """(what stands still, lowest, highest offset) of an index; None when the two do not part."""
    total = simplifier.linear(position)
    fixed: dict[Expr, int] = {}
    low = high = total.constant
    for atom, coefficient in total.terms.items():
        moving = variables(atom) & free
        if not moving:
            if any(isinstance(part, Read) for part in tree.postorder(atom)):
                return None  # what is read may change while the loop stands still
            fixed[atom] = coefficient
            continue
        below, above = simplifier.interval(atom)
        if below is None or above is None or not variables(atom) <= free:
            return None
        if coefficient < 0:
            below, above = above, below
        low, high = low + below * coefficient, high + above * coefficient
    return simplifier.build(Linear(fixed)), low, high


def _cover(spans: Sequence[tuple[Expr, int, int] | None], extent: Expr) -> tuple[Expr, Expr]:
    """The smallest range around all spans; everything when they cannot be compared."""
    whole = const(0, INDEX), extent
    if not spans or spans[0] is None:
        return whole
    anchor = spans[0][0]
    low, high = spans[0][1:]
    for span in spans[1:]:
        if span is None or span[0] != anchor:
            return whole
        low, high = min(low, span[1]), max(high, span[2])
    if isinstance(extent, Const):
        if isinstance(anchor, Const):
            low, high = max(low, 0), min(high, int(extent.value) - 1)
        if high - low + 1 >= int(extent.value):
            return whole
    return Simplifier()(anchor + low), const(high - low + 1, INDEX)


def check(s: Schedule) -> None:
    """Refuse a schedule that no longer computes what it should: a stage inside a loop that is not
    there, too late for a reader, or with less of its tensor than readers have come to need."""
    for stage in s.stages:
        if stage.at is None:
            continue
        consumer = s[stage.at[0]]
        level = consumer.position(stage.at[1])
        for loop in consumer.loops[: level + 1]:
            if loop.kind is Kind.VECTOR:
                raise RelayError(f"stage `{stage.name}` is computed in vector loop `{loop.name}`")
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
    """Whether a range, as (start, size), lies in another; `extent` is the size of everything."""
    if part == whole or (_is_zero(whole[0]) and whole[1] == extent):
        return True
    before = Simplifier().linear(Simplifier()(part[0] - whole[0]))
    if before.terms or not isinstance(part[1], Const) or not isinstance(whole[1], Const):
        return False
    return 0 <= before.constant <= int(whole[1].value) - int(part[1].value)


# --- new stages


def cache_read(s: Schedule, reader: str, tensor: Tensor, name: str) -> Schedule:
    """A copy of a tensor that one stage reads, to be placed nearer to it.

    y[i] = x[i] * 2   ->   copy[i] = x[i];  y[i] = copy[i] * 2
    """
    return _replace_reads(s, reader, tensor, name, tuple, tensor.shape)


def pack(
    s: Schedule,
    reader: str,
    tensor: Tensor,
    name: str,
    blocks: Sequence[tuple[int, int]],
    order: Sequence[int] | None = None,
) -> Schedule:
    """A copy of a tensor in blocks: axis a in blocks of f for each (a, f), block counts first, the
    positions inside the blocks last; what lies beyond the end is zero. `order` permutes the result.

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
        shape[axis] = _tiles(shape[axis], factor)
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
            if not _is_multiple(tensor.shape[axis], factor):
                conditions.append(outer[axis] < tensor.shape[axis])
        return outer, conditions

    permuted = [shape[i] for i in order]
    return _replace_reads(s, reader, tensor, name, place, permuted, original)


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
    source = s.stage_of(tensor)
    if source is not None and source.at is not None:
        raise RelayError(f"stage `{source.name}` is computed inside a loop already")
    axes = tuple(Axis(INDEX, axis_name(i), size) for i, size in enumerate(shape))
    where, conditions = original(axes) if original else (list(axes), [])
    element = Read(tensor.dtype, tensor, tuple(where))
    body = select(every(*conditions), element, const(0, tensor.dtype)) if conditions else element
    (copy,) = from_bodies(axes, (body,), name)

    def put(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and after.source is tensor:
            return Read(copy.dtype, copy, tuple(map(index, place(after.indices))))
        return remake(before, after)

    return _insert_before(s, _with_bodies(found, put), (copy,), name)


def _with_bodies(stage: Stage, step: Callable[[Expr, Expr], Expr]) -> Stage:
    op = stage.computation
    return replace(stage, op=Computation(op.axes, transform_bodies(op.bodies, step)))


def _insert_before(s: Schedule, changed: Stage, made: tuple[Tensor, ...], name: str) -> Schedule:
    """The schedule with one stage changed, and before it a new one that makes what it now reads."""
    if name in s.names:
        raise RelayError(f"there is already a stage `{name}`")
    op = made[0].op
    assert isinstance(op, Computation)
    stage = make_stage(name, made, op, Scope.WORKSPACE)
    stages: list[Stage] = []
    for one in s.stages:
        stages += [stage, changed] if one.name == changed.name else [one]
    return replace(s, stages=tuple(stages))


def extract(s: Schedule, stage: str, part: Expr, axes: Sequence[Axis], name: str) -> Schedule:
    """A part of an expression as a tensor of its own over some axes of the stage.

    c[i, j] = sum(f(i, k) * b[k, j] for k)   ->   t[i, k] = f(i, k);  c[i, j] = sum(t[i, k] * …)

    It is computed for every value of the axes, whether the stage looks at it there or not.
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

    return _insert_before(s, _with_bodies(found, put), (tensor,), name)


def reindex(s: Schedule, stage: str, groups: Sequence[Sequence[Axis]]) -> Schedule:
    """Other axes for the same tensor: each group of the old ones is one of the new.

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
    _expect_nothing_inside(s, stage)
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
            stages.append(_with_bodies(one, read))
        else:
            stages.append(one)
    return replace(s, stages=tuple(stages))


def _product(sizes: Sequence[Expr]) -> Expr:
    total: Expr = const(1, INDEX)
    for size in sizes:
        total = total * size
    return total


def cache_write(s: Schedule, stage: str, name: str) -> Schedule:
    """Compute into a tensor of its own first, then copy: the copy's loops can hold a tile of it.

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


def _anew(s: Schedule, stage: Stage, op: Computation) -> Stage:
    """A stage that computes the same tensors in another way, with nothing decided."""
    _expect_nothing_inside(s, stage.name)
    return replace(make_stage(stage.name, stage.tensors, op, stage.scope), places=stage.places)


def _expect_nothing_inside(s: Schedule, name: str) -> None:
    for other in s.inside(name):
        raise RelayError(f"stage `{other.name}` is computed inside `{name}`, which must stay")


def rfactor(s: Schedule, stage: str, axis: int, lanes: int, name: str) -> Schedule:
    """Several partial results side by side, combined at the end: a reduction in vector lanes.

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
    step = Axis(INDEX, old.name, _tiles(old.extent, lanes))
    where = step * lanes + lane
    fresh: dict[Var, Expr] = {one: Axis(INDEX, one.name, one.extent) for one in op.axes}
    values = [substitute(value, {**fresh, old: where}) for value in reduction.values]
    if not _is_multiple(old.extent, lanes):
        neutral = reduction.combiner.identity(tuple(value.dtype for value in values))
        inside = where < old.extent
        values = [select(inside, value, rest) for value, rest in zip(values, neutral, strict=True)]
    axes = tuple(step if one is old else one for one in reduction.axes)
    own = (*(one for one in fresh.values() if isinstance(one, Axis)), lane)
    held = tuple(values)
    partial = from_bodies(
        own,
        tuple(Reduce(v.dtype, reduction.combiner, axes, held, i) for i, v in enumerate(held)),
        name,
    )
    last = Axis(INDEX, "l", const(lanes, INDEX))
    parts = tuple(Read(one.dtype, one, (*op.axes, last)) for one in partial)
    bodies = tuple(
        Reduce(part.dtype, reduction.combiner, (last,), parts, i) for i, part in enumerate(parts)
    )
    return _insert_before(s, _anew(s, found, Computation(op.axes, bodies)), partial, name)


__all__ = [
    "Loop",
    "Schedule",
    "Stage",
    "cache_read",
    "cache_write",
    "check",
    "compute_at",
    "create",
    "extract",
    "fuse",
    "inline",
    "join",
    "pack",
    "parallel",
    "reindex",
    "reorder",
    "rfactor",
    "set_scope",
    "split",
    "stream",
    "tile",
    "unroll",
    "vectorize",
]
