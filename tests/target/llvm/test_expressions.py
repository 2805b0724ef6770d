"""Expressions in lanes: which reads become loads, gathers, masks, and that all read what they
should and nothing beside it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.target.target import Target
from relay.te.expr import Expr
from relay.te.loops import Builder, Kind
from tests.target.llvm.kernels import (
    LEVEL_NAMES,
    LEVELS,
    Case,
    assert_agree,
    buffer,
    case,
    code_of,
    loops_of,
    numbers,
)

COUNT = 21  # no multiple of any number of lanes used here but 3 and 7

X, Y = buffer("x", (COUNT,)), buffer("y", (COUNT,))
LONG = buffer("long", (3 * COUNT,))
ARRAY, LONG_ARRAY = numbers((COUNT,)), numbers((3 * COUNT,))


def lanes_over(
    count: int, lanes: int, body: Callable[[Builder, Expr], None]
) -> Callable[[Builder], None]:
    """A loop over `count` elements, `lanes` at a time, with a guard for the last of them."""

    def write(b: Builder) -> None:
        with b.loop(-(-count // lanes), "o") as outer, b.loop(lanes, "l", Kind.VECTOR) as lane:
            at = outer * lanes + lane
            with b.if_(at < count):
                body(b, at)

    return write


def elements(value: Callable[[Expr], Expr], lanes: int = 8) -> Case:
    """y[i] = value(i)"""
    return case(
        {X: ARRAY, LONG: LONG_ARRAY},
        [Y],
        lanes_over(COUNT, lanes, lambda b, at: b.store(Y, at, value(at))),
    )


def reads() -> dict[str, Case]:
    return {
        "side by side": elements(lambda i: X[i] + 1),
        "side by side, an odd number": elements(lambda i: X[i] + 1, 5),
        "side by side, in a single vector": elements(lambda i: X[i] + 1, 32),
        "one for all": elements(lambda i: X[i] + X[3]),
        "two apart": elements(lambda i: LONG[i * 2 + 1]),
        "two apart, an odd number": elements(lambda i: LONG[i * 2], 7),
        "three apart": elements(lambda i: LONG[i * 3 + 2]),
        "backwards": elements(lambda i: X[COUNT - 1 - i]),
        "in turns": elements(lambda i: X[i % 4] * X[i // 4]),
        "pairs swapped": elements(lambda i: LONG[i // 2 * 2 + (1 - i % 2)]),
    }


def selects() -> dict[str, Case]:
    flags = buffer("flags", (3,), "bool")

    def everywhere(b: Builder, at: Expr) -> None:
        b.store(Y, at, te.select(at >= 2, X[at - 2], -1.0))

    def one_by_one(b: Builder) -> None:
        with b.loop(COUNT) as i:
            everywhere(b, i)

    def rows(value: Callable[[Expr, Expr], Expr]) -> Case:
        """table[i, j] = value(i, j) for rows of 7 in lanes of 4"""
        table = buffer("table", (6, 7))

        def write(b: Builder) -> None:
            with b.loop(6) as i:
                lanes_over(7, 4, lambda b, j: b.store(table, (i, j), value(i, j)))(b)

        given = {X: ARRAY, flags: np.array([True, False, True])}
        return case(given, [table], write)

    inside = te.const(3, "int64")
    return {
        "the other side is out of range, one by one": case({X: ARRAY}, [Y], one_by_one),
        "the other side is out of range": elements(lambda i: te.select(i >= 2, X[i - 2], -1.0)),
        "both sides are out of range": elements(
            lambda i: te.select(i < 7, X[i], te.select(i >= 14, X[i - 14], X[20 - i]))
        ),
        "one side is far away": elements(
            lambda i: te.select(i >= 20, LONG[i * 3], te.select(i < 2, X[i + 19], 2.0))
        ),
        "the same for all lanes, under a mask": rows(
            lambda i, j: te.select(i < inside, X[i * 7], 0.5) + X[j]
        ),
        "the same for all lanes, by what is read": rows(
            lambda i, j: te.select(i < inside, te.select(flags[i], X[j], X[0]), 0.5)
        ),
        "an element for all lanes that some want": elements(
            lambda i: te.select(i < 3, X[5] / X[i + 18], X[0])
        ),
        "positions, chosen": elements(
            lambda i: X[te.select(i % 2 < 1, i, COUNT - 1 - i)] * te.cast(i, "float32")
        ),
    }


def gathered() -> dict[str, Case]:
    cases = {}
    for dtype in ("int32", "int64", "uint8"):
        places = buffer("places", (COUNT,), dtype)
        order = np.random.default_rng(0).permutation(COUNT).astype(dtype)
        cases[f"by {dtype}"] = case(
            {X: ARRAY, places: order},
            [Y],
            lanes_over(
                COUNT, 8, lambda b, at, p=places: b.store(Y, at, X[te.cast(p[at], "int64")])
            ),
        )
        cases[f"by {dtype}, cut off"] = case(
            {X: ARRAY, places: (order - 3).astype(dtype)},
            [Y],
            lanes_over(COUNT, 8, lambda b, at, p=places: b.store(Y, at, cut_off(p[at]))),
        )
    return cases


def cut_off(place: Expr) -> Expr:
    at = te.cast(place, "int64")
    return te.select((at >= 0) & (at < COUNT), X[at], -5.0)


def numbers_of_lanes() -> dict[str, Case]:
    """Positions as values: in 32 bits where they fit, in 64 where they do not."""

    def places(value: Callable[[Expr], Expr], dtype: str = "int64") -> Case:
        made = buffer("made", (COUNT,), dtype)
        given = buffer("given", (COUNT,), "int64")
        body = lanes_over(
            COUNT, 8, lambda b, at: b.store(made, at, value(at) + te.cast(given[at], dtype))
        )
        return case({given: numbers((COUNT,), "int64")}, [made], body)

    return {
        "small": places(lambda i: i * 3 - 40),
        "large": places(lambda i: i * (1 << 40)),
        "large on the way": places(lambda i: i * (1 << 40) // (1 << 38) + i),
        "the ends of 32 bits": places(lambda i: (i - 2) * (1 << 30)),
        "negated": places(lambda i: -(i * -(1 << 27) - (1 << 31) + 0)),
        "sizes": places(lambda i: te.absolute(i * (1 << 27) - (1 << 31))),
        "divided": places(lambda i: (i - 10) // 4 + (i - 10) % 4 + te.truncdiv(i - 10, i - 9)),
        "shifted": places(lambda i: (i << 30) >> 2),
        "bits": places(lambda i: te.call("clz", i) + te.call("popcount", i)),
        "as int32": places(lambda i: te.cast(i * 5, "int32"), "int32"),
        "as float64": places(lambda i: te.cast(i * (1 << 40), "float64"), "float64"),
        "bits as float64": places(lambda i: te.bitcast(i + (1023 << 52), "float64"), "float64"),
        "compared": places(lambda i: te.select(i * (1 << 29) < (1 << 32), i, -i)),
    }


def truth() -> dict[str, Case]:
    p, q, r = (buffer(name, (COUNT,), "bool") for name in "pqr")
    one = buffer("one", (COUNT,), "bool")
    some = numbers((COUNT,), "bool", 0, 2)

    def write(b: Builder, at: Expr) -> None:
        b.store(q, at, p[at] & (X[at] < 2.0))
        b.store(r, at, ~p[at] | te.equal(X[at], X[0]))
        b.store(one, at, te.cast(X[at], "bool"))
        b.store(Y, at, te.select(p[at], X[at], te.cast(p[at], "float32") - 1.0))

    given = {X: ARRAY, p: some}
    return {
        "in bytes, in lanes": case(given, [q, r, one, Y], lanes_over(COUNT, 8, write)),
        "in bytes, one by one": case(given, [q, r, one, Y], lanes_over(COUNT, 1, write)),
    }


def long_ways() -> dict[str, Case]:
    def long(x: Expr) -> Expr:
        for step in range(60):
            x = te.maximum(x * 0.5 + float(step % 3), -x)
        return x

    return {
        "a long side for some lanes": elements(lambda i: te.select(X[i] < 8.0, X[i], long(X[i]))),
        "a long side nobody wants": elements(lambda i: te.select(X[i] < 99.0, X[i], long(X[i]))),
        "a long side, one by one": elements(
            lambda i: te.select(X[i] < 2.0, X[i], long(X[i])) + long(X[i]), 1
        ),
        "what both sides share": elements(
            lambda i: te.select(
                i < 11, X[i] * X[i] + X[i + 10], te.select(i < 12, X[i] * X[i], X[i] - X[i - 12])
            )
        ),
    }


def padded(dtype: str, lanes: int, inside: slice) -> Case:
    """Rows of which only the lanes `inside` are read, and none in the first row."""
    count = inside.stop - inside.start
    rows, made = buffer("rows", (4, count), dtype), buffer("made", (5, lanes), dtype)

    def write(b: Builder) -> None:
        with b.loop(5, "row") as row, b.loop(lanes, "l", Kind.VECTOR) as lane:
            known = (row >= 1) & (lane >= inside.start) & (lane < inside.stop)
            shifted = lane - inside.start
            zero = te.cast(te.const(0, "int32"), dtype)
            b.store(made, (row, lane), te.select(known, rows[row - 1, shifted], zero))

    return case({rows: numbers((4, count), dtype)}, [made], write)


def wider_than_registers() -> dict[str, Case]:
    """LLVM itself gets such loads wrong where one of their halves is off."""
    return {
        f"{dtype}, {lanes} lanes, {part.start} to {part.stop}": padded(dtype, lanes, part)
        for dtype, lanes in (("int64", 8), ("float64", 8), ("float32", 16), ("int32", 32))
        for part in (slice(1, lanes // 2), slice(0, 3), slice(lanes - 3, lanes), slice(1, lanes))
    }


ALL = {
    "wider than registers": wider_than_registers,
    "reads": reads,
    "selects": selects,
    "gathers": gathered,
    "positions": numbers_of_lanes,
    "truth": truth,
    "long ways": long_ways,
}


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_values_in_lanes_are_those_of_one_after_the_other(target: Target) -> None:
    assert_agree(
        {f"{kind}: {n}": c for kind, make in ALL.items() for n, c in make().items()}, target
    )


# --- how


def text_of(value: Callable[[Expr], Expr], count: int = 16) -> str:
    """The code for `y[i] = value(i)`, eight lanes at a time."""
    write = lanes_over(count, 8, lambda b, at: b.store(Y, at, value(at)))
    return code_of(loops_of([X, LONG], [Y], write)).ir


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lambda i: X[i], "load <8 x float>"),
        (lambda i: X[i] + X[3], "load float"),
        (lambda i: LONG[i * 2], "shufflevector <8 x float>"),
        (lambda i: LONG[i * 3], "llvm.masked.gather.v8f32.v8p0"),
        (lambda i: X[COUNT - 1 - i], "llvm.masked.gather.v8f32.v8p0"),
        (lambda i: te.select(i >= 2, X[i - 2], 0.0), "llvm.masked.load.v8f32.p0"),
    ],
    ids=["side by side", "one for all", "two apart", "three apart", "backwards", "some of them"],
)
def test_reads_take_the_shortest_way(value: Callable[[Expr], Expr], wanted: str) -> None:
    text = text_of(value)
    assert wanted in text
    others = {"llvm.masked.gather", "llvm.masked.load", "llvm.masked.store"}
    assert not [other for other in others if other in text and other not in wanted]


def test_no_load_under_a_mask_is_wider_than_a_register() -> None:
    made = padded("int64", 8, slice(1, 4))
    for target in LEVELS:
        text = code_of(made.loops, target).ir
        lanes = {int(n) for n in re.findall(r"@llvm\.masked\.load\.v(\d+)i64", text)}
        assert lanes == {target.vector_bits // 64}


def test_copies_of_a_read_are_one_load() -> None:
    assert text_of(lambda i: X[i] * X[i] + X[i]).count("load <8 x float>") == 1


def test_the_last_vector_is_masked_and_the_others_are_not() -> None:
    text = text_of(lambda i: X[i], COUNT)
    assert text.count("store <8 x float>") == text.count("llvm.masked.store.v8f32.p0") == 1
    # the elements that it would read besides are not there
    assert text.count("load <8 x float>") == text.count("llvm.masked.load.v8f32.p0") == 1


def test_a_last_vector_of_one_lane_is_a_scalar() -> None:
    text = text_of(lambda i: X[i], 17)
    assert "masked" not in text
    assert "store float" in text


@pytest.mark.parametrize(("rows", "wanted"), [(1 << 20, "i32"), (1 << 31, "i64")])
def test_positions_in_lanes_have_as_many_bits_as_they_need(rows: int, wanted: str) -> None:
    table = buffer("table", (16, rows))
    write = lanes_over(16, 8, lambda b, at: b.store(Y, at, table[at, 5]))
    text = code_of(loops_of([table], [Y], write)).ir
    assert f"mul <8 x {wanted}>" in text
    assert re.search(rf"getelementptr float, ptr %v\d+, <8 x {wanted}>", text)


def test_addresses_under_a_mask_may_lie_outside() -> None:
    text = text_of(lambda i: te.select(i >= 2, X[i - 2], 0.0))
    assert "inbounds" not in next(line for line in text.splitlines() if "i64 -2" in line)


def test_tensors_are_not_read_in_loops() -> None:
    x = te.placeholder((8,), "float32", "x")
    with pytest.raises(TypeError, match="tensor `x` is read in loops: lower the schedule first"):
        code_of(loops_of([], [Y], lambda b: b.store(Y, 0, x[0])))


def test_a_variable_nobody_bound_is_named() -> None:
    with pytest.raises(RelayError, match="variable `n` has no value in kernel `kernel`"):
        code_of(loops_of([X], [Y], lambda b: b.store(Y, te.Var("int64", "n"), X[0])))
