"""More stages: copies, blocks, parts, partial results and other axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import INDEX, Binary
from relay.te.schedule import (
    Schedule,
    cache_read,
    cache_write,
    compute_at,
    create,
    extract,
    inline,
    join,
    pack,
    reindex,
    rfactor,
)
from tests.te.running import assert_computes, text

A = te.placeholder((4, 100), "int32", "a")
B = te.placeholder((20, 3), "int32", "b")
K = te.axis(100)
TOTAL = te.compute((4,), lambda i: te.sum(A[i, K], K), "y")
COPY = te.compute((20, 3), lambda i, j: B[i, j] + 1, "y")
ARRAYS = {
    A: np.arange(400, dtype=np.int32).reshape(4, 100),
    B: np.arange(60, dtype=np.int32).reshape(20, 3),
}


def test_cache_read_copies_first() -> None:
    s = cache_read(create([COPY]), "y", B, "copy")
    assert text(s) == (
        "workspace copy: int32[20, 3]\n"
        "for i in 20:\n"
        "  for j in 3:\n"
        "    copy[i, j] = b[i, j]\n"
        "for i in 20:\n"
        "  for j in 3:\n"
        "    y[i, j] = (copy[i, j] + 1:int32)"
    )


def test_only_the_named_reader_reads_the_copy() -> None:
    other = te.compute((20, 3), lambda i, j: B[i, j], "z")
    s = cache_read(create([COPY, other]), "y", B, "copy")
    assert [stage.name for stage in s.stages] == ["copy", "y", "z"]
    assert s["z"].inputs == [B]
    assert_computes(s, {B: ARRAYS[B]})


def test_cache_write_computes_first_and_copies_then() -> None:
    s = cache_write(create([TOTAL]), "y", "acc")
    assert text(s) == (
        "workspace acc: int32[4]\n"
        "for i in 4:\n"
        "  acc[i] = 0:int32\n"
        "  for k in 100:\n"
        "    acc[i] = (acc[i] + a[i, k])\n"
        "for i in 4:\n"
        "  y[i] = acc[i]"
    )


def test_every_result_of_joined_stages_is_copied_to_its_own_place() -> None:
    u, v = te.compute((9,), lambda i: A[0, i], "u"), te.compute((9,), lambda i: A[1, i], "v")
    s = cache_write(join(create([u, v]), "u", "v"), "u", "both")
    assert_computes(s, {A: ARRAYS[A]})


def test_pack_makes_blocks_with_zeros_beyond_the_end() -> None:
    s = pack(create([COPY]), "y", B, "p", [(0, 16)])
    assert text(s) == (
        "workspace p: int32[2, 3, 16]\n"
        "for i in 2:\n"
        "  for j in 3:\n"
        "    for k in 16:\n"
        "      p[i, j, k] = (b[((i * 16) + k), j] if (((i * 16) + k) < 20) else 0:int32)\n"
        "for i in 20:\n"
        "  for j in 3:\n"
        "    y[i, j] = (p[(i // 16), j, (i % 16)] + 1:int32)"
    )


def test_blocks_of_two_axes_in_any_order() -> None:
    s = pack(create([COPY]), "y", B, "p", [(1, 2), (0, 8)], order=(3, 0, 1, 2))
    assert [repr(size) for size in s["p"].tensors[0].shape] == ["8", "3", "2", "2"]
    assert_computes(s, {B: ARRAYS[B]})


@pytest.mark.parametrize("size", [0, 1, 4, 7])
def test_blocks_of_what_only_a_run_knows(size: int) -> None:
    n = te.Var(INDEX, "n")
    x = te.placeholder((n, 2), "int32", "x")
    s = create([te.compute((n, 2), lambda i, j: x[i, j], "y")])
    s = pack(s, "y", x, "p", [(0, 4)])
    assert_computes(s, {x: np.arange(2 * size, dtype="int32").reshape(size, 2)}, n=size)


def test_extract_makes_a_part_a_tensor() -> None:
    k = te.axis(4)
    c = te.compute((20,), lambda i: te.sum((A[k, i] + 1) * B[i, 0], k), "c")
    s = create([c])
    value = c.op.reduction.values[0]
    s = extract(s, "c", value.left, (c.op.axes[0], k), "t")
    assert text(s) == (
        "workspace t: int32[20, 4]\n"
        "for i in 20:\n"
        "  for k in 4:\n"
        "    t[i, k] = (a[k, i] + 1:int32)\n"
        "for i in 20:\n"
        "  c[i] = 0:int32\n"
        "  for k in 4:\n"
        "    c[i] = (c[i] + (t[i, k] * b[i, 0]))"
    )
    assert_computes(s, ARRAYS)


def test_rfactor_makes_partial_results_side_by_side() -> None:
    s = rfactor(create([TOTAL]), "y", 0, 16, "p")
    assert text(s) == (
        "workspace p: int32[4, 16]\n"
        "for i in 4:\n"
        "  for l in 16:\n"
        "    p[i, l] = 0:int32\n"
        "    for k in 7:\n"
        "      p[i, l] = (p[i, l] + (a[i, ((k * 16) + l)] "
        "if (((k * 16) + l) < 100) else 0:int32))\n"
        "for i in 4:\n"
        "  y[i] = 0:int32\n"
        "  for l in 16:\n"
        "    y[i] = (y[i] + p[i, l])"
    )
    assert_computes(s, {A: ARRAYS[A]})


def test_partial_results_of_partial_results() -> None:
    s = rfactor(rfactor(create([TOTAL]), "y", 0, 16, "p"), "y", 0, 4, "q")
    assert [stage.name for stage in s.stages] == ["p", "q", "y"]
    assert_computes(s, {A: ARRAYS[A]})


@pytest.mark.parametrize("lanes", [1, 3, 8, 200])
def test_the_first_of_the_largest_is_found_in_any_number_of_lanes(lanes: int) -> None:
    best = te.compute_many((4,), lambda i: te.argmax(A[i, K] % 7, K, K), "best")
    s = rfactor(create(list(best)), "best", 0, lanes, "p")
    assert_computes(s, {A: ARRAYS[A]})


def test_reindex_gives_a_tensor_other_axes() -> None:
    t = te.compute((2, 3, 4), lambda i, j, l: A[i, j] + B[l, 0], "t")  # noqa: E741
    s = create([te.compute((3, 4), lambda i, j: t[1, i, j], "y")])
    i, j, l = s["t"].computation.axes  # noqa: E741
    s = reindex(s, "t", [[l], [i, j]])
    assert text(s) == (
        "workspace t: int32[4, 6]\n"
        "for k in 4:\n"
        "  for ij in 6:\n"
        "    t[k, ij] = (a[(ij // 3), (ij % 3)] + b[k, 0])\n"
        "for i in 3:\n"
        "  for j in 4:\n"
        "    y[i, j] = t[j, (3 + i)]"
    )
    assert_computes(s, ARRAYS)


def test_reindexed_reductions_stay_reductions() -> None:
    k = te.axis(3)
    t = te.compute((2, 4), lambda i, j: te.sum(B[i, k] * A[j, k], k), "t")
    s = create([te.compute((2, 4), lambda i, j: t[i, j], "y")])
    i, j = s["t"].computation.axes
    assert_computes(reindex(s, "t", [[j, i]]), ARRAYS)


def part() -> Binary:
    value = TOTAL.op.reduction.values[0] + 1
    assert isinstance(value, Binary)
    return value


def placed() -> Schedule:
    t = te.compute((4,), lambda i: A[i, 0], "t")
    return compute_at(create([te.compute((4,), lambda i: t[i], "y")]), "t", "y", "i")


AXES = TOTAL.op.axes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: cache_read(create([COPY]), "y", A, "copy"), "`y` does not read `a`"),
        (lambda: cache_read(create([COPY]), "y", B, "y"), "already a stage `y`"),
        (lambda: cache_write(create([COPY]), "y", "y"), "already a stage `y`"),
        (lambda: cache_write(placed(), "y", "acc"), "`t` is computed inside `y`"),
        (lambda: pack(create([COPY]), "y", B, "p", [(2, 4)]), "axes of `b` are 0 to 1"),
        (lambda: pack(create([COPY]), "y", B, "p", [(0, 4), (0, 2)]), "each at most once"),
        (lambda: pack(create([COPY]), "y", B, "p", [(0, 0)]), "at least one element"),
        (lambda: pack(create([COPY]), "y", B, "p", [(0, 4)], (0, 1, 1)), "the order is one of"),
        (lambda: extract(create([TOTAL]), "y", A[AXES[0], K], [K], "t"), "depends on `i` too"),
        (lambda: extract(create([TOTAL]), "y", part(), [*AXES, K], "t"), "is no part of stage"),
        (lambda: rfactor(create([COPY]), "y", 0, 4, "p"), "`y` reduces nothing"),
        (lambda: rfactor(create([TOTAL]), "y", 1, 4, "p"), "no reduction axis 1"),
        (lambda: rfactor(create([TOTAL]), "y", 0, 0, "p"), "in 0 lanes"),
        (lambda: reindex(create([TOTAL]), "y", [AXES]), "`y` is an output"),
        (lambda: reindex(placed(), "t", []), "every axis of stage `t` belongs"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(RelayError, match=message.replace("`", ".")):
        wrong()


def test_a_packed_part_is_computed_where_the_packing_reads_it() -> None:
    """As weights are: a factor is extracted, packed, and inlined into the panel."""
    k = te.axis(20)
    a, b = te.placeholder((5, 20), "int32", "a"), te.placeholder((20, 7), "int32", "b")
    c = te.compute((5, 7), lambda i, j: te.sum(a[i, k] * (b[k, j] + 1), k), "c")
    s = create([c])
    factor = c.op.reduction.values[0].right
    s = extract(s, "c", factor, (k, c.op.axes[1]), "factor")
    s = pack(s, "c", s["factor"].tensors[0], "panel", [(1, 4)], (1, 0, 2))
    s = inline(s, "factor")
    assert [stage.name for stage in s.stages] == ["panel", "c"]
    arrays = {a: np.arange(100).reshape(5, 20), b: np.arange(140).reshape(20, 7)}
    assert_computes(s, {tensor: array.astype("int32") for tensor, array in arrays.items()})
