"""Schedules -> loops over scalar operations that a target has instructions for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from relay import tree
from relay.te import lower as te_lower
from relay.te.epilogue import over_copies
from relay.te.expr import (
    INDEX,
    Expr,
    Extent,
    Read,
    Source,
    Var,
    const,
    remake,
    substitute,
    variables,
)
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
from relay.te.simplify import Simplifier
from relay.te.tidy import tidy


def loops_of(
    schedule: Schedule,
    facts: Facts | None,
    *,
    checked: bool,
    sizes: Sequence[Extent],
    known: Mapping[Extent, int] | None = None,
    unroll: bool = True,
) -> tuple[te_lower.LoweredLoops, tuple[Extent, ...]]:
    """The loops of a schedule, and the dynamic `sizes` they read. Without `facts` expressions are
    not legalized. What is `known` of the sizes takes their place. Without `unroll`, and where there
    are checks, which copies would repeat, loops to unroll stay loops."""
    loops = te_lower.lower(schedule)
    body = loops.body if unroll and not checked else rolled(loops.body)
    body = body if checked else unchecked(body)
    if facts is not None:
        body = legalize(body, facts)
    # for dynamic sizes there are several copies of the code: full tiles and tails
    body = over_copies(body) if sizes else body
    if known:
        loops = _with_sizes(replace(loops, body=body), known)
        return replace(loops, body=tidy(loops.body)), tuple(sizes)
    body = tidy(body)
    used = _used(sizes, body, (*loops.inputs, *loops.outputs)) if sizes else ()
    return replace(loops, body=body), used


def _with_sizes(loops: te_lower.LoweredLoops, known: Mapping[Extent, int]) -> te_lower.LoweredLoops:
    """The loops with numbers in the place of sizes, in the shapes of their buffers too."""
    values: dict[Var, Expr] = {size: const(value, INDEX) for size, value in known.items()}
    simplify = Simplifier()
    buffers: dict[int, Buffer] = {}
    kept: list[Source] = []  # so that ids stay theirs

    def buffer(old: Source) -> Source:
        if not isinstance(old, Buffer):
            return old
        if id(old) not in buffers:
            shape = tuple(simplify(substitute(extent, values)) for extent in old.shape)
            buffers[id(old)] = Buffer(old.name, shape, old.dtype, old.scope)
            kept.append(old)
        return buffers[id(old)]

    def step(before: Expr, after: Expr) -> Expr:
        if isinstance(after, Read):
            return Read(after.dtype, buffer(after.source), after.indices)
        if isinstance(after, Var):
            return values.get(after, after)
        return remake(before, after)

    def change(expr: Expr) -> Expr:
        return tree.transform(expr, step)

    for part in tree.postorder(loops.body):
        if isinstance(part, Store | Allocate | Prefetch):
            buffer(part.buffer)
    inputs, outputs = (
        tuple(cast("Buffer", buffer(one)) for one in each) for each in (loops.inputs, loops.outputs)
    )
    return te_lower.LoweredLoops(inputs, outputs, map_expressions(loops.body, change, buffers))


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
