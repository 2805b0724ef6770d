"""Lower a schedule to loops.

    c[i, j] = sum(a[i, k] * b[k, j] for k)        for i.o in 8: for j.o in 4:
    scheduled in tiles, acc at j.o         ->       register acc[8, 16]
                                                    for i: for j: acc[i, j] = 0
                                                    for k: for i: for j: acc[i, j] = acc[i, j] + …
                                                    for i.i: for j.i: c[…] = acc[i.i, j.i]

The loops keep all guards of the schedule; `relay.te.tidy` simplifies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay import tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.te import expr as te
from relay.te import loops
from relay.te.compute import Procedure, Tensor
from relay.te.schedule import Loop, Schedule, Stage, check, unused_name


@frozen
class LoweredLoops:
    """Loops and their buffers, one per input and output."""

    inputs: tuple[loops.Buffer, ...]
    outputs: tuple[loops.Buffer, ...]
    body: loops.Statement


def lower(schedule: Schedule) -> LoweredLoops:
    """The loops of a schedule."""
    check(schedule)
    return _Lowering(schedule).run()


class _Lowering:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.buffers: dict[int, loops.Buffer] = {}  # by tensor
        self.origins: dict[int, tuple[te.Expr, ...]] = {}
        self.attached: dict[tuple[str, str], list[Stage]] = {}
        names: set[str] = set()
        for tensor in schedule.inputs:
            self.buffers[id(tensor)] = loops.Buffer(
                unused_name(tensor.name, names), tensor.shape, tensor.dtype
            )
        wanted = set(map(id, schedule.outputs))
        for stage in schedule.stages:
            for tensor in stage.tensors:
                name = stage.name if tensor is stage.tensors[0] else tensor.name
                name = unused_name(name, names)
                region, scope = stage.region, stage.scope
                if isinstance(stage.op, Procedure):
                    region = tensor.shape  # each result has its own
                else:
                    self.origins[id(tensor)] = stage.origin
                if scope is loops.MemoryScope.GLOBAL and id(tensor) not in wanted:
                    scope = loops.MemoryScope.WORKSPACE
                self.buffers[id(tensor)] = loops.Buffer(name, region, tensor.dtype, scope)
            if stage.at is not None:
                self.attached.setdefault(stage.at, []).append(stage)

    def run(self) -> LoweredLoops:
        roots = [stage for stage in self.schedule.stages if stage.at is None]
        body = self.with_stages(roots, None)
        return LoweredLoops(
            tuple(self.buffers[id(tensor)] for tensor in self.schedule.inputs),
            tuple(self.buffers[id(tensor)] for tensor in self.schedule.outputs),
            body,
        )

    def with_stages(self, stages: Sequence[Stage], rest: loops.Statement | None) -> loops.Statement:
        """The stages in order, then `rest`, with allocations of their results."""
        result: list[loops.Statement] = [] if rest is None else [rest]
        for stage in reversed(stages):
            result.insert(0, self.nest(stage))
            for tensor in stage.tensors:
                buffer = self.buffers[id(tensor)]
                if buffer.scope is not loops.MemoryScope.GLOBAL:
                    result = [loops.Allocate(buffer, loops.block(result))]
        return loops.block(result)

    def nest(self, stage: Stage) -> loops.Statement:
        """All loops of a stage."""
        if isinstance(stage.op, Procedure):
            return self.procedure(stage, stage.op)
        op = stage.op
        reduction = op.reduction
        if reduction is None:
            return self.around(stage, stage.loops, self.stores(stage, op.bodies))
        first = next((i for i, loop in enumerate(stage.loops) if loop.reduces), len(stage.loops))
        outer, inner = stage.loops[:first], stage.loops[first:]
        reducing = {loop.var for loop in stage.loops if loop.reduces}
        identity = reduction.combiner.identity(tuple(body.dtype for body in op.bodies))
        spatial = tuple(loop for loop in inner if not loop.reduces)
        begin = self.stores(replace(stage, guards=_without(stage.guards, reducing)), identity)
        places = self.places(stage)
        held = tuple(
            te.Read(tensor.dtype, self.buffers[id(tensor)], places) for tensor in stage.tensors
        )
        values = tuple(self.expression(stage, value) for value in reduction.values)
        combined = reduction.combiner.combine(held, values)
        last = inner[-1]
        if last.instruction is None:
            update = self.update(stage, reducing, combined)
        else:
            update = self.at_once(stage, reducing, last, combined)
            inner = inner[:-1]
        steps = [_nested(spatial, begin), self.around(stage, inner, update)]
        return self.around(stage, outer, loops.block(steps))

    def around(self, stage: Stage, nest: Sequence[Loop], body: loops.Statement) -> loops.Statement:
        """The loops around `body`, with the stages computed in them."""
        for loop in reversed(nest):
            inside = self.attached.get((stage.name, loop.name), [])
            body = loops.For(loop.var, loop.extent, self.with_stages(inside, body), loop.kind)
        return body

    def stores(
        self, stage: Stage, bodies: Sequence[te.Expr], ready: bool = False
    ) -> loops.Statement:
        places = self.places(stage)
        steps = [
            loops.Store(
                self.buffers[id(tensor)],
                places,
                bodies[place] if ready else self.expression(stage, bodies[place]),
                stage.streaming,
            )
            for tensor, place in zip(stage.tensors, stage.places, strict=True)
        ]
        return _guarded(stage.guards, loops.block(steps))

    def update(
        self, stage: Stage, reducing: set[te.Var], combined: Sequence[te.Expr]
    ) -> loops.Statement:
        """Store all results of a reduction; each is computed before any is stored.

        Conditions on spatial axes are guards, which may be dropped; conditions on reduction axes
        are not, as elements beyond the end must not be accumulated.
        """
        inside = _without(stage.guards, reducing)
        beyond = [guard for guard in stage.guards if guard not in inside]
        if len(combined) == 1:
            body = self.stores(replace(stage, guards=inside), combined, ready=True)
        else:
            names = [
                te.Var(value.dtype, f"{stage.name}.new{i}") for i, value in enumerate(combined)
            ]
            body = self.stores(replace(stage, guards=()), names, ready=True)
            for name, value in reversed(list(zip(names, combined, strict=True))):
                body = loops.Let(name, value, body)
            body = _guarded(inside, body)
        return loops.If(te.every(*beyond), body) if beyond else body

    def at_once(
        self, stage: Stage, reducing: set[te.Var], loop: Loop, combined: Sequence[te.Expr]
    ) -> loops.Statement:
        """One instruction for a whole loop; single steps where its guards do not all hold."""
        instruction, reduction = loop.instruction, stage.computation.reduction
        assert instruction is not None and reduction is not None
        operands = instruction.match(reduction)
        if operands is None:
            raise RelayError(f"stage `{stage.name}` has lost the form of `{instruction.name}`")
        (tensor,) = stage.tensors
        held = te.Read(tensor.dtype, self.buffers[id(tensor)], self.places(stage))
        turns = [{loop.var: te.const(i, te.INDEX)} for i in range(instruction.steps)]
        each = [
            [te.substitute(self.expression(stage, operand), turn) for turn in turns]
            for operand in operands
        ]
        inside = tuple(guard for guard in stage.guards if loop.var not in te.variables(guard))
        whole = [te.substitute(g, turn) for g in stage.guards if g not in inside for turn in turns]
        rest = reducing - {loop.var}
        operation = self.update(replace(stage, guards=inside), rest, [instruction.call(held, each)])
        if not whole:
            return operation
        steps = self.around(stage, [loop], self.update(stage, reducing, combined))
        return loops.If(te.every(*whole), operation, steps)

    def places(self, stage: Stage) -> tuple[te.Expr, ...]:
        """The indices of the current element in the buffer of the stage."""
        op = stage.computation
        return tuple(
            stage.values[axis] - start for axis, start in zip(op.axes, stage.origin, strict=True)
        )

    def expression(self, stage: Stage, body: te.Expr) -> te.Expr:
        """The expression with axes replaced by loop variables, and tensors by buffers."""
        return tree.transform(te.substitute(body, stage.values), self.read)

    def read(self, before: te.Expr, after: te.Expr) -> te.Expr:
        if isinstance(after, te.Read) and isinstance(after.source, Tensor):
            if id(after.source) not in self.buffers:
                raise RelayError(f"`{after.source.name}` is neither an input nor computed")
            buffer = self.buffers[id(after.source)]
            starts = self.origins.get(id(after.source))
            indices = after.indices
            if starts is not None:
                indices = tuple(i - start for i, start in zip(indices, starts, strict=True))
            return te.Read(after.dtype, buffer, indices)
        if isinstance(after, te.Reduce):
            raise TypeError("a reduction stands alone in its stage")
        return te.remake(before, after)

    def procedure(self, stage: Stage, op: Procedure) -> loops.Statement:
        outputs = {
            id(buffer): self.buffers[id(tensor)]
            for tensor, place in zip(stage.tensors, stage.places, strict=True)
            for buffer in (op.outputs[place],)
        }

        def expression(expr: te.Expr) -> te.Expr:
            def step(before: te.Expr, after: te.Expr) -> te.Expr:
                if isinstance(after, te.Read) and id(after.source) in outputs:
                    return te.Read(after.dtype, outputs[id(after.source)], after.indices)
                return self.read(before, after)

            return tree.transform(expr, step)

        return loops.map_expressions(op.body, expression, outputs)


def _guarded(guards: Sequence[te.Expr], body: loops.Statement) -> loops.Statement:
    condition = te.every(*guards)
    if isinstance(condition, te.Const) and condition.value:
        return body
    return loops.If(condition, body, guard=True)


def _nested(nest: Sequence[Loop], body: loops.Statement) -> loops.Statement:
    for loop in reversed(nest):
        body = loops.For(loop.var, loop.extent, body, loop.kind)
    return body


def _without(guards: Sequence[te.Expr], reducing: set[te.Var]) -> tuple[te.Expr, ...]:
    return tuple(guard for guard in guards if not te.variables(guard) & reducing)
