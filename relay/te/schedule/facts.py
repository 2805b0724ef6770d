"""Properties of a stage that schedules depend on: size, memory access, cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from math import prod

from relay import dtypes, tree
from relay.te import access, expr
from relay.te.expr import INDEX, Binary, Call, Const, Expr, Read, Var, substitute, variables
from relay.te.schedule import Loop, Schedule, Stage, fuse
from relay.te.simplify import Simplifier

_EXPENSIVE = 12  # the cost of an elementary function, in vector operations


def extents(sizes: Iterable[Expr]) -> list[int]:
    """Sizes as numbers; dynamic ones are assumed to be large."""
    return [int(size.value) if isinstance(size, Const) else 1024 for size in sizes]


def count(loop: Loop) -> int:
    """The iterations of a loop; a dynamic number is assumed to be large."""
    return extents([loop.extent])[0]


def points(stage: Stage) -> int:
    """The number of iterations of a stage."""
    op = stage.computation
    sizes = [axis.extent for axis in (*op.axes, *op.reduction_axes)]
    return prod(extents(sizes))


def touched(stage: Stage) -> int:
    """A lower bound of the elements that a stage reads and writes."""
    return sum(prod(extents(tensor.shape)) for tensor in (*stage.inputs, *stage.tensors))


def result_bytes(stage: Stage) -> int:
    """A lower bound of the elements that a stage writes; a dynamic size counts as 1."""
    return sum(
        prod(int(size.value) for size in one.shape if isinstance(size, Const)) * _bytes(one.dtype)
        for one in stage.tensors
    )


def elements(stage: Stage) -> int:
    return prod(extents(axis.extent for axis in stage.computation.axes))


def bodies(stage: Stage) -> tuple[Expr, ...]:
    """The expressions computed per point of the axes."""
    op = stage.computation
    return op.reduction.values if op.reduction is not None else op.bodies


def _parts(stage: Stage) -> Iterator[Expr]:
    return chain.from_iterable(map(tree.postorder, bodies(stage)))


def cost(stage: Stage) -> int:
    """The number of elementary operations per point."""
    total = 0
    for part in {id(part): part for part in _parts(stage)}.values():
        if isinstance(part, Call):
            total += _EXPENSIVE
        elif isinstance(part, Binary | Read) and part.dtype != INDEX:
            total += 1
    return max(total, 1)


def is_expensive(stage: Stage) -> bool:
    """Whether recomputing an element costs more than storing it."""
    for part in _parts(stage):
        match part:
            case Call():
                return True
            case Binary(op="div" | "floordiv" | "mod") if part.dtype != INDEX:
                if not isinstance(part.right, Const):
                    return True
    return cost(stage) > 16


def lanes(stage: Stage, vector_bits: int) -> int:
    """The number of vector lanes, by the widest type of the computation."""
    kinds = {part.dtype for part in _parts(stage)} - {INDEX, "bool"}
    widest = max(map(_bytes, kinds), default=1)
    if all(tensor.dtype == INDEX for tensor in stage.tensors):
        widest = 8
    return max(1, vector_bits // 8 // widest)


def _bytes(dtype: str) -> int:
    # narrow floats are computed as float32
    return 4 if dtypes.is_float(dtype) and dtype != "float64" else dtypes.to_numpy(dtype).itemsize


def simplifier(stage: Stage) -> Simplifier:
    """Simplification with the ranges of the loops of a stage."""
    found = Simplifier()
    for loop in stage.loops:
        found.bind(loop.var, loop.extent)
    return found


def reads(stage: Stage) -> list[Read]:
    """The reads of a stage, over the variables of its loops."""
    return [read for one in bodies(stage) for read in expr.reads(substitute(one, stage.values))]


def bare_variables(stage: Stage) -> set[Var]:
    """The loop variables used in arithmetic, not only in indices."""
    found: set[Var] = set()
    for body in bodies(stage):
        whole = substitute(body, stage.values)
        for part in tree.postorder(whole, enter=lambda e: not isinstance(e, Read)):
            if isinstance(part, Var):
                found.add(part)
            elif isinstance(part, Read):
                for place in part.indices:
                    if expr.reads(place):
                        found |= variables(place)
    return found


def collapse(s: Schedule, stage: str, apart: str = "") -> Schedule:
    """Fuse loops that access memory contiguously; reductions stay, and loop `apart` is not fused
    with outer loops.

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
    """Fuse two loops, one of dynamic extent, if every read is then contiguous."""
    joined = fuse(s, stage, outer.name, inner.name)
    found = joined[stage]
    position = next(i for i, loop in enumerate(s[stage].loops) if loop is outer)
    var, simplify = found.loops[position].var, simplifier(found)
    even = all(access.stride(read, var, simplify) is not None for read in reads(found))
    return joined if even else s


def arithmetic(stage: Stage) -> int:
    """Arithmetic operations per point (flops)."""
    count = 0 if stage.computation.reduction is None else len(bodies(stage))
    for part in _parts(stage):
        count += isinstance(part, Binary | Call) and part.dtype not in (INDEX, "bool")
    return count
