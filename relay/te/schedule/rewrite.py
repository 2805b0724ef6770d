"""Primitives that change the definition of a stage, or how its readers use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay.errors import RelayError
from relay.te.compute import Computation, Tensor
from relay.te.expr import Expr, Read, remake
from relay.te.loops import MemoryScope
from relay.te.schedule.merge import with_bodies
from relay.te.schedule.placement import expect_nothing_inside
from relay.te.schedule.stages import Schedule, make_stage


def put_before(s: Schedule, stage: str, tensor: Tensor) -> Schedule:
    """Insert a stage for a tensor before `stage`, which is about to read it.

    y = …   ->   t = …; y = …                                put_before(s, "y", t)
    """
    if tensor.name in s.names:
        raise RelayError(f"there is already a stage `{tensor.name}`")
    if not isinstance(tensor.op, Computation):
        raise RelayError(f"`{tensor.name}` is not computed element by element")
    made = make_stage(tensor.name, (tensor,), tensor.op, MemoryScope.WORKSPACE)
    place = s.names[s[stage].name]
    return replace(s, stages=(*s.stages[:place], made, *s.stages[place:]))


def recompute(s: Schedule, stage: str, body: Expr) -> Schedule:
    """Replace the definition of a stage by an equal expression; its loops are reset.

    y[i] = sum(x[i, k] for k < 8)   ->   y[i] = sum(x[i, k*4 + t] for k < 2 for t < 4)
    """
    found = s[stage]
    expect_nothing_inside(s, stage)
    (tensor,) = found.tensors
    if body.dtype != tensor.dtype:
        raise RelayError(f"stage `{stage}` is of {tensor.dtype}, its new body of {body.dtype}")
    op = Computation(found.computation.axes, (body,))
    return s.with_stage(make_stage(stage, found.tensors, op, found.scope))


def read_as(s: Schedule, stage: str, change: Callable[[Read], Expr]) -> Schedule:
    """Replace the elements of a stage in all its readers.

    y[i] = t[i] * 2   ->   y[i] = (t[i] + b[i]) * 2          read_as(s, "t", lambda e: e + b[…])
    """
    made = {id(tensor) for tensor in s[stage].tensors}
    if s.is_output(s[stage]):
        raise RelayError(f"stage `{stage}` is an output: others read it as it is")

    def put(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read) and id(after.source) in made:
            return change(after)
        return remake(before, after)

    for reader in s.readers(stage):
        s = s.with_stage(with_bodies(reader, put))
    return s
