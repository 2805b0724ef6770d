"""The layout of values inside a kernel relative to the rows of its reductions.

%0 = sum(%x, axis=[1], keepdims=True)      (4, 8) -> (4, 1): four rows, of eight elements each
%1 = divide(%x, %0)                        every element by the sum of its own row: row by row
%2 = add(%0, transpose(%0))                needs all rows at once

A kernel computes its reductions row by row, and their consumers in the same iteration: so every
value that depends on a reduction has the rows among its axes, each once, and all reductions of the
kernel have the same rows. The elements of two values with rows are in the same order in memory:
within the row first, or across rows first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, OpDef
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_reductions import Reduction

# For every axis of a value its row axis; None for axes inside a row.
Labels = tuple[int | None, ...]

ROWS_DIFFER = "the reductions of a kernel are over the same axes of the same rows"
ROWS_MOVE = "what is made of a reduction stays in the row that was reduced"
ROWS_CROSS = "the rows of a kernel lie in memory the same way, for what it reads and what it makes"
NOT_IN_ROWS = "a kernel of several passes over rows has elementwise operators and reductions only"


@frozen
class Rows:
    """The rows of a kernel."""

    extents: tuple[Dim, ...]
    crosswise: bool  # adjacent elements in memory belong to different rows
    passes: int  # over a row, the one that writes the result included
    depends: frozenset[int]  # the values with rows


@frozen
class Clash:
    """The node that does not fit, and the rule that it breaks."""

    node: int
    rule: str


def lay_out(flow: Dataflow, members: Sequence[int]) -> Rows | Clash:
    """The rows of a kernel with these nodes, in order; or the node that does not fit."""
    found = _Layout()
    for i in members:
        expr, reduction = flow.nodes[i].expr, flow.nodes[i].reduction
        if not isinstance(expr, Call):
            return Clash(i, NOT_IN_ROWS)
        given = [found.labels.get(flow.number(arg)) for arg in expr.args]
        if reduction is not None:
            rule = found.add_reduction(i, expr, given, reduction)
        else:
            rule = found.add(i, expr, given)
        if rule is not None:
            return Clash(i, rule)
    return found.rows(members[-1], flow.nodes[members[-1]].expr)


class _Layout:
    """The values with rows so far."""

    def __init__(self) -> None:
        self.labels: dict[int | None, Labels] = {}
        self._extents: tuple[Dim, ...] | None = None
        self._crosswise: bool | None = None
        self._passes = 0

    def rows(self, root: int, expr: Expr) -> Rows:
        labels = self.labels.get(root, ())
        has_columns = any(label is None for label in _wide(expr, labels))
        return Rows(
            self._extents or (),
            bool(self._crosswise),
            self._passes + has_columns,
            frozenset(i for i in self.labels if i is not None),
        )

    def add(self, i: int, call: Call, given: Sequence[Labels | None]) -> str | None:
        """Add a node that is no reduction; returns the rule that it breaks, if any."""
        assert isinstance(call.op, OpDef)
        if call.op.fusion > FusionKind.BROADCAST and not _keeps_order(call):
            return NOT_IN_ROWS
        if all(labels is None for labels in given):
            return None
        labels = _merged(call, given)
        if labels is None:
            return ROWS_MOVE
        self.labels[i] = labels
        wide = _wide(call, labels)
        mixed = any(label is None for label in wide) and any(label is not None for label in wide)
        return ROWS_CROSS if mixed and not self._lies(crosswise=wide[-1] is not None) else None

    def add_reduction(
        self, i: int, call: Call, given: Sequence[Labels | None], reduction: Reduction
    ) -> str | None:
        """Add a reduction; returns the rule that it breaks, if any."""
        shape = _shape(call.args[0])
        rank, kept = len(shape), [a for a in range(len(shape)) if a not in reduction.axes]
        rows = [axis for axis in kept if shape[axis] != 1]
        label = {axis: number for number, axis in enumerate(rows)}
        extents = tuple(shape[axis] for axis in rows)
        if self._extents not in (None, extents):
            return ROWS_DIFFER
        self._extents = extents
        inside = [axis for axis in range(rank) if shape[axis] != 1]
        for arg, labels in zip(call.args, given, strict=True):
            if labels is not None and _shape(arg) != shape and reduction.result == "whole":
                return ROWS_MOVE
            for axis, found in enumerate(labels or ()):
                if _shape(arg)[axis] != 1 and found != label.get(axis):
                    return ROWS_DIFFER
        if rows and len(rows) < len(inside) and not self._lies(crosswise=inside[-1] in label):
            return ROWS_CROSS
        self._passes += reduction.passes
        left = kept if reduction.result == "gone" else range(rank)
        self.labels[i] = tuple(label.get(axis) for axis in left)
        return None

    def _lies(self, crosswise: bool) -> bool:
        """Whether all values so far have this memory order."""
        if self._crosswise is None:
            self._crosswise = crosswise
        return self._crosswise is crosswise


def _merged(call: Call, given: Iterable[Labels | None]) -> Labels | None:
    """The rows of the result of an elementwise operator; None if they moved."""
    shape = _shape(call)
    merged: list[int | None] = [None] * len(shape)
    for arg, labels in zip(call.args, given, strict=True):
        if labels is None:
            continue
        places = _places(call, arg)
        if places is None:
            return None
        for place, label in zip(places, labels, strict=True):
            if label is None:
                continue
            if place is None or merged[place] not in (None, label):
                return None
            merged[place] = label
    numbers = [label for label in merged if label is not None]
    return tuple(merged) if numbers == sorted(set(numbers)) else None


def _places(call: Call, arg: Expr) -> list[int | None] | None:
    """The axis of the result for every axis of an argument."""
    source, result = _shape(arg), _shape(call)
    if _keeps_order(call):
        wide = iter([place for place, extent in enumerate(result) if extent != 1])
        return [None if extent == 1 else next(wide) for extent in source]
    offset = len(result) - len(source)
    assert isinstance(call.op, OpDef)
    if offset < 0 or (offset and source and call.op.names_axes):
        return None
    if any(n not in (1, result[offset + axis]) for axis, n in enumerate(source)):
        return None
    return [offset + axis for axis in range(len(source))]


def _keeps_order(call: Call) -> bool:
    """Whether a call only adds or removes axes of extent 1."""
    if not isinstance(call.op, OpDef) or Trait.RESHAPES not in call.op.traits:
        return False
    before, after = ([n for n in _shape(e) if n != 1] for e in (call.args[0], call))
    return before == after


def _wide(expr: Expr, labels: Labels) -> list[int | None]:
    """The labels of axes with more than one element."""
    return [label for label, n in zip(labels, _shape(expr), strict=True) if n != 1]


def _shape(expr: Expr) -> tuple[Dim, ...]:
    ty = expr.checked_type
    return ty.shape if isinstance(ty, TensorType) else ()
