"""Elementwise computations: vectors along the innermost axis, threads over the others.

    for i in 64: for j in 100: y[i, j] = …
      ->   parallel for p in 400: vector for l in 16: …

Axes that are contiguous in memory are fused. An innermost axis too short for a vector is fused with
the next one; indices are then computed per lane.

Bytes that are contiguous along another axis, as in a transposed image, are read in words of four: a
vector is four elements of that axis by some of the innermost, and is stored in four runs. Where the
innermost axis is not a multiple of the vector width, words are gathered.

    for p in 3136: for c in 64: y[p, c] = x[c, p]
      ->   for po in 784: for co in 4: vector for l in 64: y[po*4 + l//16, co*16 + l%16] = …
"""

from __future__ import annotations

from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.target import LLVMTarget
from relay.te import access, schedule
from relay.te.expr import Const, width
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule, facts
from relay.te.schedule.loops import is_multiple

_STREAMED = 32 << 20  # bytes that do not stay in a cache
_TURNS = 128  # of a parallel loop, for load balance
_WORD = 4  # bytes
_CHUNK = 64  # vectors per iteration at most


def elementwise(s: Schedule, stage: str, target: LLVMTarget, *, threads: bool = True) -> Schedule:
    """Schedule a stage without reductions."""
    found = s[stage]
    if not found.loops:
        return s
    s = stream_large(s, stage)
    work = facts.points(found) * facts.cost(found)
    lanes = facts.lanes(found, target.vector_bits)
    s = facts.collapse(s, stage)
    if (across := _contiguous_loop(s, stage, lanes)) is not None:
        s, inner = _vectors_of_words(s, stage, across, target)
        return _parallelize(s, stage, inner) if threads and work >= PARALLEL_WORK else s
    while len(s[stage].loops) > 1:
        last = s[stage].loops[-1]
        if not isinstance(last.extent, Const) or last.count >= lanes // 2:
            break
        s = schedule.fuse(s, stage, s[stage].loops[-2].name, last.name)
    last = s[stage].loops[-1]
    width = lanes
    if isinstance(last.extent, Const):
        while width > 1 and width // 2 >= last.count:
            width //= 2
    if width > 1:
        inner, lane = f"{last.name}.v", f"{last.name}.l"
        s = schedule.split(s, stage, last.name, width, (inner, lane))
        s = schedule.vectorize(s, stage, lane)
    else:
        inner = last.name
    if threads and work >= PARALLEL_WORK:
        s = _parallelize(s, stage, inner)
    return s


def _contiguous_loop(s: Schedule, stage: str, lanes: int) -> str | None:
    """The loop along which bytes are contiguous that the innermost loop reads with a stride."""
    found = s[stage]
    if any(width(tensor.dtype) != 8 for tensor in found.tensors):
        return None
    if isinstance(found.loops[-1].extent, Const):
        count = found.loops[-1].count
        if 0 < count < lanes // 2 and lanes % count == 0:
            return None  # a vector has several iterations of that loop, which are interleaved
    simplify, last = facts.simplifier(found), found.loops[-1].var
    for read in facts.reads(found):
        if width(read.dtype) != 8 or access.stride(read, last, simplify) in (None, 0, 1, 2):
            continue
        for loop in found.loops[:-1]:
            if access.stride(read, loop.var, simplify) == 1 and is_multiple(loop.extent, _WORD):
                return loop.name
    return None


def _vectors_of_words(
    s: Schedule, stage: str, across: str, target: LLVMTarget
) -> tuple[Schedule, str]:
    """Vectors of words, and the name of the loop around them."""
    last = s[stage].loops[-1]
    lanes = target.vector_bits // 8 // _WORD
    inner, lane, part = f"{last.name}.v", f"{last.name}.l", f"{across}.w"
    whole = is_multiple(last.extent, lanes)
    if isinstance(last.extent, Const):
        while lanes > 1 and lanes // 2 >= last.count:
            lanes //= 2
    s = schedule.split(s, stage, last.name, lanes, (inner, lane))
    s = schedule.split(s, stage, across, _WORD, (across, part))
    order = [loop.name for loop in s[stage].loops if loop.name not in (part, lane)]
    s = schedule.reorder(s, stage, *order, part, lane)
    if whole:
        return schedule.vectorize(schedule.fuse(s, stage, part, lane, lane), stage, lane), inner
    return schedule.unroll(schedule.vectorize(s, stage, lane), stage, part), inner


def stream_large(s: Schedule, stage: str) -> Schedule:
    """Use streaming stores for large results, which no reader finds in a cache."""
    found = s[stage]
    if found.scope is MemoryScope.GLOBAL and facts.result_bytes(found) >= _STREAMED:
        return schedule.stream(s, stage)
    return s


def _parallelize(s: Schedule, stage: str, inner: str) -> Schedule:
    """Threads over the outermost loops and, if these are short, over chunks of vectors."""
    loops = s[stage].loops
    outer = loops[: s[stage].position(inner)]
    turns = 1
    for position, loop in enumerate(outer):
        turns *= facts.count(loop)
        if turns >= _TURNS:
            return _parallel_over(s, stage, position + 1)
    count = facts.count(s[stage].loop(inner))
    chunk = _chunk_size(count, min(_CHUNK, count * turns // _TURNS))
    if chunk > 1:
        s = schedule.split(s, stage, inner, chunk, (f"{inner}.c", f"{inner}.w"))
    return _parallel_over(s, stage, len(outer) + 1)


def _chunk_size(count: int, most: int) -> int:
    """A chunk size of at most `most`, without a remainder where that costs little."""
    for chunk in range(most, most // 2, -1):
        if count % chunk == 0:
            return chunk
    return max(1, most)


def _parallel_over(s: Schedule, stage: str, loops: int) -> Schedule:
    """Fuse the outermost loops, and parallelize them."""
    name = s[stage].loops[0].name
    for _ in range(loops - 1):
        first, second = s[stage].loops[:2]
        name = f"{first.name}.{second.name}"
        s = schedule.fuse(s, stage, first.name, second.name, name)
    return schedule.parallel(s, stage, name)
