"""Whatever the primitives accept computes the same: random schedules of small computations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from relay import te
from relay.errors import RelayError
from relay.te.expr import INDEX, Binary, Expr
from relay.te.loops import MemoryScope
from relay.te.schedule import (
    Schedule,
    cache_read,
    cache_write,
    check,
    compute_at,
    create,
    extract,
    fuse,
    inline,
    join,
    pack,
    parallel,
    reindex,
    reorder,
    rfactor,
    set_scope,
    split,
    tile,
    unroll,
    vectorize,
)
from tests.te.running import assert_computes

Computation = Callable[[Sequence[te.Scalar]], list[te.Tensor]]


def matmul(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    m, k, n = size
    a, b = te.placeholder((m, k), "int32", "a"), te.placeholder((k, n), "int32", "b")
    bias = te.placeholder((n,), "int32", "bias")
    r = te.axis(k)
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), "c")
    return [te.compute((m, n), lambda i, j: te.maximum(c[i, j] + bias[j], 0), "y")]


def convolution(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    """Of a padded row with a window of three."""
    n, channels, _ = size
    x, w = te.placeholder((n, channels), "int32", "x"), te.placeholder((3, channels), "int32", "w")
    padded = te.compute(
        (te.index(n) + 2, channels),
        lambda i, j: te.select((i >= 1) & (i < te.index(n) + 1), x[i - 1, j], 0),
        "p",
    )
    k, c = te.axis(3, "k"), te.axis(channels, "c")
    return [te.compute((n,), lambda i: te.sum(padded[i + k, c] * w[k, c], [k, c]), "y")]


def softmax(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    m, n, _ = size
    x = te.placeholder((m, n), "float32", "x")
    k, l = te.axis(n, "k"), te.axis(n, "l")  # noqa: E741
    high = te.compute((m,), lambda i: te.max(x[i, k], k), "high")
    e = te.compute((m, n), lambda i, j: te.call("exp", x[i, j] - high[i]), "e")
    total = te.compute((m,), lambda i: te.sum(e[i, l], l), "total")
    return [te.compute((m, n), lambda i, j: e[i, j] / total[i], "y")]


def sums(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    """Over one axis and over the other, and how many there are."""
    m, n, _ = size
    x = te.placeholder((m, n), "int64", "x")
    k, l, o = te.axis(m, "k"), te.axis(n, "l"), te.axis(n, "o")  # noqa: E741
    rows = te.compute((m,), lambda i: te.sum(x[i, l], l), "rows")
    count = te.compute((m,), lambda i: te.sum(i + 2, o), "count")
    total = te.compute((m,), lambda i: rows[i] * count[i], "product")
    return [te.compute((n,), lambda j: te.sum(x[k, j], k), "columns"), total]


def largest(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    m, n, _ = size
    x = te.placeholder((m, n), "int32", "x")
    k = te.axis(n, "k")
    return list(te.compute_many((m,), lambda i: te.argmax(x[i, k], k, k), "best"))


def rearranged(size: Sequence[te.Scalar]) -> list[te.Tensor]:
    """Transposed, seen as one row, and in the opposite order."""
    m, n, _ = map(te.index, size)
    x = te.placeholder((m, n), "int32", "x")
    t = te.compute((n, m), lambda i, j: x[j, i] + 1, "t")
    row = te.compute((m * n,), lambda i: t[i // m, i % m], "row")
    return [
        te.compute((m * n,), lambda i: row[m * n - 1 - i], "y"),
        te.compute((m * n,), lambda i: row[i] * 2, "z"),
    ]


COMPUTATIONS = [matmul, convolution, softmax, sums, largest, rearranged]


class RandomSchedule:
    """Primitives by number: what is not possible is refused, and left out."""

    def __init__(self, s: Schedule) -> None:
        self.s = s
        self.made = 0

    def step(self, which: int, a: int, b: int, c: int, d: int) -> None:
        s = self.s
        stage = s.stages[a % len(s.stages)]
        name, loops = stage.name, [loop.name for loop in stage.loops]
        loop = loops[b % len(loops)] if loops else ""
        others = s.readers(name) or list(s.stages)
        other = others[c % len(others)]
        op = stage.computation
        factor = (1, 2, 3, 4, 8)[d % 5]
        self.made += 1
        new = f"new{self.made}"
        places: list[Callable[[], Schedule]] = [
            lambda: split(s, name, loop, factor),
            lambda: split(s, name, loop, factor, (f"{new}.a", f"{new}.b")),
            lambda: fuse(s, name, loop, loops[(b + 1) % len(loops)]),
            lambda: reorder(s, name, *_permuted(loops, c)),
            lambda: tile(s, name, (loop, factor), (loops[c % len(loops)], 2)),
            lambda: vectorize(s, name, loop),
            lambda: unroll(s, name, loop),
            lambda: parallel(s, name, loop),
            lambda: inline(s, name),
            lambda: compute_at(s, name, other.name, other.loops[d % len(other.loops)].name),
            lambda: compute_at(s, name, other.name, other.loops[d % len(other.loops)].name),
            lambda: set_scope(s, name, list(MemoryScope)[c % 4]),
            lambda: cache_read(s, name, stage.inputs[c % len(stage.inputs)], new),
            lambda: pack(
                s,
                name,
                stage.inputs[c % len(stage.inputs)],
                new,
                [(b % max(1, stage.inputs[c % len(stage.inputs)].rank), factor)],
            ),
            lambda: cache_write(s, name, new),
            lambda: rfactor(s, name, b % max(1, len(op.reduction_axes)), factor, new),
            lambda: extract(s, name, _factor(op.bodies[0], b), (*op.axes, *op.reduction_axes), new),
            lambda: reindex(s, name, _groups(op.axes, c)),
            lambda: join(s, name, other.name),
        ]
        try:
            self.s = places[which % len(places)]()
        except (RelayError, IndexError, ZeroDivisionError) as error:
            # without loops or inputs there is nothing to choose from
            assert isinstance(error, RelayError) or not (loops and stage.inputs and other.loops)


def _permuted(names: list[str], number: int) -> list[str]:
    rest, order = list(names), []
    while rest:
        number, position = divmod(number, len(rest))
        order.append(rest.pop(position))
    return order


def _factor(body: Expr, number: int) -> Expr:
    """The elements of a reduction, or a factor of them."""
    inner = body.values[0] if isinstance(body, te.Reduce) else body
    if isinstance(inner, Binary) and number % 3:
        return inner.left if number % 3 == 1 else inner.right
    return inner


def _groups(axes: Sequence[te.Axis], number: int) -> list[list[te.Axis]]:
    order = list(axes) if number % 2 else list(reversed(axes))
    return [order] if number % 4 < 2 else [[axis] for axis in order]


numbers = st.integers(0, 5039)
steps = st.lists(st.tuples(*[numbers] * 5), min_size=1, max_size=12)


def arrays_for(s: Schedule, sizes: dict[str, int]) -> dict[te.Tensor, np.ndarray]:
    random = np.random.default_rng(3)
    found = {}
    for tensor in s.inputs:
        shape = [
            sizes[n.name] if isinstance(n, te.Var) else int(n.value)  # type: ignore[attr-defined]
            for n in tensor.shape
        ]
        found[tensor] = random.integers(-9, 9, shape).astype(tensor.dtype)
    return found


@pytest.mark.parametrize("computation", COMPUTATIONS)
@given(steps, st.tuples(*[st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8])] * 3), st.integers(0, 7))
def test_a_schedule_computes_what_it_is_of(
    computation: Computation,
    steps: list[tuple[int, ...]],
    sizes: tuple[int, int, int],
    symbolic: int,
) -> None:
    """`symbolic` has a bit for every size that is known at run time only."""
    known = dict(zip("mkn", sizes, strict=True))
    shape: list[te.Scalar] = [
        te.Var(INDEX, name) if symbolic >> i & 1 else size
        for i, (name, size) in enumerate(known.items())
    ]
    random = RandomSchedule(create(computation(shape)))
    for step in steps:
        random.step(*step)
    try:
        check(random.s)
    except RelayError:
        reject()  # primitives may leave a stage without its place for a while
    assert_computes(random.s, arrays_for(random.s, known), **known)
