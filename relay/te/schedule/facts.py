"""What schedules ask of a stage: how large it is, how it reads memory, what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from relay import dtypes, tree
from relay.te import access
from relay.te.expr import INDEX, Binary, Call, Const, Expr, Read, Var, substitute, variables
from relay.te.schedule import Loop, Schedule, Stage, fuse
from relay.te.simplify import Simplifier

_EXPENSIVE = 12  # steps of a function of mathematics, in vector operations


def extents(sizes: Iterable[Expr]) -> list[int]:
    """Sizes as numbers; those known at run time only are taken for large."""
    return [int(size.value) if isinstance(size, Const) else 1024 for size in sizes]


def count(loop: Loop) -> int:
    """How often a loop turns, by the same rule."""
    return extents([loop.extent])[0]


def points(stage: Stage) -> int:
    """How many times the body of a stage is computed."""
    op = stage.computation
    sizes = [axis.extent for axis in (*op.axes, *op.reduction_axes)]
    return prod(extents(sizes))


def touched(stage: Stage) -> int:
    """How many elements a stage reads and writes, at least."""
    return sum(prod(extents(tensor.shape)) for tensor in (*stage.inputs, *stage.tensors))


def result_bytes(stage: Stage) -> int:
    """How much a stage writes at least: a size that only a run knows may be 1."""
    return sum(
        prod(int(size.value) for size in one.shape if isinstance(size, Const)) * _bytes(one.dtype)
        for one in stage.tensors
    )


def elements(stage: Stage) -> int:
    return prod(extents(axis.extent for axis in stage.computation.axes))


def bodies(stage: Stage) -> tuple[Expr, ...]:
    """What is computed for one point, over axes."""
    op = stage.computation
    return op.reduction.values if op.reduction is not None else op.bodies


def cost(stage: Stage) -> int:
    """Elementary steps for one point."""
    seen: set[int] = set()
    total = 0
    for body in bodies(stage):
        for part in tree.postorder(body):
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, Call):
                total += _EXPENSIVE
            elif isinstance(part, Binary | Read) and part.dtype != INDEX:
                total += 1
    return max(total, 1)


def is_expensive(stage: Stage) -> bool:
    """Whether computing an element again costs more than keeping it."""
    for body in bodies(stage):
        for part in tree.postorder(body):
            if isinstance(part, Call):
                return True
            if (
                isinstance(part, Binary)
                and part.op in ("div", "floordiv", "mod")
                and part.dtype != INDEX
                and not isinstance(part.right, Const)
            ):
                return True
    return cost(stage) > 16


def lanes(stage: Stage, vector_bits: int) -> int:
    """How many elements a vector holds, by the widest type that is computed with."""
    widest = 1
    for body in bodies(stage):
        for part in tree.postorder(body):
            if part.dtype != INDEX and part.dtype != "bool":
                widest = max(widest, _bytes(part.dtype))
    if all(tensor.dtype == INDEX for tensor in stage.tensors):
        widest = 8
    return vector_bits // 8 // widest


def _bytes(dtype: str) -> int:
    # narrow floats are computed as float32
    return 4 if dtypes.is_float(dtype) and dtype != "float64" else dtypes.to_numpy(dtype).itemsize


def simplifier(stage: Stage) -> Simplifier:
    """Knows the loops of a stage."""
    found = Simplifier()
    for loop in stage.loops:
        found.bind(loop.var, loop.extent)
    return found


def reads(stage: Stage) -> list[Read]:
    """The reads of a stage, over the variables of its loops."""
    found: list[Read] = []
    for body in bodies(stage):
        for part in tree.postorder(substitute(body, stage.values)):
            if isinstance(part, Read):
                found.append(part)
    return found


def bare_variables(stage: Stage) -> set[Var]:
    """The loop variables that are computed with, and not only read at."""
    found: set[Var] = set()
    for body in bodies(stage):
        whole = substitute(body, stage.values)
        for part in tree.postorder(whole, enter=lambda e: not isinstance(e, Read)):
            if isinstance(part, Var):
                found.add(part)
            elif isinstance(part, Read):
                for place in part.indices:
                    if any(isinstance(below, Read) for below in tree.postorder(place)):
                        found |= variables(place)
    return found


def collapse(s: Schedule, stage: str, apart: str = "") -> Schedule:
    """Loops that walk memory as one, as one loop; those that reduce stay, and loop `apart` is not
    joined to what is outside it.

    for c: for h: for w: y[c, h, w] = x[c, h, w] + b[c]   ->   for c: for hw: …
    """
    position = len(s[stage].loops) - 1
    while position > 0:
        found = s[stage]
        outer, inner = found.loops[position - 1], found.loops[position]
        position -= 1
        if outer.reduces or inner.reduces or (apart and f"{inner.name}.".startswith(f"{apart}.")):
            continue
        bare = bare_variables(found)
        if outer.var in bare or inner.var in bare:
            continue
        if not isinstance(inner.extent, Const) or not isinstance(outer.extent, Const):
            s = _collapsed_later(s, stage, outer, inner)
            continue
        simplify = simplifier(found)
        even = True
        for read in reads(found):
            small = access.stride(read, inner.var, simplify)
            large = access.stride(read, outer.var, simplify)
            even &= small is not None and large is not None and large == small * inner.count
        if even:
            s = fuse(s, stage, outer.name, inner.name)
    return s


def _collapsed_later(s: Schedule, stage: str, outer: Loop, inner: Loop) -> Schedule:
    """Two loops as one, where one of them ends where only a run knows, if then every read walks
    memory evenly."""
    joined = fuse(s, stage, outer.name, inner.name)
    found = joined[stage]
    position = next(i for i, loop in enumerate(s[stage].loops) if loop is outer)
    var, simplify = found.loops[position].var, simplifier(found)
    even = all(access.stride(read, var, simplify) is not None for read in reads(found))
    return joined if even else s


def arithmetic(stage: Stage) -> int:
    """Operations on numbers for one point: what people count as flops."""
    count = 0 if stage.computation.reduction is None else len(bodies(stage))
    for body in bodies(stage):
        for part in tree.postorder(body):
            if isinstance(part, Binary | Call) and part.dtype not in (INDEX, "bool"):
                count += 1
    return count
