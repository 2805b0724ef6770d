"""Reductions and their readers, in one pass over data that stays in the cache.

    m[i] = max(x[i, k] for k); s[i] = sum(exp(x[i, k] - m[i]) for k); y[i, j] = exp(…) / s[i]
      ->   parallel for i:
             m = …;  s = …                  partial results in vector lanes
             for j: y[i, j] = …             in vectors

The axes that reductions depend on are rows, the others columns: rows outside, columns inside. Where
vectors run along the rows (sums over the first axis, pooling windows), an iteration is a tile of
them. Where windows have weights and overlap, as in depthwise convolutions, a tile is one vector
wide and several pixels long: each weight is read once for them, and most elements of the image.
With AVX-512 that is 1.2 to 2.7 times as fast, except where the image comes from memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.schedules.elementwise import elementwise, stream_large
from relay.target.llvm.target import LLVMTarget
from relay.te import access, schedule
from relay.te.expr import Const, Var, index, variables
from relay.te.loops import Kind, MemoryScope
from relay.te.schedule import Loop, Schedule, Stage, facts

_UNROLL = 72  # copies: a window of nine elements for eight vectors
_PARTS = 4  # vectors of partial results, to hide the latency of additions
_REGISTERS = 8  # vectors of a tile
_LINES = 14  # lines of an image, so that few are recomputed
_ENOUGH = 8  # iterations of a parallel loop that keep threads busy
_SHORT = 16  # elements of a window that is not vectorized


def rows(
    s: Schedule,
    root: str,
    inside: list[str],
    target: LLVMTarget,
    *,
    image: str = "",
    threads: bool = True,
) -> Schedule:
    """Schedule stage `root` with the stages `inside` computed in its loops, in order.

    `image` is a stage that they read in windows, computed a few lines at a time where that pays.
    """
    work = sum(facts.points(s[name]) * facts.cost(s[name]) for name in (root, *inside))
    lanes = min(facts.lanes(s[name], target.vector_bits) for name in (root, *inside))
    row, column = _rows_and_columns(s, root, inside)
    tiled = bool(row) and _vectors_along_rows(s, root, inside, row[-1])
    s = stream_large(s, root)
    if row and column:
        s = schedule.reorder(s, root, *row, *column)
    parts = _parts(s, root, inside, row[-1]) if tiled else _PARTS
    level, s = _outer_loops(s, root, inside, row, column, tiled, lanes, parts)
    in_lines = bool(image) and len(row) > 2 and any(loop.name == "pixel" for loop in s[root].loops)
    if image and not in_lines:
        s = elementwise(s, image, target, threads=threads)
    if level is None:
        return _reduce_first(s, root, inside, target, threads)
    around = level
    if in_lines:
        around, s = "lines", _in_lines(s, root, row[-3])
    if threads and work >= PARALLEL_WORK:
        outermost, s = _parallelize(s, root, around)
        level, around = level if in_lines else outermost, outermost
    for name in reversed(inside):
        s = schedule.compute_at(s, name, root, level)
    if in_lines:
        s = _vectors(schedule.compute_at(s, image, root, around), image, lanes)
    for name in inside:
        s = _inner_stage(s, name, target, lanes)
    return s


def _in_lines(s: Schedule, root: str, row: str) -> Schedule:
    """Split a loop over lines, so that the part of an image that one iteration needs stays in the
    cache."""
    count = facts.count(s[root].loop(row))
    few = -(-count // -(-count // _LINES))
    return schedule.split(s, root, row, few, ("lines", "line"))


def _reduce_first(
    s: Schedule, root: str, inside: list[str], target: LLVMTarget, threads: bool
) -> Schedule:
    """A reduction to a scalar has no rows: compute it first, then its readers."""
    for name in inside:
        s = _inner_stage(s, name, target, facts.lanes(s[name], target.vector_bits))
    return elementwise(s, root, target, threads=threads)


def _rows_and_columns(s: Schedule, root: str, inside: list[str]) -> tuple[list[str], list[str]]:
    """The loops of `root` that reductions inside it depend on, and the others."""
    follows = _indexing_variables(s, root, inside)
    used = {
        var
        for name in inside
        if s[name].is_reduction
        for followed in follows[name]
        for var in followed
    }
    row = [loop.name for loop in s[root].loops if loop.var in used]
    return row, [loop.name for loop in s[root].loops if loop.var not in used]


def _indexing_variables(s: Schedule, root: str, inside: list[str]) -> dict[str, list[set[Var]]]:
    """For each axis of the inner stages, the loop variables of `root` that index it, also through
    other stages."""
    follows = {root: [{loop.var} for loop in s[root].loops]}
    for name in reversed(inside):  # readers before what they read
        made = {id(tensor) for tensor in s[name].tensors}
        follows[name] = [set() for _ in s[name].computation.axes]
        for reader in [one for one in s.readers(name) if one.name in follows]:
            # reduction axes follow nothing
            loops = [loop for loop in reader.loops if not loop.reduces]
            vars_of = dict(zip((loop.var for loop in loops), follows[reader.name], strict=True))
            for read in facts.reads(reader):
                if id(read.source) in made:
                    for followed, place in zip(follows[name], read.indices, strict=True):
                        followed.update(*(vars_of.get(var, ()) for var in variables(place)))
    return follows


def _vectors_along_rows(s: Schedule, root: str, inside: list[str], row: str) -> bool:
    """Whether vectors run along a row loop of `root`, not along the reduction."""
    if s[root].loops[-1].name != row:
        return False
    along, across = 0, 0
    for name in inside:
        stage = s[name]
        if not stage.is_reduction:
            continue
        axes = stage.computation.axes
        if not axes:
            return False
        last = stage.loops[len(axes) - 1]
        reducing = [loop for loop in stage.loops if loop.reduces]
        # windows too short for a vector are vectorized across
        is_short = prod(facts.extents(loop.extent for loop in reducing)) < _SHORT
        simplify = facts.simplifier(stage)
        for read in facts.reads(stage):
            if access.stride(read, last.var, simplify) == 1:
                along += 1
            elif any(access.stride(read, loop.var, simplify) == 1 for loop in reducing):
                along, across = along + is_short, across + (not is_short)
    return along >= across and along > 0


def _outer_loops(
    s: Schedule,
    root: str,
    inside: list[str],
    row: list[str],
    column: list[str],
    tiled: bool,
    lanes: int,
    parts: int,
) -> tuple[str | None, Schedule]:
    """Vectorize; returns the loop around a row or a tile of rows."""
    if not row:
        return None, s
    if tiled:
        return "tile", _tiled(s, root, inside, row, column, lanes, parts)
    if not column:
        return row[-1], s
    s = facts.collapse(s, root, apart=column[0])
    level = s[root].loops[_position(s, root, column[0]) - 1].name
    last = s[root].loops[-1]
    width = _width(last, lanes)
    if width > 1:
        s = schedule.split(s, root, last.name, width, ("vector", "lane"))
        s = schedule.vectorize(s, root, "lane")
    return level, s


def _position(s: Schedule, root: str, first: str) -> int:
    """The position of the loop `first`, to which others may have been fused."""
    names = [loop.name for loop in s[root].loops]
    return next(i for i, name in enumerate(names) if f"{name}.".startswith(f"{first}."))


def _parts(s: Schedule, root: str, inside: list[str], last: str) -> int:
    """The maximal number of vectors of a tile: 1 for short windows, whose sums have no latency to
    hide, in a last loop of dynamic extent, which may be short."""
    if isinstance(s[root].loop(last).extent, Const):
        return _PARTS
    reduced = [s[name].computation.reduction_axes for name in inside if s[name].is_reduction]
    longest = max(prod(facts.extents(axis.extent for axis in axes)) for axes in reduced)
    return 1 if longest <= _SHORT else _PARTS


def _tiled(
    s: Schedule,
    root: str,
    inside: list[str],
    row: list[str],
    column: list[str],
    lanes: int,
    parts: int,
) -> Schedule:
    """Tile the last row loop by a few vectors: tiles outside the columns, vectors inside."""
    last = s[root].loop(row[-1])
    width = _width(last, lanes)
    if len(row) > 1 and (pixels := _pixels(s[root], row, width)) > 1:
        if last.count == width:
            # one vector per pixel, as in blocked layouts: several pixels per tile
            s = schedule.split(s, root, row[-2], pixels, ("tile", "pixel"))
            s = schedule.reorder(s, root, *row[:-2], "tile", *column, "pixel", last.name)
            return schedule.vectorize(schedule.unroll(s, root, "pixel"), root, last.name)
        if _share_weights(s, root, inside, row[-2], pixels):
            # what windows share, and their weights, are read once
            s = schedule.split(s, root, row[-2], pixels, ("pixels", "pixel"))
            s = schedule.split(s, root, last.name, width, ("tile", "lane"))
            s = schedule.reorder(s, root, *row[:-2], "pixels", "tile", *column, "pixel", "lane")
            return schedule.vectorize(schedule.unroll(s, root, "pixel"), root, "lane")
    vectors = max(1, min(parts, -(-facts.count(last) // width)))
    # whole words as names, which differ from those of axes
    s = schedule.split(s, root, row[-1], width * vectors, ("tile", "inner"))
    s = schedule.reorder(s, root, *row[:-1], "tile", *column, "inner")
    lane = "inner"
    if vectors > 1:
        s = schedule.unroll(
            schedule.split(s, root, "inner", width, ("vector", "lane")), root, "vector"
        )
        lane = "lane"
    return schedule.vectorize(s, root, lane) if width > 1 else s


def _share_weights(s: Schedule, root: str, inside: list[str], outer: str, pixels: int) -> bool:
    """Whether windows of so many iterations of a loop of `root` overlap, and have weights, which
    are the same for all of them."""
    follows = _indexing_variables(s, root, inside)
    var = s[root].loop(outer).var
    for name in inside:
        stage = s[name]
        simplify = facts.simplifier(stage)
        taps = [loop for loop in stage.loops if loop.reduces and isinstance(loop.extent, Const)]
        spatial = [loop for loop in stage.loops if not loop.reduces]
        for loop, followed in zip(spatial, follows[name], strict=True):
            if followed != {var}:
                continue
            reads = [(one, access.stride(one, loop.var, simplify)) for one in facts.reads(stage)]
            if all(step != 0 for _, step in reads):
                continue
            for one, step in reads:
                others = range(step, pixels * step, step) if step else range(0)
                for tap in taps:
                    apart = access.stride(one, tap.var, simplify) or 0
                    if any(number * apart in others for number in range(1, tap.count)):
                        return True
    return False


def _pixels(root: Stage, row: list[str], width: int) -> int:
    """The iterations of the last but one loop in a tile of one vector of the last loop."""
    outer, last = root.loop(row[-2]), root.loop(row[-1])
    if not isinstance(outer.extent, Const) or not isinstance(last.extent, Const):
        return 1
    if width == 1:
        return 1
    even = [pixels for pixels in range(_REGISTERS, 3, -1) if outer.count % pixels == 0]
    tiles = -(-outer.count // _REGISTERS)
    return even[0] if even else -(-outer.count // tiles)


def _width(loop: Loop, lanes: int) -> int:
    """The vector width for a loop, a power of two."""
    return min(lanes, 1 << max(0, facts.count(loop) - 1).bit_length())


def _inner_stage(s: Schedule, name: str, target: LLVMTarget, lanes: int) -> Schedule:
    stage = s[name]
    if not stage.is_reduction:
        return _vectors(s, name, lanes)
    size = prod(facts.extents(stage.region))
    if size > 1:
        return _tile(s, name, lanes, size)
    return _reduce_in_lanes(s, name, lanes)


def _vectors(s: Schedule, name: str, lanes: int) -> Schedule:
    """Vectorize a row that several stages read; a scalar is in a register."""
    stage = s[name]
    if prod(facts.extents(stage.region)) == 1:
        s = schedule.set_scope(s, name, MemoryScope.REGISTER)
    if not stage.loops:
        return s
    last = stage.loops[-1]
    width = _width(last, lanes)
    if width > 1:
        s = schedule.split(s, name, last.name, width, (f"{last.name}.v", f"{last.name}.l"))
        s = schedule.vectorize(s, name, f"{last.name}.l")
    return s


def _tile(s: Schedule, name: str, lanes: int, size: int) -> Schedule:
    """A tile of results in registers, the reduction outside it."""
    stage = s[name]
    spatial = [loop for loop in stage.loops if not loop.reduces]
    reducing = [loop.name for loop in stage.loops if loop.reduces]
    last = spatial[-1]
    count, width = facts.count(last), _width(last, lanes)
    names = [loop.name for loop in spatial[:-1]]
    if width > 1 and count > width:
        s = schedule.split(s, name, last.name, width, (f"{last.name}.v", f"{last.name}.l"))
        names += [f"{last.name}.v", f"{last.name}.l"]
        s = schedule.vectorize(s, name, f"{last.name}.l")
        # padded to whole vectors, so that the last one is in a register as well
        if isinstance(last.extent, Const):
            room = index(-(-count // width) * width)
            s = s.with_stage(replace(s[name], region=(*stage.region[:-1], room)))
    else:
        names.append(last.name)
        if width > 1:
            s = schedule.vectorize(s, name, last.name)
    s = schedule.reorder(s, name, *reducing, *names)
    if size <= _REGISTERS * lanes:
        for loop in names:
            if s[name].loop(loop).kind is Kind.SERIAL:
                s = schedule.unroll(s, name, loop)
        s = schedule.set_scope(s, name, MemoryScope.REGISTER)
    window = prod(facts.extents(s[name].loop(loop).extent for loop in reducing))
    if window * max(1, size // lanes) <= _UNROLL:
        for loop in reducing:
            s = schedule.unroll(s, name, loop)
    return s


def _reduce_in_lanes(s: Schedule, name: str, lanes: int) -> Schedule:
    """One result from partial results in vector lanes, combined by halves."""
    stage = s[name]
    s = schedule.set_scope(s, name, MemoryScope.REGISTER)
    reducing = [loop for loop in stage.loops if loop.reduces]
    simplify = facts.simplifier(stage)
    scores = [
        sum(access.stride(read, loop.var, simplify) == 1 for read in facts.reads(stage))
        for loop in reducing
    ]
    best = max(range(len(reducing)), key=lambda i: (scores[i], i))
    count = facts.count(reducing[best])
    if count < 4 or lanes == 1:
        return s
    width = lanes
    while width > 2 and width > count:
        width //= 2
    parts = 1
    while parts < _PARTS and count >= 4 * parts * width:
        parts *= 2
    s = _partial(s, name, best, width * parts, f"{name}.p", width)
    total = width * parts
    level = 0
    while total > 1:
        half = width if total > width else total // 2
        if half == 1:
            break
        s = _partial(s, name, 0, half, f"{name}.p{level}", half)
        total, level = half, level + 1
    for rest in s[name].loops:
        if rest.reduces:
            s = schedule.unroll(s, name, rest.name)
    return s


def _partial(s: Schedule, name: str, axis: int, total: int, part: str, width: int) -> Schedule:
    """`total` partial results in registers, vectors of `width` of them."""
    place, scope = s[name].at, s[name].scope
    s = _rfactor_in_place(s, name, axis, total, part)
    stage = s[part]
    lane = [loop for loop in stage.loops if not loop.reduces][-1].name
    names = [loop.name for loop in stage.loops if not loop.reduces and loop.name != lane]
    reducing = [loop.name for loop in stage.loops if loop.reduces]
    if total > width:
        s = schedule.split(s, part, lane, width, ("lv", "ll"))
        s = schedule.unroll(s, part, "lv")
        s = schedule.vectorize(s, part, "ll")
        names += ["lv", "ll"]
    else:
        s = schedule.vectorize(s, part, lane)
        names.append(lane)
    s = schedule.reorder(s, part, *reducing, *names)
    s = schedule.set_scope(s, part, MemoryScope.REGISTER)
    steps = prod(facts.extents(s[part].loop(loop).extent for loop in reducing))
    if steps <= 4:
        for loop in reducing:
            s = schedule.unroll(s, part, loop)
    assert s[name].at == place and s[name].scope is scope
    return s


def _rfactor_in_place(s: Schedule, name: str, axis: int, lanes: int, part: str) -> Schedule:
    """`rfactor` of a stage that already has its place: both parts are computed there."""
    before = s[name]
    s = schedule.rfactor(s, name, axis, lanes, part)
    s = s.with_stage(replace(s[name], scope=before.scope))
    if before.at is None:
        return s
    s = schedule.compute_at(s, name, *before.at)
    return schedule.compute_at(s, part, *before.at)


def _parallelize(s: Schedule, root: str, level: str) -> tuple[str, Schedule]:
    """Fuse and parallelize the loops up to `level`; returns the new name of `level`.

    If the outer loops have enough iterations, a loop of dynamic extent is not fused with them: the
    divisions for its index take longer than a small window.
    """
    turns = _static_count(s[root].loops[0])
    while s[root].loops[0].name != level:
        first, second = s[root].loops[:2]
        if not isinstance(second.extent, Const) and turns >= _ENOUGH:
            return level, schedule.parallel(s, root, first.name)
        turns *= _static_count(second)
        name = f"{first.name}.{second.name}"
        s = schedule.fuse(s, root, first.name, second.name, name)
        level = name if second.name == level else level
    return level, schedule.parallel(s, root, level)


def _static_count(loop: Loop) -> int:
    return loop.count if isinstance(loop.extent, Const) else 1
