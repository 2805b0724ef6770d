"""The loops of Winograd's algorithm (`winograd`).

for a block of tiles:                       threads: here, or in each of the three steps
  for a tile, for a vector of channels:
    lines = …                               on the stack, one column at a time
    tiles = …                               one row at a time
  for i in 6: for j in 6:
    a product of matrices, in register tiles, with packed panels of the weight
  for a vector of channels, for a tile:
    rows = …                                on the stack
    root = …                                one row of results at a time

Beforehand, for a panel, for a channel, for a vector of its columns:
  half = …                                  on the stack, one column at a time
  panel = …                                 36 vectors, each in its own product
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.schedules.contraction import (
    DEPTH,
    Form,
    grouped_columns,
    micro_kernel,
    pack_factor,
    vectors,
)
from relay.target.llvm.schedules.plan import RULES, Plan
from relay.target.llvm.schedules.tile import Tile, tile_for
from relay.target.llvm.schedules.winograd import (
    TILE,
    Blocks,
    Convolution,
    Stages,
    size,
    with_stages,
)
from relay.target.llvm.target import LLVMTarget
from relay.te import schedule
from relay.te.expr import Axis, Binary
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule, facts


def winograd(
    s: Schedule,
    root: str,
    name: str,
    found: Convolution,
    blocks: Blocks,
    loops: Sequence[str],
    target: LLVMTarget,
    *,
    threads: bool,
    plan: Plan = RULES,
) -> Schedule:
    """Schedule `root`, which reads the convolution `name` at its own `loops`."""
    loop_of = dict(zip(s[name].computation.axes, loops, strict=True))
    names = Stages.of(name)
    lanes = target.vector_bits // 32
    within = threads and not blocks.shared_out
    s = with_stages(s, name, found, blocks)
    s = _results(s, root, found, blocks, loop_of, lanes)
    if threads:
        s = _parallel(s, root, within)
    s = _on_the_stack(s, names.rows, root, "across")
    s = _products(s, root, names, target, plan, threads=within)
    return _tiles(s, root, names, found.tiles[1], lanes, threads=within)


def _results(
    s: Schedule,
    root: str,
    found: Convolution,
    blocks: Blocks,
    loop_of: dict[Axis, str],
    lanes: int,
) -> Schedule:
    """The loops of the root, over blocks and tiles."""
    image, height, width = (loop_of[axis] for axis in (found.batch, found.height, found.width))
    *far, last = (loop_of[axis] for axis in found.columns)
    s = schedule.split(s, root, height, TILE * blocks.rows, ("block", "rows"))
    s = schedule.split(s, root, "rows", TILE, ("down", "row"))
    s = schedule.split(s, root, width, TILE, ("across", "column"))
    s = schedule.split(s, root, last, lanes, ("vector", "lane"))
    order = (image, "block", *far, "vector", "down", "across", "row", "column", "lane")
    s = schedule.reorder(s, root, *order)
    s = schedule.vectorize(s, root, "lane")
    return schedule.unroll(s, root, "column")


def _parallel(s: Schedule, root: str, within: bool) -> Schedule:
    """Threads over blocks, or over the channels and rows of one."""
    names = [loop.name for loop in s[root].loops]
    block = names.index("block")
    if within:
        return _fused(s, root, names[block + 1 : names.index("across")], "part")
    return _fused(s, root, names[: block + 1], "block")


def _fused(s: Schedule, stage: str, loops: Sequence[str], name: str) -> Schedule:
    """Adjacent loops as one parallel loop."""
    outer, *rest = loops
    for inner in rest:
        s = schedule.fuse(s, stage, outer, inner, name)
        outer = name
    return schedule.parallel(s, stage, outer)


def _on_the_stack(s: Schedule, stage: str, consumer: str, loop: str) -> Schedule:
    """A transform of one tile and vector of channels, of axes (…, i, j, channel): for every j the
    elements i are computed together."""
    s = schedule.compute_at(s, stage, consumer, loop)
    *_, i, j, last = (one.name for one in s[stage].loops)
    s = schedule.reorder(s, stage, j, i)
    s = schedule.unroll(schedule.vectorize(s, stage, last), stage, i)
    return schedule.set_scope(s, stage, MemoryScope.STACK)


def _products(
    s: Schedule, root: str, names: Stages, target: LLVMTarget, plan: Plan, *, threads: bool
) -> Schedule:
    """A product of matrices for each of the elements of a transformed tile."""
    name = names.product
    total = f"{name}.acc"
    s = schedule.cache_write(s, name, total)
    op = s[total].computation
    assert op.reduction is not None
    value = op.reduction.values[0]
    assert isinstance(value, Binary)
    image, block, i, j, t, *columns = op.axes
    form = Form(
        (i, j), (image, block, t), tuple(columns), op.reduction_axes, value.left, value.right
    )
    group, far = grouped_columns(form, op.axes)
    tile = tile_for(size([t]), size(group), "float32", target, blocked=len(group) > 1)
    tile = plan.tile(tile, size([t]), size(group))
    outer = (i, j, *far, image, block)
    s = schedule.reindex(s, total, [*((axis,) for axis in outer), (t,), group])
    s, panel = pack_factor(s, total, 2 + len(far), len(outer), form, tile)
    s = schedule.compute_at(s, name, root, "block")
    *before, tiles = [loop.name for loop in s[name].loops[:5]]
    apart = [loop.name for loop in s[name].loops[5 : 5 + len(far)]]
    column, *rest = [loop.name for loop in s[name].loops[5 + len(far) :]]
    for other in rest:
        s = schedule.fuse(s, name, column, other, "columns")
        column = "columns"
    s = schedule.split(s, name, column, tile.columns, ("panel", "c"))
    s = schedule.split(s, name, tiles, tile.rows, ("tile", "r"))
    s = schedule.reorder(s, name, *before, *apart, "panel", "tile", "r", "c")
    s = schedule.unroll(vectors(s, name, "c", tile), name, "r")
    if threads:
        s = _fused(s, name, before, "part")
    s = schedule.compute_at(s, total, name, "tile", padded=True)
    s = micro_kernel(s, total, tile, None, DEPTH)
    return _panels(s, panel, names, tile)


def _panels(s: Schedule, panel: str, names: Stages, tile: Tile) -> Schedule:
    """The transformed weight, computed where it is packed: it is read and written once."""
    s = schedule.inline(s, names.weight)
    i, j, *outer, last = (loop.name for loop in s[panel].loops)
    s = schedule.split(s, panel, last, tile.lanes, ("vector", "lane"))
    s = schedule.reorder(s, panel, *outer, "vector", i, j, "lane")
    s = schedule.unroll(schedule.vectorize(s, panel, "lane"), panel, j)
    if facts.points(s[panel]) * facts.cost(s[panel]) >= PARALLEL_WORK:
        s = _fused(s, panel, outer[:-1], "part")
    s = schedule.compute_at(s, names.half, panel, "vector")
    i, *rest, last = (loop.name for loop in s[names.half].loops)
    s = schedule.reorder(s, names.half, *rest, i, last)
    s = schedule.unroll(schedule.vectorize(s, names.half, last), names.half, i)
    return schedule.set_scope(s, names.half, MemoryScope.STACK)


def _tiles(
    s: Schedule, root: str, names: Stages, across: int, lanes: int, *, threads: bool
) -> Schedule:
    """The transforms of the tiles of a block."""
    name = names.tiles
    s = schedule.compute_at(s, name, root, "block")
    image, block, i, j, tiles, *far, last = (loop.name for loop in s[name].loops)
    s = schedule.split(s, name, tiles, across, ("down", "across"))
    s = schedule.split(s, name, last, lanes, ("vector", "lane"))
    places = (image, block, "down", "across")
    s = schedule.reorder(s, name, *places, *far, "vector", i, j, "lane")
    s = schedule.unroll(schedule.vectorize(s, name, "lane"), name, j)
    if threads:
        s = _fused(s, name, places, "part")
    return _on_the_stack(s, names.lines, name, "vector")
