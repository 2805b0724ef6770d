"""Hoists computations that depend on constants only into kernels that run once.

    panel[…] = w[…];  y[i, j] = sum(x[i, k] * panel[…] for k)          w never changes
      ->   panel[…] = w[…]                                             once
           y[i, j] = sum(x[i, k] * panel[…] for k)                     panel is an input

Chains of such stages are hoisted together: only their last results are stored.
"""

from __future__ import annotations

from dataclasses import replace

from relay.te.compute import Computation, Tensor
from relay.te.expr import Extent, variables
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule, Stage


def constants_only(s: Schedule, name: str, constants: set[int]) -> bool:
    """Whether a stage depends on constants only, and on no dynamic size."""
    if _has_dynamic_sizes(s[name]):
        return False
    pending = list(s[name].inputs)
    seen: set[int] = set()
    while pending:
        tensor = pending.pop()
        if id(tensor) in constants or id(tensor) in seen:
            continue
        stage = s.stage_of(tensor)
        if stage is None or _has_dynamic_sizes(stage):
            return False
        seen.update(id(one) for one in stage.tensors)
        pending += stage.inputs
    return True


def _has_dynamic_sizes(stage: Stage) -> bool:
    asked = [extent for tensor in stage.tensors for extent in tensor.shape]
    if isinstance(stage.op, Computation):
        asked += [*stage.op.bodies, *(axis.extent for axis in stage.op.reduction_axes)]
    return any(isinstance(one, Extent) for part in asked for one in variables(part))


def hoist(s: Schedule, constants: set[int]) -> tuple[list[Schedule], Schedule]:
    """The hoisted schedules, and the schedule without them."""
    if not constants:
        return [], s
    before: list[Schedule] = []
    known = set(constants)
    for stage in s.stages:
        if stage.at is not None or s.is_output(stage) or not constants_only(s, stage.name, known):
            continue
        # only the last stage of a chain, with those before
        readers = s.readers(stage.name)
        if all(constants_only(s, reader.name, known) for reader in readers):
            continue
        read = {id(tensor) for reader in readers for tensor in reader.inputs}
        made = tuple(tensor for tensor in stage.tensors if id(tensor) in read)
        before.append(_hoisted(s, stage, made))
        known.update(map(id, stage.tensors))
        rest = tuple(one for one in s.stages if one is not stage)
        s = replace(s, stages=rest, inputs=(*s.inputs, *made))
    return before, _drop_unread(s)


def _hoisted(s: Schedule, stage: Stage, made: tuple[Tensor, ...]) -> Schedule:
    """The schedule of one stage and those it needs, with the outputs `made`."""
    names = needed(s, stage)
    stages = tuple(
        replace(one, scope=MemoryScope.GLOBAL) if one is stage else one
        for one in s.stages
        if one.name in names
    )
    read = {id(tensor) for one in stages for tensor in one.inputs}
    inputs = tuple(tensor for tensor in s.inputs if id(tensor) in read)
    return Schedule(stages, inputs, made)


def needed(s: Schedule, stage: Stage) -> set[str]:
    """The names of a stage and all stages it depends on."""
    found = {stage.name}
    pending = list(stage.inputs)
    while pending:
        below = s.stage_of(pending.pop())
        if below is not None and below.name not in found:
            found.add(below.name)
            pending += below.inputs
    return found


def _drop_unread(s: Schedule) -> Schedule:
    while True:
        unread = [
            stage.name for stage in s.stages if not s.is_output(stage) and not s.readers(stage.name)
        ]
        if not unread:
            return s
        s = replace(s, stages=tuple(one for one in s.stages if one.name not in unread))
