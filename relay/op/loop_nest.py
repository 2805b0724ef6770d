"""Loops over several axes, for operators that are written step by step (`te.procedure`).

with nest(b, (m, n)) as (i, j):         one loop inside the other
with spread(b, (m, n)) as (i, j):       the same, in parallel
with lines(b, x.shape, axis=1) as at:   every line along an axis; x[at(p)] is an element of it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from relay import te
from relay.op.building.elements import Indices, place, size
from relay.te.loops import Kind


@contextmanager
def nest(b: te.Builder, extents: Sequence[te.Scalar]) -> Iterator[Indices]:
    """All indices of a shape in row-major order."""
    with ExitStack() as loops:
        yield tuple(loops.enter_context(b.loop(extent)) for extent in extents)


@contextmanager
def spread(b: te.Builder, extents: Sequence[te.Scalar]) -> Iterator[Indices]:
    """All indices of a shape, in parallel: iterations must be independent."""
    if not extents:
        yield ()
        return
    shape = tuple(map(te.index, extents))
    with b.loop(size(shape), kind=Kind.PARALLEL) as number:
        yield tuple(
            index if isinstance(index, te.Var | te.Const) else b.let(index)
            for index in place(number, shape)
        )


@contextmanager
def lines(
    b: te.Builder, shape: Sequence[te.Scalar], axis: int
) -> Iterator[Callable[[te.Scalar], Indices]]:
    """The lines along one axis, in parallel; yields the indices of each position of a line."""
    axis %= len(shape)
    with spread(b, (*shape[:axis], *shape[axis + 1 :])) as rest:
        yield lambda position: (*rest[:axis], te.index(position), *rest[axis:])
