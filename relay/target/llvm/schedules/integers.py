"""Sums of products of short integers, for dot-product instructions.

    c[i, j] = sum(int32(a[i, k]) * int32(b[k, j]) for k)          a and b of int8, y reads c[i, j]
      ->   words[i, k, t] = uint8(a[i, k*4 + t] + 128), or 0 beyond the end
           sums[j] = sum(int32(b[k, j]) * 128 for k)              once, where b never changes
           c[i, j] = sum(int32(words[i, k, t]) * int32(b[k*4 + t, j] or 0) for k for t < 4)
           y reads c[i, j] - sums[j]

The instruction depends on the target (`instructions`) and on the factors:

    dot4   of unsigned with signed bytes. If both are signed or unsigned, the highest bit of one is
           flipped, which adds or subtracts 128; readers of the sum correct for it by a sum of the
           other factor, which is hoisted if that is constant.
    dot4s  of signed bytes, dot4u of unsigned ones; for both kinds the highest bit of the unsigned
           factor is flipped.
    dot2   of int16, to which bytes are widened.

The left factor is broadcast, word by word: a word has as many numbers as the instruction multiplies
at once. They must be contiguous in memory, or else in a copy, which also converts them and pads the
last word with zeros. The right factor is converted when it is packed (`contraction`).

Sums over windows of single channels have words too (`depthwise`).

Results are exact: sums wrap at 32 bits, so that any order of additions gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

from relay.immutable import frozen
from relay.target.llvm.schedules.contraction import Form, is_constant, recognize
from relay.target.llvm.schedules.depthwise import in_words, windows
from relay.target.llvm.target import LLVMTarget
from relay.te import expr as te
from relay.te.compute import Procedure, Tensor, axis_name, from_bodies
from relay.te.instruction import DOT2, DOT4, DOT4_SIGNED, DOT4_UNSIGNED, Instruction
from relay.te.reduction import SUM
from relay.te.schedule import Schedule, facts, inline, put_before, read_as, recompute, tensorize
from relay.te.schedule.loops import is_multiple, tiles
from relay.te.simplify import Linear, Simplifier

_BYTES = ("int8", "uint8")
_SHORT = (*_BYTES, "int16")

Conversion = Callable[[te.Expr], te.Expr]


def instructions(target: LLVMTarget) -> tuple[Instruction, ...]:
    """The dot-product instructions of a target, those of most steps first."""
    if target.arch == "aarch64" and "dotprod" in target.enabled:
        return (DOT4_SIGNED, DOT4_UNSIGNED)
    if target.arch != "x86_64":
        return ()
    return (DOT4, DOT2) if target.has_vnni else (DOT2,)


def use_dot_products(s: Schedule, target: LLVMTarget, constants: set[int]) -> Schedule:
    """Rewrite sums of products of short integers for dot-product instructions."""
    for name in [stage.name for stage in s.stages if stage.is_reduction]:
        if (found := _instruction(s, name, target)) is None:
            continue
        form = recognize(s, name, constants)
        if form is not None:
            s = _rewrite(s, name, form, found, constants)
        elif found is DOT4:
            s = _depthwise(s, name, constants)
    return s


def _instruction(s: Schedule, name: str, target: LLVMTarget) -> Instruction | None:
    """The instruction for a stage, by the types of its factors."""
    reduction = s[name].computation.reduction
    assert reduction is not None
    pair = getattr(reduction.values[0], "left", None), getattr(reduction.values[0], "right", None)
    factors = [_short_operand(factor) for factor in pair]
    if reduction.combiner is not SUM or any(factor is None for factor in factors):
        return None
    kinds = [factor.dtype for factor in factors if factor is not None]
    for instruction in instructions(target):
        if instruction is DOT4_UNSIGNED and any(kind != "uint8" for kind in kinds):
            continue
        if instruction is DOT4_SIGNED and all(kind == "uint8" for kind in kinds):
            continue
        if instruction is DOT2 or all(kind in _BYTES for kind in kinds):
            return instruction
    return None


def _short_operand(factor: te.Expr | None) -> te.Expr | None:
    """A short integer that is widened to 32 bits; None for any other factor."""
    if isinstance(factor, te.Cast) and factor.dtype == "int32" and factor.operand.dtype in _SHORT:
        return factor.operand
    return None


def _rewrite(
    s: Schedule, name: str, form: Form, instruction: Instruction, constants: set[int]
) -> Schedule:
    left, right = _short_operand(form.left), _short_operand(form.right)
    assert left is not None and right is not None
    steps = instruction.steps
    word = _word(form, left, steps)
    if word is None or any(isinstance(one.op, Procedure) for one in s.readers(name)):
        return s
    turns_left = is_constant(right, constants)
    if instruction is DOT2:
        to_left = to_right = _widened
    elif instruction is DOT4_SIGNED and left.dtype != right.dtype:
        turns_left = left.dtype == "uint8"  # the other one is signed
        to_left, to_right = (_flip_high_bit, _unchanged)[:: 1 if turns_left else -1]
        other = right if turns_left else left
        s = _correct_sums(s, name, form.reduced, other, flipped="uint8")
    elif instruction is not DOT4 or left.dtype != right.dtype:
        to_left = to_right = _unchanged
    else:
        to_left, to_right = (
            (_flip_high_bit, _unchanged) if turns_left else (_unchanged, _flip_high_bit)
        )
        other = right if turns_left else left
        s = _correct_sums(s, name, form.reduced, other)

    count = te.Axis(te.INDEX, word.axis.name, tiles(word.axis.extent, steps))
    step = te.Axis(te.INDEX, "t", te.const(steps, te.INDEX))
    place = count * steps + step
    whole = is_multiple(word.axis.extent, steps)
    second = to_right(te.substitute(right, {word.axis: place}))
    if not whole:
        second = te.select(place < word.axis.extent, second, te.const(0, second.dtype))
    if whole and word.is_together and to_left(left) is left:
        first = te.substitute(left, {word.axis: place})
    else:
        copy = _words(word, steps, to_left, f"{name}.words")
        first = copy[word.in_copy(count, step)]
        s = put_before(s, name, copy)
    others = [axis for axis in form.reduced if axis is not word.axis]
    product = te.cast(first, "int32") * te.cast(second, "int32")
    s = recompute(s, name, te.Reduce("int32", SUM, (*others, count, step), (product,)))
    s = _inline_copied(s, word.read.source)
    return tensorize(s, name, s[name].loops[-1].name, instruction)


def _depthwise(s: Schedule, name: str, constants: set[int]) -> Schedule:
    """Rewrite a sum over windows of single channels."""
    reduction = s[name].computation.reduction
    assert reduction is not None
    value = reduction.values[0]
    assert isinstance(value, te.Binary)
    for factors in ((value.left, value.right), (value.right, value.left)):
        image, weight = map(_short_operand, factors)
        if image is None or weight is None or (found := windows(s, name, image, weight)) is None:
            continue
        if image.dtype == weight.dtype:
            turned = is_constant(weight, constants)
            s = _correct_sums(s, name, found.reduced, weight if turned else image)
            if turned:
                image = _flip_high_bit(image)
            else:
                weight = _flip_high_bit(weight)
        return in_words(s, name, found, image, weight, DOT4)
    return s


# --- the factor that is broadcast


@frozen
class _Word:
    """The words of the left factor: along a reduction axis that indexes one axis of a tensor."""

    read: te.Read
    axis: te.Axis
    position: int  # of the tensor's axis
    start: te.Expr  # of the sum, in words

    @property
    def is_together(self) -> bool:
        return self.position == self.read.source.rank - 1

    def in_copy(self, count: te.Expr, step: te.Expr) -> tuple[te.Expr, ...]:
        """The index of a number in a copy whose last axis is a word."""
        where = list(self.read.indices)
        where[self.position] = self.start + count
        return (*where, step)


def _word(form: Form, left: te.Expr, steps: int) -> _Word | None:
    """The words of a factor: along the contiguous axis, or the longest."""
    if not isinstance(left, te.Read):
        return None
    found = []
    for axis in form.reduced:
        positions = [i for i, place in enumerate(left.indices) if axis in te.variables(place)]
        if len(positions) != 1:
            continue
        start = _start(left.indices[positions[0]], axis, steps)
        if start is not None:
            found.append(_Word(left, axis, positions[0], start))
    return max(
        found, key=lambda word: (word.is_together, facts.extents([word.axis.extent])), default=None
    )


def _start(place: te.Expr, axis: te.Axis, steps: int) -> te.Expr | None:
    """The first word, if an index is a multiple of the word size plus the axis."""
    simplify = Simplifier()
    total = simplify.linear(place)
    rest = {atom: by for atom, by in total.terms.items() if atom is not axis}
    if total.terms.get(axis) != 1 or any(axis in te.variables(atom) for atom in rest):
        return None
    if (rest or total.constant) and not is_multiple(axis.extent, steps):
        return None
    if total.constant % steps or any(by % steps for by in rest.values()):
        return None
    words = {atom: by // steps for atom, by in rest.items()}
    return simplify.build(Linear(words, total.constant // steps))


def _words(word: _Word, steps: int, convert: Conversion, name: str) -> Tensor:
    """A copy of the tensor in which the numbers of a word are contiguous."""
    source, position = word.read.source, word.position
    extent = source.shape[position]
    shape = list(source.shape)
    shape[position] = tiles(extent, steps)
    sizes = (*shape, te.const(steps, te.INDEX))
    axes = tuple(te.Axis(te.INDEX, axis_name(i), size) for i, size in enumerate(sizes))
    where: list[te.Expr] = list(axes[:-1])
    where[position] = axes[position] * steps + axes[-1]
    element = convert(te.Read(source.dtype, source, tuple(where)))
    if not is_multiple(extent, steps):
        element = te.select(where[position] < extent, element, te.const(0, element.dtype))
    (copy,) = from_bodies(axes, (element,), name)
    return copy


def _inline_copied(s: Schedule, source: object) -> Schedule:
    """Inline a stage that only the copy reads, such as a padded image."""
    for stage in s.stages:
        if any(tensor is source for tensor in stage.tensors):
            alone = len(s.readers(stage.name)) == 1 and not s.is_output(stage)
            is_copied = all(not one.is_reduction for one in s.readers(stage.name))
            plain = not stage.is_reduction and not isinstance(stage.op, Procedure)
            return inline(s, stage.name) if alone and is_copied and plain else s
    return s


# --- conversions


def _unchanged(value: te.Expr) -> te.Expr:
    return value


def _widened(value: te.Expr) -> te.Expr:
    return value if value.dtype == "int16" else te.cast(value, "int16")


def _flip_high_bit(value: te.Expr) -> te.Expr:
    """A byte of the other signedness: int8 + 128 as uint8, uint8 - 128 as int8."""
    if value.dtype == "int8":
        return te.bitcast(value, "uint8") ^ 128
    return te.bitcast(value ^ 128, "int8")


def _correct_sums(
    s: Schedule, name: str, reduced: tuple[te.Axis, ...], other: te.Expr, *, flipped: str = ""
) -> Schedule:
    """Correct the sums, for their readers, for the flipped bit of one factor."""
    op = s[name].computation
    over = [axis for axis in op.axes if axis in te.variables(other)]
    fresh: dict[te.Var, te.Expr] = {
        axis: te.Axis(te.INDEX, axis.name, axis.extent) for axis in (*over, *reduced)
    }
    own = tuple(one for axis in over if isinstance(one := fresh[axis], te.Axis))
    summed = tuple(one for axis in reduced if isinstance(one := fresh[axis], te.Axis))
    value = te.cast(te.substitute(other, fresh), "int32") * 128
    (sums,) = from_bodies(own, (te.Reduce("int32", SUM, summed, (value,)),), f"{name}.sums")
    places = [op.axes.index(axis) for axis in over]

    def corrected(read: te.Read) -> te.Expr:
        known = sums[tuple(read.indices[place] for place in places)]
        return read - known if (flipped or other.dtype) == "int8" else read + known

    return put_before(read_as(s, name, corrected), name, sums)
