"""Schedules and stages as data, and the initial schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from relay.errors import RelayError, did_you_mean
from relay.immutable import frozen
from relay.te.compute import Computation, Placeholder, Procedure, Tensor
from relay.te.expr import INDEX, Axis, Const, Expr, Var, const
from relay.te.instruction import Instruction
from relay.te.loops import Kind, MemoryScope


@frozen
class Loop:
    """One loop of a stage."""

    var: Var
    extent: Expr
    kind: Kind = Kind.SERIAL
    reduces: bool = False
    instruction: Instruction | None = None  # which does all iterations at once

    @property
    def name(self) -> str:
        return self.var.name

    @property
    def count(self) -> int:
        """The number of iterations; an error if it is dynamic."""
        if not isinstance(self.extent, Const):
            raise RelayError(f"how often loop `{self.name}` runs is known at run time only")
        return int(self.extent.value)


@frozen
class Stage:
    """One computation with its loops.

    `values` defines the axes over loop variables; iterations in which `guards` fail do nothing. A
    stage computed `at` a loop of another computes the part of its tensor that begins at `origin`
    and has the sizes `region`.
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
    scope: MemoryScope = MemoryScope.WORKSPACE
    places: tuple[int, ...] = ()  # index of the body of each tensor
    streaming: bool = False  # stores bypass the caches

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


@frozen
class Schedule:
    """Stages in topological order."""

    stages: tuple[Stage, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    names: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {stage.name: i for i, stage in enumerate(self.stages)}
        object.__setattr__(self, "names", names)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.schedule(self)

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
    """The initial schedule: a stage per computation, a serial loop per axis."""
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
        scope = MemoryScope.WORKSPACE
        if any(id(tensor) in wanted for tensor in tensors):
            scope = MemoryScope.GLOBAL
        stages.append(make_stage(name, tuple(tensors), first.op, scope))
    listed = tuple(given if inputs is None else inputs)
    for tensor in given:
        if not any(tensor is one for one in listed):
            raise RelayError(f"`{tensor.name}` is read and is none of the inputs")
    return Schedule(tuple(stages), listed, tuple(outputs))


def _all_results(op: Computation | Procedure, tensors: Sequence[Tensor]) -> list[Tensor]:
    """All results of a reduction or a procedure, including unused ones."""
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
    name: str, tensors: tuple[Tensor, ...], op: Computation | Procedure, scope: MemoryScope
) -> Stage:
    """An unscheduled stage."""
    zero = const(0, INDEX)
    shape = tensors[0].shape
    places = tuple(tensor.position for tensor in tensors)
    origin = (zero,) * len(shape)
    if isinstance(op, Procedure):
        return Stage(name, tensors, op, (), {}, origin, shape, scope=scope, places=places)
    loops, values = one_loop_per_axis(op.axes, op.reduction_axes)
    return Stage(name, tensors, op, loops, values, origin, shape, scope=scope, places=places)


def one_loop_per_axis(
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
    """The tensors that the outputs depend on, in topological order."""
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
    """A unique name, which is added to `names`."""
    chosen, number = name, 0
    while chosen in names:
        number += 1
        chosen = f"{name}{number}"
    names.add(chosen)
    return chosen
