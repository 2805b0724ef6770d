"""Windows over single channels of bytes (depthwise convolutions), by dot products of lines.

    c[h, w, i] = sum(int32(x[h + y, w + z, i]) * int32(k[y, z, i]) for y < 3 for z < 3)
      ->   taps[z, i, t] = k[t, z, i], or 0 for t = 3                    once, if k never changes
           c[h, w, i] = sum(x[h + min(t, 2), w + z, i] * taps[z, i, t] for z < 3 for t < 4)

Channels are last, so that a vector has 16 of them; a word of the image is gathered from four lines,
and shared by the pixels of a tile, whose windows overlap:

    parallel for channels, for some lines:
      pad these lines
      for a vector of channels: for line: for a few pixels:
        c[6] in registers: three dot products each
"""

from __future__ import annotations

from math import prod

from relay.immutable import frozen
from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.schedules.elementwise import elementwise
from relay.target.llvm.target import LLVMTarget
from relay.te import access, schedule
from relay.te import expr as te
from relay.te.compute import Tensor, from_bodies
from relay.te.instruction import Instruction
from relay.te.loops import MemoryScope
from relay.te.reduction import SUM
from relay.te.schedule import Schedule, facts
from relay.te.schedule.loops import tiles

_PIXELS = 8  # of a tile, at most
_CHANNELS = 160  # that stay together
_PART = 64  # of more channels, together
_LINES = 14  # of a part, so that few are padded twice


@frozen
class Windows:
    """A sum over windows of one channel each, that of the innermost axis."""

    image: te.Read
    weight: te.Expr
    channel: te.Axis
    tap: te.Axis  # whose elements make words
    others: tuple[te.Axis, ...]

    @property
    def reduced(self) -> tuple[te.Axis, ...]:
        return (*self.others, self.tap)


def windows(s: Schedule, name: str, image: te.Expr, weight: te.Expr) -> Windows | None:
    """What a sum of products of short integers adds up, if that are such windows."""
    op = s[name].computation
    if not isinstance(image, te.Read) or not op.axes or not op.reduction_axes:
        return None
    channel, simplify = op.axes[-1], facts.simplifier(s[name])
    in_weight = te.variables(weight)
    if in_weight & {*op.axes} != {channel} or not {*op.axes} <= te.variables(image):
        return None
    if not all(isinstance(axis.extent, te.Const) for axis in op.reduction_axes):
        return None
    if access.stride(image, channel, simplify) != 1:
        return None
    taps = [axis for axis in op.reduction_axes if axis in te.variables(image) & in_weight]
    if len(taps) < len(op.reduction_axes) or prod(facts.extents(a.extent for a in taps)) < 3:
        return None
    tap = min(taps, key=_waste)
    return Windows(image, weight, channel, tap, tuple(axis for axis in taps if axis is not tap))


def _waste(tap: te.Axis) -> float:
    """Products with nothing, for each tap."""
    count = facts.extents([tap.extent])[0]
    return -(-count // 4) * 4 / count


def in_words(
    s: Schedule,
    name: str,
    found: Windows,
    image: te.Expr,
    weight: te.Expr,
    instruction: Instruction,
) -> Schedule:
    """The same sum in words of several taps, for an instruction; `image` and `weight` are the
    factors as it multiplies them."""
    tap, steps = found.tap, instruction.steps
    (count,) = facts.extents([tap.extent])
    word = te.Axis(te.INDEX, tap.name, tiles(tap.extent, steps))
    step = te.Axis(te.INDEX, "t", te.const(steps, te.INDEX))
    place = word * steps + step if count > steps else step
    words = (word,) if count > steps else ()
    inside = te.minimum(place, count - 1) if count % steps else place
    panel = _panel(name, found, weight, words, step, place)
    product = te.cast(te.substitute(image, {tap: inside}), "int32") * te.cast(
        panel[(*found.others, *words, found.channel, step)], "int32"
    )
    total = te.Reduce("int32", SUM, (*found.others, *words, step), (product,))
    s = schedule.recompute(schedule.put_before(s, name, panel), name, total)
    return schedule.tensorize(s, name, s[name].loops[-1].name, instruction)


def _panel(
    name: str,
    found: Windows,
    weight: te.Expr,
    words: tuple[te.Axis, ...],
    step: te.Axis,
    place: te.Expr,
) -> Tensor:
    """The weights in words, the last of which ends with zeros."""
    element = te.select(
        place < found.tap.extent,
        te.substitute(weight, {found.tap: place}),
        te.const(0, weight.dtype),
    )
    order = (*found.others, *words, found.channel, step)
    fresh = tuple(te.Axis(te.INDEX, axis.name, axis.extent) for axis in order)
    element = te.substitute(element, dict(zip(order, fresh, strict=True)))
    (panel,) = from_bodies(fresh, (element,), f"{name}.taps")
    return panel


def is_depthwise(s: Schedule, name: str) -> bool:
    """Whether a stage is such a sum, in words."""
    stage = s[name]
    op = stage.computation
    if op.reduction is None or not op.axes or stage.loops[-1].instruction is None:
        return False
    return all(op.axes[-1] in te.variables(one) for one in te.reads(op.reduction.values[0]))


def depthwise(
    s: Schedule,
    root: str,
    name: str,
    loops: list[str],
    image: str,
    target: LLVMTarget,
    *,
    threads: bool = True,
) -> Schedule:
    """Schedule `root`, which reads the sum `name` at its own `loops`, and the stage `image` that
    the sum reads, if there is one."""
    work = facts.points(s[name])
    instruction = s[name].loops[-1].instruction
    lanes = target.vector_bits // 32
    *heads, column, channel = loops
    s = schedule.reorder(s, root, *loops)
    channels, pixels = (facts.count(s[root].loop(one)) for one in (channel, column))
    part = channels if channels <= _CHANNELS else _PART
    s = schedule.split(s, root, channel, part, ("part", "c"))
    s = schedule.split(s, root, "c", lanes, ("cv", "cl"))
    s = schedule.split(s, root, column, _even(pixels, _PIXELS), ("tile", "pixel"))
    outer, inner = ["part"], ["cv"]
    if heads:
        *batch, line = heads
        few = _even(facts.count(s[root].loop(line)), _LINES)
        s = schedule.split(s, root, line, few, ("lines", "line"))
        outer, inner = [*batch, "part", "lines"], ["line", "cv"]
    s = schedule.reorder(s, root, *outer, *inner, "tile", "pixel", "cl")
    s = schedule.unroll(schedule.vectorize(s, root, "cl"), root, "pixel")
    level = outer[0]
    for other in outer[1:]:
        fused = f"{level}.{other}"
        s = schedule.fuse(s, root, level, other, fused)
        level = fused
    if threads and work >= PARALLEL_WORK:
        s = schedule.parallel(s, root, level)
    s = schedule.compute_at(s, name, root, "tile", padded=True)
    s = _in_registers(s, name, instruction)
    if not image:
        return s
    if not heads:
        return elementwise(s, image, target, threads=threads)
    return _copied(schedule.compute_at(s, image, root, level), image, target)


def _even(count: int, most: int) -> int:
    """Parts of at most so many, all but the last of one size, which divides the count if one of
    more than the half does."""
    for size in range(most, most // 2, -1):
        if count % size == 0:
            return size
    return -(-count // -(-count // most))


def _in_registers(s: Schedule, name: str, instruction: Instruction | None) -> Schedule:
    """The tile of sums, with the words of every pixel unrolled."""
    assert instruction is not None
    spatial = [loop.name for loop in s[name].loops if not loop.reduces]
    *taps, step = [loop.name for loop in s[name].loops if loop.reduces]
    s = schedule.reorder(s, name, *taps, *spatial, step)
    for loop in (*taps, *spatial[:-1]):
        s = schedule.unroll(s, name, loop)
    s = schedule.vectorize(s, name, spatial[-1])
    s = schedule.tensorize(s, name, step, instruction)
    return schedule.set_scope(s, name, MemoryScope.REGISTER)


def _copied(s: Schedule, image: str, target: LLVMTarget) -> Schedule:
    """The stage of padded lines, in vectors of channels."""
    last = s[image].loops[-1]
    lanes = min(
        facts.lanes(s[image], target.vector_bits), 1 << (facts.count(last) - 1).bit_length()
    )
    if lanes > 1:
        s = schedule.split(s, image, last.name, lanes, (f"{last.name}.v", f"{last.name}.l"))
        s = schedule.vectorize(s, image, f"{last.name}.l")
    return s
