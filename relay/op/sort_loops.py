"""Sorting, as loops: in which order elements come, by keys that are integers.

`sort_key` turns an element into an integer so that the order of the integers is that of the
elements: one comparison serves every element type, ascending and descending. Elements that compare
equal have equal keys and keep their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relay import dtypes, te

Key = Callable[[te.Expr], te.Expr]  # (position) -> key


def sort_key(value: te.Expr, descending: bool = False) -> te.Expr:
    """An integer in the place of a value: -0.0 equals 0.0, NaN is the greatest and equals NaN."""
    if dtypes.is_float(value.dtype):
        key = _float_key(value)
    elif te.width(value.dtype) < 8:
        key = te.cast(value, "int8" if value.dtype in dtypes.SIGNED else "uint8")
    else:
        key = value
    return ~key if descending else key


def _float_key(value: te.Expr) -> te.Expr:
    """The bits as an integer: of negative numbers, which grow towards zero, turned over."""
    wide = value if value.dtype == "float64" else te.cast(value, "float32")
    integer = "int64" if wide.dtype == "float64" else "int32"
    most = te.highest(integer)
    bits = te.bitcast(wide, integer)
    ordered = te.select(bits < 0, bits ^ most, bits)
    exact = te.select(te.equal(wide, 0.0), 0, ordered)
    return te.select(te.call("isnan", wide), most, exact)


@dataclass(frozen=True)
class Order:
    """Positions in the order of their keys: `order[rank]`, `order.key(rank)`."""

    keys: te.Buffer  # (side, rank)
    positions: te.Buffer  # (side, rank)
    side: te.Expr

    def __getitem__(self, rank: te.Scalar) -> te.Expr:
        return self.positions[self.side, rank]

    def key(self, rank: te.Scalar) -> te.Expr:
        return self.keys[self.side, rank]


def sort_positions(
    b: te.Builder, count: te.Scalar, key: Key, capacity: te.Scalar | None = None
) -> Order:
    """The positions 0 to count - 1 by ascending key, equal ones in their order.

    Merges runs of 1, 2, 4 … from one side of a buffer to the other. `capacity` is what count, where
    only a run finds it, is at most.
    """
    count = te.index(count)
    room = count if capacity is None else te.index(capacity)
    keys, positions = _table(b, key, (2, room))
    with b.loop(count) as i:
        b.store(keys, (0, i), key(i))
        b.store(positions, (0, i), i)
    side = b.variable("int64", 0, "side")
    width = b.variable("int64", 1, "width")
    with b.while_(width[()] < count):
        both = b.let(width[()] * 2)
        with b.loop((count + both - 1) // both) as pair:
            begin = b.let(pair * both)
            middle = b.let(te.minimum(begin + width[()], count))
            _merge(b, keys, positions, side[()], begin, middle, te.minimum(begin + both, count))
        b.store(side, (), 1 - side[()])
        b.store(width, (), both)
    return Order(keys, positions, side[()])


def _merge(
    b: te.Builder,
    keys: te.Buffer,
    positions: te.Buffer,
    side: te.Expr,
    begin: te.Expr,
    middle: te.Expr,
    end: te.Expr,
) -> None:
    """Two sorted runs, begin to middle and middle to end, as one on the other side."""
    end = b.let(end)
    left, right = b.variable("int64", begin, "left"), b.variable("int64", middle, "right")

    def move(source: te.Expr) -> None:
        target = b.let(left[()] + right[()] - middle)
        b.store(keys, (1 - side, target), keys[side, source])
        b.store(positions, (1 - side, target), positions[side, source])

    with b.while_((left[()] < middle) & (right[()] < end)):
        # without a branch: which run is next cannot be guessed
        first = b.let(keys[side, left[()]] <= keys[side, right[()]])
        move(b.let(te.select(first, left[()], right[()])))
        step = b.let(te.cast(first, "int64"))
        b.store(left, (), left[()] + step)
        b.store(right, (), right[()] + 1 - step)
    for run, bound in ((left, middle), (right, end)):
        with b.while_(run[()] < bound):
            move(run[()])
            b.store(run, (), run[()] + 1)


def first_positions(b: te.Builder, count: te.Scalar, most: te.Scalar, key: Key) -> Order:
    """The first `most` of what `sort_positions` gives: 1 or more, and no more than there are.

    A heap holds the best ones seen so far, the last of them on top: most elements are compared with
    that one only.
    """
    count, most = te.index(count), te.index(most)
    keys, positions = _table(b, key, (1, most))
    heap = _Heap(b, keys, positions)
    with b.loop(most) as i:
        b.store(keys, (0, i), key(i))
        b.store(positions, (0, i), i)
    with b.loop(most // 2) as i:
        place = b.let(most // 2 - 1 - i)
        heap.sink(most, place, b.let(keys[0, place]), b.let(positions[0, place]))
    with b.loop(count - most) as i:
        position = b.let(most + i)
        new = b.let(key(position))
        # an equal key further back is no better
        with b.if_(new < keys[0, 0]):
            heap.sink(most, te.index(0), new, position)
    with b.loop(te.maximum(most - 1, 0)) as i:
        last = b.let(most - 1 - i)
        moved, position = b.let(keys[0, last]), b.let(positions[0, last])
        b.store(keys, (0, last), keys[0, 0])
        b.store(positions, (0, last), positions[0, 0])
        heap.sink(last, te.index(0), moved, position)
    return Order(keys, positions, te.index(0))


@dataclass(frozen=True)
class _Heap:
    """Keys and positions; each comes after those at twice its place plus one and plus two."""

    b: te.Builder
    keys: te.Buffer
    positions: te.Buffer

    def sink(self, size: te.Expr, root: te.Expr, key: te.Expr, position: te.Expr) -> None:
        """Put an element in the place of `root`, and let it sink below those that come later."""
        b, keys, positions = self.b, self.keys, self.positions
        hole = b.variable("int64", root, "hole")
        child = b.variable("int64", root * 2 + 1, "child")
        with b.while_(child[()] < size):
            near = b.let(child[()])
            other = b.let(te.minimum(near + 1, size - 1))
            later = _after(keys[0, other], positions[0, other], keys[0, near], positions[0, near])
            best = b.let(te.select(later, other, near))
            with b.if_(_after(keys[0, best], positions[0, best], key, position)):
                b.store(keys, (0, hole[()]), keys[0, best])
                b.store(positions, (0, hole[()]), positions[0, best])
                b.store(hole, (), best)
                b.store(child, (), best * 2 + 1)
            with b.else_():
                b.store(child, (), size)
        b.store(keys, (0, hole[()]), key)
        b.store(positions, (0, hole[()]), position)


def _after(key: te.Expr, position: te.Expr, other: te.Expr, other_position: te.Expr) -> te.Expr:
    """Whether an element comes after another one."""
    return (key > other) | (te.equal(key, other) & (position > other_position))


def _table(b: te.Builder, key: Key, shape: tuple[te.Scalar, ...]) -> tuple[te.Buffer, te.Buffer]:
    dtype = key(te.index(0)).dtype
    return b.local(dtype, shape, "keys"), b.local("int64", shape, "positions")


def lower_bound(b: te.Builder, count: te.Scalar, before: Callable[[te.Expr], te.Expr]) -> te.Expr:
    """How many positions, from 0 on, `before` holds for, which holds for none after the first it
    does not hold for."""
    low, high = b.variable("int64", 0, "low"), b.variable("int64", te.index(count), "high")
    with b.while_(low[()] < high[()]):
        middle = b.let((low[()] + high[()]) // 2)
        inside = b.let(before(middle))
        b.store(low, (), te.select(inside, middle + 1, low[()]))
        b.store(high, (), te.select(inside, high[()], middle))
    return low[()]
