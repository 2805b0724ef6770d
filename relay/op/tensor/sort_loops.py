"""Sorting as loops, by integer keys.

`sort_key` maps an element to an integer with the same order: one comparison serves every element
type, ascending and descending. Equal elements have equal keys, and sorting is stable.
"""

from __future__ import annotations

from collections.abc import Callable

from relay import dtypes, te
from relay.immutable import frozen

Key = Callable[[te.Expr], te.Expr]  # (position) -> key

_MANY = 256  # elements from which radix sort is faster than merge sort


def sort_key(value: te.Expr, descending: bool = False) -> te.Expr:
    """The unsigned key of a value: -0.0 equals 0.0, NaN is the largest and equals NaN."""
    if dtypes.is_float(value.dtype):
        key = _float_key(value)
    elif value.dtype in dtypes.SIGNED:
        wide = te.cast(value, "int8") if te.width(value.dtype) < 8 else value
        key = te.bitcast(wide, f"u{wide.dtype}") ^ _sign(wide.dtype)
    else:
        key = te.cast(value, "uint8") if te.width(value.dtype) < 8 else value
    return ~key if descending else key


def _float_key(value: te.Expr) -> te.Expr:
    """The bits with the sign flipped; all bits of negative numbers flipped."""
    wide = value if value.dtype == "float64" else te.cast(value, "float32")
    unsigned = wide.dtype.replace("float", "uint")
    sign = _sign(wide.dtype)
    bits = te.select(te.equal(wide, 0.0), 0, te.bitcast(wide, unsigned))
    ordered = te.select(bits < sign, bits ^ sign, ~bits)
    return te.select(te.call("isnan", wide), te.highest(unsigned), ordered)


def _sign(dtype: str) -> int:
    return 1 << (te.width(dtype) - 1)


@frozen
class Order:
    """Positions sorted by their keys: `order[rank]`, `order.key(rank)`."""

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
    """The positions 0 to count - 1 by ascending key, stable.

    `capacity` is an upper bound of a dynamic count.
    """
    count = te.index(count)
    room = count if capacity is None else te.index(capacity)
    keys, positions = _table(b, key, (2, room))
    with b.loop(count) as i:
        b.store(keys, (0, i), key(i))
        b.store(positions, (0, i), i)
    side = b.variable("int64", 0, "side")
    if isinstance(room, te.Const) and room.value < _MANY:
        _merge_runs(b, keys, positions, side, count)
    else:
        _distribute(b, keys, positions, side, count)
    return Order(keys, positions, side[()])


# --- radix sort


def _distribute(
    b: te.Builder, keys: te.Buffer, positions: te.Buffer, side: te.Buffer, count: te.Expr
) -> None:
    """A radix sort by bytes, from the lowest to the highest."""
    starts = b.local("int64", (256,), "starts")
    with b.if_(count > 1), b.loop(te.width(keys.dtype) // 8) as number:
        now = b.let(side[()])
        shift = b.let(te.cast(number * 8, keys.dtype))

        def byte(rank: te.Scalar) -> te.Expr:
            return te.cast((keys[now, rank] >> shift) & 255, "int64")

        with b.loop(256) as value:
            b.store(starts, value, 0)
        with b.loop(count) as i:
            value = b.let(byte(i))
            b.store(starts, value, starts[value] + 1)
        # skip bytes that are the same everywhere
        with b.if_(starts[byte(0)] < count):
            total = b.variable("int64", 0, "total")
            with b.loop(256) as value:
                having = b.let(starts[value])
                b.store(starts, value, total[()])
                b.store(total, (), total[()] + having)
            with b.loop(count) as i:
                value = b.let(byte(i))
                target = b.let(starts[value])
                b.store(starts, value, target + 1)
                b.store(keys, (1 - now, target), keys[now, i])
                b.store(positions, (1 - now, target), positions[now, i])
            b.store(side, (), 1 - now)


# --- merge sort


def _merge_runs(
    b: te.Builder, keys: te.Buffer, positions: te.Buffer, side: te.Buffer, count: te.Expr
) -> None:
    """Merge sort of runs of 1, 2, 4 … elements, from one side to the other."""
    width = b.variable("int64", 1, "width")
    with b.while_(width[()] < count):
        both = b.let(width[()] * 2)
        with b.loop((count + both - 1) // both) as pair:
            begin = b.let(pair * both)
            middle = b.let(te.minimum(begin + width[()], count))
            _merge(b, keys, positions, side[()], begin, middle, te.minimum(begin + both, count))
        b.store(side, (), 1 - side[()])
        b.store(width, (), both)


def _merge(
    b: te.Builder,
    keys: te.Buffer,
    positions: te.Buffer,
    side: te.Expr,
    begin: te.Expr,
    middle: te.Expr,
    end: te.Expr,
) -> None:
    """Merge two sorted runs, begin to middle and middle to end, to the other side."""
    end = b.let(end)
    left, right = b.variable("int64", begin, "left"), b.variable("int64", middle, "right")

    def move(source: te.Expr) -> None:
        target = b.let(left[()] + right[()] - middle)
        b.store(keys, (1 - side, target), keys[side, source])
        b.store(positions, (1 - side, target), positions[side, source])

    with b.while_((left[()] < middle) & (right[()] < end)):
        # branch-free: the comparison is unpredictable
        first = b.let(keys[side, left[()]] <= keys[side, right[()]])
        move(b.let(te.select(first, left[()], right[()])))
        step = b.let(te.cast(first, "int64"))
        b.store(left, (), left[()] + step)
        b.store(right, (), right[()] + 1 - step)
    for run, bound in ((left, middle), (right, end)):
        with b.while_(run[()] < bound):
            move(run[()])
            b.store(run, (), run[()] + 1)


# --- partial sort


def first_positions(b: te.Builder, count: te.Scalar, most: te.Scalar, key: Key) -> Order:
    """The first `most` positions of `sort_positions`: at least 1, and no more than there are.

    A heap holds the best ones so far, the last of them on top: most elements are compared with that
    one only.
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
        # a later equal key is not better
        with b.if_(new < keys[0, 0]):
            heap.sink(most, te.index(0), new, position)
    with b.loop(te.maximum(most - 1, 0)) as i:
        last = b.let(most - 1 - i)
        moved, position = b.let(keys[0, last]), b.let(positions[0, last])
        b.store(keys, (0, last), keys[0, 0])
        b.store(positions, (0, last), positions[0, 0])
        heap.sink(last, te.index(0), moved, position)
    return Order(keys, positions, te.index(0))


@frozen
class _Heap:
    """A max-heap of keys and positions."""

    b: te.Builder
    keys: te.Buffer
    positions: te.Buffer

    def sink(self, size: te.Expr, root: te.Expr, key: te.Expr, position: te.Expr) -> None:
        """Replace the element at `root` and sift it down."""
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
    """Whether an element sorts after another one."""
    return (key > other) | (te.equal(key, other) & (position > other_position))


def _table(b: te.Builder, key: Key, shape: tuple[te.Scalar, ...]) -> tuple[te.Buffer, te.Buffer]:
    dtype = key(te.index(0)).dtype
    return b.local(dtype, shape, "keys"), b.local("int64", shape, "positions")


# --- binary search


def lower_bound(b: te.Builder, count: te.Scalar, before: Callable[[te.Expr], te.Expr]) -> te.Expr:
    """The number of leading positions for which `before` holds."""
    # a branch-free binary search with a fixed number of steps
    base, left = b.variable("int64", 0, "base"), b.variable("int64", te.index(count), "left")
    with b.while_(left[()] > 0):
        half = b.let((left[()] + 1) // 2)
        behind = b.let(base[()] + half)
        b.store(base, (), te.select(before(behind - 1), behind, base[()]))
        b.store(left, (), left[()] - half)
    return base[()]
