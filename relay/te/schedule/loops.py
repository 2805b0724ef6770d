"""Primitives on the loops of one stage: split, fuse, reorder, vectorize, unroll, parallel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay.errors import RelayError
from relay.te.expr import INDEX, Const, Expr, Var, const, substitute
from relay.te.loops import Kind
from relay.te.schedule.stages import Loop, Schedule, Stage
from relay.te.simplify import Simplifier


def split(
    s: Schedule, stage: str, loop: str, factor: int, names: tuple[str, str] | None = None
) -> Schedule:
    """Split a loop in two; with a guard if the factor does not divide the extent.

    for i in 56: f(i)   ->   for io in 10: for ii in 6: if io*6 + ii < 56: f(io*6 + ii)
    """
    found = s[stage]
    old = _plain_loop(found.loop(loop))
    if factor < 1:
        raise RelayError(f"loop `{loop}` is split by a number from 1 on, found {factor}")
    outer_name, inner_name = names or (f"{loop}.o", f"{loop}.i")
    outer, inner = Var(INDEX, outer_name), Var(INDEX, inner_name)
    value = outer * factor + inner
    parts = (
        replace(old, var=outer, extent=tiles(old.extent, factor)),
        replace(old, var=inner, extent=const(factor, INDEX), kind=Kind.SERIAL),
    )
    loops = tuple(new for one in found.loops for new in (parts if one is old else (one,)))
    guards = () if is_multiple(old.extent, factor) else (value < old.extent,)
    return _with_loops(s, found, loops, {old.var: value}, guards)


def fuse(s: Schedule, stage: str, outer: str, inner: str, name: str | None = None) -> Schedule:
    """Fuse two adjacent loops.

    for i in 4: for j in 8: f(i, j)   ->   for ij in 32: f(ij // 8, ij % 8)
    """
    found = s[stage]
    first, second = _plain_loop(found.loop(outer)), _plain_loop(found.loop(inner))
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
    """Put the named loops in this order, in the positions they occupy.

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
    """Tile two loops.

    for i in 64: for j in 64: …
      ->   for i.o in 16: for j.o in 8: for i.i in 4: for j.i in 8: …
                                              tile(s, "c", ("i", 4), ("j", 8))
    """
    (row, row_factor), (column, column_factor) = rows, columns
    s = split(s, stage, row, row_factor)
    s = split(s, stage, column, column_factor)
    return reorder(s, stage, f"{row}.o", f"{column}.o", f"{row}.i", f"{column}.i")


def vectorize(s: Schedule, stage: str, loop: str) -> Schedule:
    """Run all iterations at once, in vector lanes. No stage can be computed inside such a loop.

    for i in 16: y[i] = x[i] + 1   ->   y[0:16] = x[0:16] + 1
    """
    found = s[stage].loop(loop)
    if not isinstance(found.extent, Const):
        raise RelayError(f"loop `{loop}` runs a number of times known at run time only: split it")
    if found.reduces:
        raise RelayError(f"loop `{loop}` reduces: lanes need results of their own (`rfactor`)")
    return _with_kind(s, stage, loop, Kind.VECTOR)


def unroll(s: Schedule, stage: str, loop: str) -> Schedule:
    """Unroll: a copy of the body for every iteration.

    for i in 2: y[i] = x[i]   ->   y[0] = x[0]; y[1] = x[1]
    """
    s[stage].loop(loop).count  # noqa: B018  (an error if it is dynamic)
    return _with_kind(s, stage, loop, Kind.UNROLLED)


def parallel(s: Schedule, stage: str, loop: str, *, alternating: bool = False) -> Schedule:
    """Run iterations on several threads. Reductions are never parallel, so results do not depend on
    the number of threads.

    for i in 64: y[i] = …   ->   parallel for i in 64: y[i] = …

    An alternating loop runs in reverse order every other time, so that it begins with the data it
    read last, which are still in the caches.
    """
    if s[stage].loop(loop).reduces:
        raise RelayError(f"loop `{loop}` reduces: threads split results, never a reduction")
    return _with_kind(s, stage, loop, Kind.ALTERNATING if alternating else Kind.PARALLEL)


def _with_loops(
    s: Schedule,
    stage: Stage,
    loops: tuple[Loop, ...],
    parts: Mapping[Var, Expr],
    guards: tuple[Expr, ...] = (),
) -> Schedule:
    """Replace the loops of a stage; `parts` defines the replaced variables."""
    names = [loop.name for loop in loops]
    for name in names:
        if names.count(name) > 1:
            raise RelayError(f"stage `{stage.name}` has two loops `{name}`")
    for loop in loops[:-1]:
        if loop.instruction is not None:
            raise RelayError(f"loop `{loop.name}` is one operation, which stays the innermost")
    for other in s.inside(stage.name):
        assert other.at is not None
        level = stage.position(other.at[1])
        before = {loop.var for loop in stage.loops[: level + 1]}
        after = {loop.var for loop in loops[: level + 1]}
        if names[level : level + 1] != [other.at[1]] or after != before:
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
    old = _plain_loop(found.loop(loop))
    loops = tuple(replace(one, kind=kind) if one is old else one for one in found.loops)
    return s.with_stage(replace(found, loops=loops))


def _plain_loop(loop: Loop) -> Loop:
    if loop.kind is Kind.VECTOR:
        raise RelayError(f"loop `{loop.name}` runs in the lanes of vectors already")
    if loop.instruction is not None:
        raise RelayError(f"loop `{loop.name}` is one operation, `{loop.instruction.name}`, already")
    return loop


def tiles(extent: Expr, factor: int) -> Expr:
    """The number of blocks of `factor` that cover an extent."""
    return Simplifier()((extent + (factor - 1)) // factor)


def is_multiple(extent: Expr, factor: int) -> bool:
    return isinstance(extent, Const) and int(extent.value) % factor == 0
