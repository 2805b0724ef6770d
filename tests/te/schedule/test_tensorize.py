"""The innermost loop of a reduction as one machine operation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.evaluate import run
from relay.te.expr import INDEX
from relay.te.instruction import DOT2, DOT4
from relay.te.loops import MemoryScope, Store
from relay.te.lower import lower
from relay.te.schedule import (
    Schedule,
    cache_write,
    compute_at,
    create,
    extract,
    fuse,
    pack,
    reorder,
    set_scope,
    split,
    tensorize,
    unroll,
    vectorize,
)
from tests.te.running import assert_computes, text, tidy_text


def product(m: te.Scalar, k: te.Scalar, n: te.Scalar) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """Of unsigned and signed bytes, in 32 bits."""
    a, b = te.placeholder((m, k), "uint8", "a"), te.placeholder((k, n), "int8", "b")
    r = te.axis(k)

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(te.cast(a[i, r], "int32") * te.cast(b[r, j], "int32"), r)

    return a, b, te.compute((m, n), element, "c")


def by_fours(s: Schedule) -> Schedule:
    return tensorize(split(s, "c", "k", 4, ("ko", "t")), "c", "t", DOT4)


def bytes_for(a: te.Tensor, b: te.Tensor, **sizes: int) -> dict[te.Tensor, np.ndarray]:
    random = np.random.default_rng(1)

    def shape(tensor: te.Tensor) -> list[int]:
        return [sizes[n.name] if isinstance(n, te.Var) else int(n.value) for n in tensor.shape]

    return {
        a: random.integers(0, 256, shape(a)).astype(np.uint8),
        b: random.integers(-128, 128, shape(b)).astype(np.int8),
    }


def test_four_steps_are_one_operation() -> None:
    _, _, c = product(2, 8, 3)
    assert text(by_fours(create([c]))) == (
        "for i in 2:\n"
        "  for j in 3:\n"
        "    c[i, j] = 0:int32\n"
        "    for ko in 2:\n"
        "      c[i, j] = dot4(c[i, j], "
        "a[i, (ko * 4)], a[i, ((ko * 4) + 1)], a[i, ((ko * 4) + 2)], a[i, ((ko * 4) + 3)], "
        "b[(ko * 4), j], b[((ko * 4) + 1), j], b[((ko * 4) + 2), j], b[((ko * 4) + 3), j])"
    )


def test_the_last_steps_of_a_reduction_are_done_one_by_one() -> None:
    _, _, c = product(2, 10, 3)
    found = tidy_text(by_fours(create([c]))).splitlines()
    assert [line.strip() for line in found if line.endswith(":")] == [
        *("for i in 2:", "for j in 3:", "for ko in 2:", "for t in 2:"),
    ]
    assert sum("dot4" in line for line in found) == 1


@pytest.mark.parametrize("depth", [0, 1, 3, 4, 5, 8, 11])
def test_the_sum_is_the_same(depth: int) -> None:
    a, b, c = product(3, depth, 5)
    assert_computes(by_fours(create([c])), bytes_for(a, b))


@pytest.mark.parametrize("depth", [0, 1, 4, 7])
def test_sizes_known_at_run_time(depth: int) -> None:
    n = te.Var(INDEX, "n")
    a, b, c = product(3, n, 5)
    assert_computes(by_fours(create([c])), bytes_for(a, b, n=depth), n=depth)


def test_factors_may_stand_the_other_way_round() -> None:
    a, b = te.placeholder((8,), "uint8", "a"), te.placeholder((8, 3), "int8", "b")
    r = te.axis(8)
    c = te.compute(
        (3,), lambda i: te.sum(te.cast(b[r, i], "int32") * te.cast(a[r], "int32"), r), "c"
    )
    s = by_fours(create([c]))
    assert "dot4(c[i], a[(ko * 4)]" in text(s)
    assert_computes(s, bytes_for(a, b))


def tiles(c: te.Tensor, b: te.Tensor) -> Schedule:
    """As a matrix product would have it: lanes along columns, four rows of `b` side by side."""
    s = cache_write(create([c]), "c", "acc")
    s = pack(s, "acc", b, "panel", [(0, 4), (1, 8)], (1, 0, 3, 2))
    s = split(split(s, "c", "i", 3, ("io", "ii")), "c", "j", 8, ("jo", "l"))
    s = vectorize(reorder(s, "c", "jo", "io", "ii", "l"), "c", "l")
    s = set_scope(compute_at(s, "acc", "c", "io"), "acc", MemoryScope.REGISTER)
    s = split(s, "acc", "k", 4, ("ko", "t"))
    s = vectorize(reorder(s, "acc", "ko", "i", "j", "t"), "acc", "j")
    return tensorize(unroll(s, "acc", "i"), "acc", "t", DOT4)


@pytest.mark.parametrize("shape", [(3, 8, 8), (5, 6, 11), (1, 1, 1), (7, 13, 17), (3, 0, 2)])
def test_a_product_in_tiles(shape: tuple[int, int, int]) -> None:
    a, b, c = product(*shape)
    assert_computes(tiles(c, b), bytes_for(a, b))


def test_bytes_that_belong_together_lie_side_by_side() -> None:
    _, b, c = product(3, 8, 8)
    found = tidy_text(tiles(c, b))
    assert "panel[0, ko, j, 0], panel[0, ko, j, 1], panel[0, ko, j, 2], panel[0, ko, j, 3]" in found


def test_the_operation_is_what_its_steps_are() -> None:
    start = te.Var("int32", "start")
    operands = [te.Var("uint8", f"u{i}") for i in range(4)]
    operands += [te.Var("int8", f"s{i}") for i in range(4)]
    whole = DOT4.call(start, [operands[:4], operands[4:]])
    out = te.Buffer("out", (), "int32")
    random = np.random.default_rng(2)
    for _ in range(20):
        values = {start: int(random.integers(-(2**31), 2**31))}
        values |= {var: int(random.choice([0, 1, 7, 127, 200, 255])) for var in operands[:4]}
        values |= {var: int(random.choice([-128, -1, 0, 1, 127])) for var in operands[4:]}
        found = []
        for expr in (whole, DOT4.expand(whole)):
            result = np.zeros((), np.int32)
            run(Store(out, (), expr), {out: result}, values)
            found.append(int(result))
        exact = values[start] + sum(
            values[u] * values[v] for u, v in zip(operands[:4], operands[4:], strict=True)
        )
        assert found == [(exact + 2**31) % 2**32 - 2**31] * 2


def test_products_of_int16_wrap_as_their_sums_do() -> None:
    a, b = te.placeholder((6,), "int16", "a"), te.placeholder((6, 2), "int16", "b")
    r = te.axis(6)
    c = te.compute(
        (2,), lambda i: te.sum(te.cast(a[r], "int32") * te.cast(b[r, i], "int32"), r), "c"
    )
    s = tensorize(split(create([c]), "c", "k", 2, ("ko", "t")), "c", "t", DOT2)
    assert "dot2(c[i], a[(ko * 2)], a[((ko * 2) + 1)], b[(ko * 2), i]" in text(s)
    low = np.full((6, 2), -(2**15), np.int16)
    assert_computes(s, {a: low[:, 0], b: low})


def wrong_types() -> Schedule:
    a, b = te.placeholder((8,), "int8", "a"), te.placeholder((8,), "int8", "b")
    r = te.axis(8)
    c = te.compute((), lambda: te.sum(te.cast(a[r], "int32") * te.cast(b[r], "int32"), r), "c")
    return split(create([c]), "c", "k", 4, ("ko", "t"))


def split_product() -> Schedule:
    return split(create([product(2, 8, 3)[2]]), "c", "k", 4, ("ko", "t"))


def other_sums() -> Schedule:
    a, _, _ = product(2, 8, 3)
    r = te.axis(8)
    c = te.compute((2,), lambda i: te.max(te.cast(a[i, r], "int32"), r), "c")
    return split(create([c]), "c", "k", 4, ("ko", "t"))


def done() -> Schedule:
    return tensorize(split_product(), "c", "t", DOT4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tensorize(wrong_types(), "c", "t", DOT4), "is not of the form of `dot4`"),
        (lambda: tensorize(other_sums(), "c", "t", DOT4), "is not of the form of `dot4`"),
        (lambda: tensorize(split_product(), "c", "ko", DOT4), "`ko` is not the innermost"),
        (lambda: tensorize(split_product(), "c", "j", DOT4), "reduces nothing"),
        (
            lambda: tensorize(split(split_product(), "c", "t", 2), "c", "t.i", DOT4),
            "`t.i` runs 2 times, `dot4` does 4",
        ),
        (lambda: split(done(), "c", "t", 2), "is one operation, `dot4`, already"),
        (lambda: fuse(done(), "c", "ko", "t"), "is one operation, `dot4`, already"),
        (lambda: unroll(done(), "c", "t"), "is one operation, `dot4`, already"),
        (lambda: reorder(done(), "c", "t", "ko"), "stays the innermost"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(RelayError, match=message.replace("`", ".")):
        wrong()


def test_nothing_is_computed_inside_an_operation() -> None:
    a, b, _ = product(2, 8, 3)
    t = te.compute((8, 3), lambda i, j: b[i, j] + 1, "p")
    r = te.axis(8)

    def element(i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(te.cast(a[i, r], "int32") * te.cast(t[r, j], "int32"), r)

    s = split(create([te.compute((2, 3), element, "c")]), "c", "k", 4, ("ko", "t"))
    s = tensorize(compute_at(s, "p", "c", "t"), "c", "t", DOT4)
    with pytest.raises(RelayError, match=r"`p` is computed in operation `t`"):
        lower(s)
    s = split(create([te.compute((2, 3), element, "c")]), "c", "k", 4, ("ko", "t"))
    s = compute_at(tensorize(s, "c", "t", DOT4), "p", "c", "ko")
    assert [repr(size) for size in s["p"].region] == ["4", "1"]
    assert_computes(s, bytes_for(a, b))


def test_a_stage_that_loses_its_form_is_found_out() -> None:
    _, _, c = product(2, 8, 3)
    s = by_fours(create([c]))
    reduction = c.op.reduction
    s = extract(s, "c", reduction.values[0], (*c.op.axes, *reduction.axes), "whole")
    with pytest.raises(RelayError, match=r"`c` has lost the form of `dot4`"):
        lower(s)
