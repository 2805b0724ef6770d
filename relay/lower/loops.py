"""Schedules -> loops over scalar operations that a target has instructions for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay import tree
from relay.te import lower as te_lower
from relay.te.epilogue import over_copies
from relay.te.expr import Expr, Extent, Read, Var, variables
from relay.te.legalize import Facts, legalize
from relay.te.loops import (
    Allocate,
    Buffer,
    Prefetch,
    Statement,
    Store,
    map_expressions,
    rolled,
    unchecked,
)
from relay.te.schedule import Schedule
from relay.te.tidy import tidy


def loops_of(
    schedule: Schedule, facts: Facts | None, *, checked: bool, sizes: Sequence[Extent]
) -> tuple[te_lower.LoweredLoops, tuple[Extent, ...]]:
    """The loops of a schedule, and the dynamic `sizes` they read. Without `facts` expressions are
    not legalized."""
    loops = te_lower.lower(schedule)
    # copies of unrolled loops would repeat the checks
    body = rolled(loops.body) if checked else unchecked(loops.body)
    if facts is not None:
        body = legalize(body, facts)
    # for dynamic sizes there are several copies of the code: full tiles and tails
    body = tidy(over_copies(body) if sizes else body)
    used = _used(sizes, body, (*loops.inputs, *loops.outputs)) if sizes else ()
    return replace(loops, body=body), used


def _used(
    sizes: Sequence[Extent], body: Statement, buffers: Sequence[Buffer]
) -> tuple[Extent, ...]:
    """The dynamic sizes that a kernel reads, in order."""
    found: set[Var] = set()

    def look(expr: Expr) -> Expr:
        found.update(variables(expr))
        for part in tree.postorder(expr):
            if isinstance(part, Read):
                for extent in part.source.shape:
                    found.update(variables(extent))
        return expr

    map_expressions(body, look)
    for part in tree.postorder(body):
        if isinstance(part, Store | Allocate | Prefetch):
            buffers = (*buffers, part.buffer)
    for buffer in buffers:
        for extent in buffer.shape:
            found.update(variables(extent))
    return tuple(size for size in sizes if size in found)
