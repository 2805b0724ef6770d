"""Loops of `relay.op.vision.boxes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import te
from relay.immutable import frozen
from relay.op.tensor.sort_loops import sort_key, sort_positions

Box = Sequence[te.Expr]  # lowest and highest corner: four numbers
At = Callable[[te.Expr], te.Expr]  # (index of a box) -> a value


def chosen(number: te.Expr, values: Sequence[float]) -> te.Expr:
    """Select one of a few constants, in float64."""
    found: te.Expr = te.const(values[-1], "float64")
    for i in reversed(range(len(values) - 1)):
        found = te.select(te.equal(number, i), float(values[i]), found)
    return found


def corners(values: Box) -> list[te.Expr]:
    """The lowest and highest corner of a box given by two opposite corners."""
    low = [te.minimum(values[i], values[i + 2]) for i in range(2)]
    high = [te.maximum(values[i], values[i + 2]) for i in range(2)]
    return [*low, *high]


def overlap(box: Box, other: Box, pixel: float = 0.0) -> te.Expr:
    """The intersection over union (IoU) of two boxes."""

    def area(low: Box, high: Box) -> te.Expr:
        sides = [te.maximum(high[i] - low[i] + pixel, 0.0) for i in range(2)]
        return sides[0] * sides[1]

    shared = area(
        [te.maximum(box[i], other[i]) for i in (0, 1)],
        [te.minimum(box[i], other[i]) for i in (2, 3)],
    )
    covered = area(box[:2], box[2:]) + area(other[:2], other[2:]) - shared
    return te.select(covered > 0.0, shared / covered, 0.0)


@frozen
class Ranking:
    """Boxes sorted by score: their number, and the box at each rank."""

    count: te.Expr
    at: At


def by_score(
    b: te.Builder, count: te.Expr, capacity: te.Scalar, takes_part: At, score: At
) -> Ranking:
    """The boxes that take part, in descending order of score; a stable sort."""
    found = b.local("int64", (capacity,), "found")
    number = b.variable("int64", 0, "number")
    with b.loop(count) as box, b.if_(takes_part(box)):
        b.store(found, number[()], box)
        b.store(number, (), number[()] + 1)
    # by the negative score, so that NaN comes last
    order = sort_positions(
        b, number[()], lambda place: sort_key(-score(found[place])), capacity=capacity
    )
    return Ranking(number[()], lambda rank: found[order[rank]])


@frozen
class Kept:
    """The ranks of the kept boxes, and their number."""

    count: te.Expr
    ranks: te.Buffer

    def __getitem__(self, place: te.Scalar) -> te.Expr:
        return self.ranks[place]


def best_boxes(
    b: te.Builder,
    count: te.Expr,
    capacity: te.Scalar,
    most: te.Expr,
    box: Callable[[te.Expr], Box],
    suppresses: At,
    group: At | None = None,
    pixel: float = 0.0,
) -> Kept:
    """Non-maximum suppression of boxes sorted by score.

    `suppresses` tests an IoU; boxes of different groups do not suppress each other. At most `most`
    are kept; negative is all.
    """
    parts = [*box(te.index(0)), *([] if group is None else [group(te.index(0))])]
    ranks = b.local("int64", (capacity,), "ranks")
    held = b.local(parts[0].dtype, (capacity, len(parts)), "held")
    number = b.variable("int64", 0, "number")
    rank = b.variable("int64", 0, "rank")
    with b.while_((rank[()] < count) & te.not_equal(number[()], most)):
        mine = [b.let(value) for value in box(rank[()])]
        if group is not None:
            mine.append(b.let(group(rank[()])))
        alive = b.variable("bool", True, "alive")
        other = b.variable("int64", 0, "other")
        with b.while_(alive[()] & (other[()] < number[()])):
            theirs = [held[other[()], i] for i in range(len(parts))]
            gone = suppresses(overlap(theirs[:4], mine[:4], pixel))
            if group is not None:
                gone = te.select(te.equal(theirs[4], mine[4]), gone, False)
            b.store(alive, (), ~gone)
            b.store(other, (), other[()] + 1)
        with b.if_(alive[()]):
            b.store(ranks, number[()], rank[()])
            for i, value in enumerate(mine):
                b.store(held, (number[()], i), value)
            b.store(number, (), number[()] + 1)
        b.store(rank, (), rank[()] + 1)
    return Kept(number[()], ranks)
