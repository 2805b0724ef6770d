"""Which stages of a primitive function are computed together, in one launch.

Elementwise stages are inlined into their readers, so that what remains are reductions and results.
A nest is a loop over rows, in which reductions of a row and what reads them follow each other:

    m[i] = max(x[i, k]);  s[i] = sum(exp(x[i, k] - m[i]));  y[i, j] = exp(x[i, j] - m[i]) / s[i]
      ->   rows (i): m, s, y

A sum of products over tensors (`products.py`) is a nest with what reads it elementwise. What
reads another element than its own of a reduction is a nest of its own, launched after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relay.target.cuda.products import Product, recognize
from relay.te import expr as te
from relay.te.compute import Tensor
from relay.te.schedule import Schedule, Stage, create, facts, inline

_BESIDE = 8  # results of one launch


@dataclass
class Nest:
    """Stages over the same rows, in order."""

    rows: tuple[int, ...]  # their extents
    stages: list[Stage] = field(default_factory=list)
    # by stage: the axes of the nest's rows, and those of its columns
    axes: list[tuple[tuple[te.Axis, ...], tuple[te.Axis, ...]]] = field(default_factory=list)
    product: Product | None = None  # if the first stage is a sum of products

    def add(self, stage: Stage, rows: Sequence[te.Axis], columns: Sequence[te.Axis]) -> None:
        self.stages.append(stage)
        self.axes.append((tuple(rows), tuple(columns)))


def schedule(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> Schedule:
    """The stages that are left after inlining."""
    s = create(outputs, inputs)
    for name in [stage.name for stage in s.stages]:
        stage = s[name]
        if stage.is_reduction or s.is_output(stage):
            continue
        if not _is_stored(s, stage):
            s = inline(s, name)
    return s


def _is_stored(s: Schedule, stage: Stage) -> bool:
    """Whether a stage is read so often by sums of products that it is better computed once."""
    readers = [reader for reader in s.readers(stage.name) if recognize(reader) is not None]
    uses = max((facts.points(reader) for reader in readers), default=0)
    return uses > 4 * facts.elements(stage) and facts.is_expensive(stage)


def nests(s: Schedule) -> list[Nest]:
    """The nests of a schedule, in an order in which they can be launched."""
    made: list[Nest] = []
    home: dict[int, int] = {}  # the nest of each tensor, by its identity
    for stage in s.stages:
        place = _nest_to_join(stage, made, home)
        if place is None:
            place = len(made)
            made.append(_new(stage))
        for tensor in stage.tensors:
            home[id(tensor)] = place
    return made


def _new(stage: Stage) -> Nest:
    op = stage.computation
    nest = Nest(_extents(op.axes), product=recognize(stage))
    nest.add(stage, op.axes, op.reduction_axes)
    return nest


def _nest_to_join(stage: Stage, made: Sequence[Nest], home: dict[int, int]) -> int | None:
    """The nest whose rows a stage can be computed in: the last it reads from."""
    op = stage.computation
    own = [home[id(tensor)] for tensor in op.inputs if id(tensor) in home]
    if recognize(stage) is not None:
        return None
    if not own:
        return _nest_beside(stage, made)
    place = max(own)
    nest = made[place]
    rows = _rows_of_reads(stage, nest)
    if rows is None or _extents(rows) != nest.rows:
        return None
    if op.reduction is not None and rows != op.axes:
        return None
    columns = [axis for axis in (*op.axes, *op.reduction_axes) if axis not in rows]
    if columns and nest.product is not None:
        return None
    nest.add(stage, rows, columns)
    return place


def _nest_beside(stage: Stage, made: Sequence[Nest]) -> int | None:
    """A nest of elementwise results of the same extents, whose programs compute those of a stage
    that reads none of them too: the parts of a tensor that is split."""
    op = stage.computation
    if stage.is_reduction or not made:
        return None
    nest = made[-1]
    if any(each.is_reduction for each in nest.stages) or len(nest.stages) >= _BESIDE:
        return None
    if _extents(op.axes) != nest.rows:
        return None
    nest.add(stage, op.axes, ())
    return len(made) - 1


def _rows_of_reads(stage: Stage, nest: Nest) -> tuple[te.Axis, ...] | None:
    """The axes of a stage that index all it reads of a nest, in order."""
    results = {id(tensor) for each in nest.stages for tensor in each.tensors if each.is_reduction}
    others = {id(t) for each in nest.stages for t in each.tensors if not each.is_reduction}
    found: set[tuple[te.Expr, ...]] = set()
    for body in facts.bodies(stage):
        for read in te.reads(body):
            if id(read.source) in others:
                return None  # an elementwise result, stored by other programs
            if id(read.source) in results:
                found.add(read.indices)
    if len(found) != 1:
        return None
    (indices,) = found
    axes = stage.computation.axes
    if not all(isinstance(one, te.Axis) and one in axes for one in indices):
        return None
    if len(set(indices)) != len(indices):
        return None
    return tuple(one for one in indices if isinstance(one, te.Axis))


def _extents(axes: Sequence[te.Axis]) -> tuple[int, ...]:
    return tuple(int(axis.extent.value) for axis in axes)
