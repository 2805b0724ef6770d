"""Sums of scaled sums of products, as of a weight with scales for groups of its elements.

    p[i, g, j] = sum(x[i, g, k] * w[g, k, j] for k)       w is computed from few bits
    y[i, j] = sum(s[g, j] * p[i, g, j] for g)
      ->   parallel for a panel of columns:
             for a few rows:
               total[4, 64] in registers
               for g:
                 part[4, 64] in registers
                 for k: part[i, j] += x[i, g, k] * w[g, k, j]
                 total += s * part

The weight is read as it is stored, and its elements are computed in registers: at a few rows of
data the time is that of reading it.
"""

from __future__ import annotations

from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.schedules.tile import Tile
from relay.target.llvm.target import LLVMTarget
from relay.te import access, schedule
from relay.te.compute import Tensor
from relay.te.expr import Binary, Const, Read
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule, Stage, facts

_ROWS = 3  # of a tile


def is_grouped(s: Schedule, parts: Stage, total: Stage) -> bool:
    """Whether `total` adds up scaled sums of products, with vectors along the last axis of both."""
    sums, scaled = parts.computation.reduction, total.computation.reduction
    if sums is None or scaled is None or len(scaled.axes) != 1 or len(sums.values) != 1:
        return False
    if len(total.loops) < 3:
        return False
    *heads, column, group = (loop.var for loop in total.loops)
    reads = [read for read in facts.reads(total) if read.source in parts.tensors]
    if not heads or [list(read.indices) for read in reads] != [[*heads, group, column]]:
        return False
    value = sums.values[0]
    if not (isinstance(value, Binary) and value.op == "mul" and isinstance(value.left, Read)):
        return False
    along = parts.loops[len(heads) + 1]
    if not all(isinstance(loop.extent, Const) for loop in (along, *parts.loops[len(heads) + 2 :])):
        return False
    simplify = facts.simplifier(parts)
    steps = [
        (read.source is value.left.source, access.stride(read, along.var, simplify))
        for read in facts.reads(parts)
    ]
    return sorted(steps) == [(False, 1), (True, 0)]


def grouped(
    s: Schedule,
    root: str,
    total: str,
    parts: str,
    loops: list[str],
    target: LLVMTarget,
    known: set[int],
    *,
    threads: bool = True,
) -> Schedule:
    """Schedule `root`, which reads `total` at its own `loops`, and `total`, which reads `parts`."""
    *heads, column = loops
    rows = facts.count(s[root].loop(heads[-1]))
    tile = _tile(rows, facts.count(s[root].loop(column)), target)
    work = facts.points(s[parts])
    s = _packed(s, parts, tile, known)
    s = _packed(s, total, tile, known)
    s = schedule.split(s, root, column, tile.columns, ("panel", "c"))
    s = schedule.split(s, root, heads[-1], tile.rows, ("tile", "r"))
    s = schedule.reorder(s, root, "panel", *heads[:-1], "tile", "r", "c")
    s = schedule.unroll(_vectors(s, root, "c", tile), root, "r")
    if threads and work >= PARALLEL_WORK:
        s = schedule.parallel(s, root, "panel", alternating=rows <= tile.rows)
    s = schedule.compute_at(s, total, root, "tile", padded=True)
    (group,) = [loop.name for loop in s[total].loops if loop.reduces]
    s = _in_registers(s, total, [group], tile)
    s = schedule.compute_at(s, parts, total, group, padded=True)
    reducing = [loop.name for loop in s[parts].loops if loop.reduces]
    s = _in_registers(s, parts, reducing, tile)
    return schedule.unroll(s, parts, reducing[-1])


def _packed(s: Schedule, name: str, tile: Tile, known: set[int]) -> Schedule:
    """Constants in the order in which a panel of columns reads them."""
    sources = {id(read.source): read.source for read in facts.reads(s[name])}
    for place, source in enumerate(sources.values()):
        if id(source) in known and isinstance(source, Tensor) and source.rank == 2:
            panel = f"{name}.panel{place}"
            s = schedule.pack(s, name, source, panel, [(1, tile.columns)], (1, 0, 2))
    return s


def _tile(rows: int, columns: int, target: LLVMTarget) -> Tile:
    lanes = target.vector_bits // 32
    many = target.vector_registers == 32
    if rows == 1:
        most = 8 if many else 4
        return Tile(1, min(most, -(-columns // lanes)), lanes)
    return Tile(min(rows, _ROWS if many else 2), min(4 if many else 2, -(-columns // lanes)), lanes)


def _in_registers(s: Schedule, name: str, reducing: list[str], tile: Tile) -> Schedule:
    spatial = [loop.name for loop in s[name].loops if not loop.reduces]
    for loop in spatial[:-1]:
        s = schedule.unroll(s, name, loop)
    s = _vectors(s, name, spatial[-1], tile)
    inner = [loop.name for loop in s[name].loops if loop.name not in (*reducing, *spatial)]
    inner = inner or spatial[-1:]
    s = schedule.reorder(s, name, *reducing, *spatial[:-1], *inner)
    return schedule.set_scope(s, name, MemoryScope.REGISTER)


def _vectors(s: Schedule, stage: str, loop: str, tile: Tile) -> Schedule:
    if tile.vectors == 1:
        return schedule.vectorize(s, stage, loop)
    s = schedule.split(s, stage, loop, tile.lanes, ("cv", "cl"))
    return schedule.unroll(schedule.vectorize(s, stage, "cl"), stage, "cv")
