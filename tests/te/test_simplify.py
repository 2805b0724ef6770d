"""Index arithmetic: the same value, written shorter, and ranges that hold what can come out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay import te
from relay.te.evaluate import run
from relay.te.expr import COMPARE, INDEX, binary, compare, const, substitute, unary
from relay.te.loops import Store
from relay.te.simplify import Linear, Simplifier

I, J, N = (te.Var(INDEX, name) for name in ("i", "j", "n"))  # noqa: E741
DATA = te.Buffer("data", (const(2, INDEX),), INDEX)
NOT_READ = np.zeros(2, np.int64)


def simplifier(**extents: int) -> Simplifier:
    """Of variables that run from 0; `n` is some size."""
    found = Simplifier({N: (0, None)})
    for name, extent in extents.items():
        found.bind({"i": I, "j": J}[name], const(extent, INDEX))
    return found


def value(expr: te.Expr, numbers: Mapping[te.Var, int], data: np.ndarray = NOT_READ) -> int:
    """What an expression is, by the evaluator."""
    out = te.Buffer("out", (), expr.dtype)
    result = np.zeros((), expr.dtype)
    run(Store(out, (), expr), {out: result, DATA: data}, numbers)
    return int(result)


# --- rules


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((I * 16 + J) // 16, "i"),
        ((I * 16 + J) % 16, "j"),
        ((I * 16 + J) // 4, "((i * 4) + (j // 4))"),
        ((I // 4) * 4 + I % 4, "i"),
        ((I // 4) * 12 + (I % 4) * 3 + J, "((i * 3) + j)"),
        (I + J - I, "j"),
        (J + I * 8 - J - I * 3 + 2, "((i * 5) + 2)"),
        ((I * 6 + 13) // 6, "(i + 2)"),
        ((I * 6 + 13) % 6, "1"),
        ((I // 3) // 5, "(i // 15)"),
        ((I % 12) // 4, "((i // 4) % 3)"),
        ((I % 12) % 4, "(i % 4)"),
        ((I * 4 + J % 4) // 8, "(i // 2)"),
        ((I * 4 + J % 4) % 8, "(((i % 2) * 4) + (j % 4))"),
        (te.truncdiv(I * 16 + J, 16), "i"),
        (te.truncmod(I * 16 + J, 16), "j"),
        (te.minimum(I, I + J), "i"),
        (te.maximum(I, I + J), "(i + j)"),
        (te.minimum(J, 20), "j"),
        (te.select(I < 90, I, J), "i"),
        (te.select(I < J, I + J, J + I), "(i + j)"),
        (N // N, "(n // n)"),
        (I * N + J * N, "((i * n) + (j * n))"),
        (-(I - 3) + I, "3"),
    ],
)
def test_what_is_written_shorter(expr: te.Expr, expected: str) -> None:
    assert repr(simplifier(i=90, j=16)(expr)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (I * 6 + J < 56, "True"),
        (I * 6 + J < 48, "((i * 6) + j) < 48"),
        (I >= 9, "False"),
        (J - 16 >= 0, "False"),
        (te.equal(I + J, J + I), "True"),
        (te.not_equal(I, I + 1), "True"),
        (te.equal(I, J), "i == j"),
        (I < N, "i < n"),
        (N >= 0, "True"),
        (N * 4 + I >= 0, "True"),
        (N + 1 > N, "True"),
    ],
)
def test_conditions_that_always_or_never_hold(condition: te.Expr, expected: str) -> None:
    assert repr(simplifier(i=8, j=8)(condition)).removeprefix("(").removesuffix(")") == expected


def test_a_size_divides_out_of_what_lies_below_it() -> None:
    simplify = Simplifier({I: (0, 7), N: (8, None)})
    assert simplify(I // N) == const(0, INDEX)
    assert simplify(I % N) == I
    assert simplify(N // N) == const(1, INDEX)


def test_floats_stay_as_they_are_written() -> None:
    x = te.placeholder((64,), "float32", "x")
    expr = x[I + J - I] + 0.0 - x[0]
    assert repr(simplifier(i=8, j=8)(expr)) == "((x[j] + 0.0:float32) - x[0])"


def test_sums_come_out_the_same_in_every_order() -> None:
    simplify = simplifier(i=4, j=4)
    assert simplify(I + J * 4 + 1) == simplify(1 + J * 2 + I + J * 2)


def test_a_variable_that_runs_further_later_is_not_simplified_as_before() -> None:
    simplify = Simplifier()
    simplify.bind(I, const(4, INDEX))
    assert simplify.holds(I < 4)
    assert simplify.interval(I * 2) == (0, 6)
    simplify.bind(I, const(9, INDEX))
    assert not simplify.holds(I < 4)
    assert simplify.interval(I * 2) == (0, 16)


def test_numbers_that_are_read_may_wrap_around() -> None:
    read, simplify = DATA[0], simplifier(i=4, j=4)
    for expr in (read + 1 > read, (read * 4) // 4, te.maximum(read, read + 1)):
        assert simplify(expr) == expr
    assert simplify.interval(read * 2) == (-(2**63), 2**63 - 1)
    # narrower ones cannot
    narrow = te.cast(te.Buffer("bytes", (const(2, INDEX),), "int8")[0], INDEX)
    assert simplify.holds(narrow + 1 > narrow)
    assert simplify((narrow * 4) // 4) == narrow


def test_unsigned_numbers_of_64_bits_may_be_negative_as_indices() -> None:
    large = te.cast(te.Buffer("large", (const(2, INDEX),), "uint64")[0], INDEX)
    assert not simplifier().holds(large >= 0)


def test_long_chains_need_no_stack() -> None:
    total: te.Expr = I
    for _ in range(3_000):
        total = (total + J) // 1 + 1
    simplify = simplifier(i=4, j=4)
    assert repr(simplify(total)) == "(((j * 3000) + i) + 3000)"
    fresh = simplifier(i=4, j=4)
    assert fresh.interval(total) == (3_000, 12_003)


def test_a_sum_keeps_its_terms_apart() -> None:
    simplify = simplifier(i=4, j=4)
    total = simplify.linear(simplify(I * 3 + J + 5))
    assert total == Linear({I: 3, J: 1}, 5)
    assert repr(simplify.build(total)) == "(((i * 3) + j) + 5)"


# --- any expression

BOUNDED = [te.Var(INDEX, name) for name in "abc"]
LEAVES = [
    *(BOUNDED * 2),
    *(const(n, INDEX) for n in (0, 1, 2, 3, 4, 8, -1, -5, 100, 2**31)),
    *(DATA[0], DATA[1]),
]
# operations, and among them those that indices are made of more often
OPERATIONS = [
    *(["add", "sub", "mul", "floordiv", "mod"] * 3),
    *("truncdiv", "truncmod", "min", "max", "and", "shl", "neg", "abs", "not"),
    *(f"select {op}" for op in COMPARE),
]
FACTORS = (1, 2, 3, 4, 6, 8, 12, 16, -1, -4, 0)
numbers = st.integers(0, 10**6)


@st.composite
def expressions(draw: st.DrawFn) -> te.Expr:
    """Some steps, each from what the steps before made."""
    made: list[te.Expr] = []

    def part(number: int) -> te.Expr:
        if made and number % 2:
            return made[-1 - (number // 2) % min(3, len(made))]
        return LEAVES[(number // 2) % len(LEAVES)]

    for which, *operands in draw(st.lists(st.tuples(*[numbers] * 5), min_size=1, max_size=8)):
        op = OPERATIONS[which % len(OPERATIONS)]
        first, second, *others = map(part, operands)
        if op in ("neg", "abs", "not"):
            made.append(unary(op, first))
        elif op.startswith("select"):
            made.append(te.select(compare(op.split()[1], first, second), *others))
        elif which % 2:
            made.append(binary(op, first, FACTORS[operands[1] % len(FACTORS)]))
        else:
            made.append(binary(op, first, second))
    return made[-1]


Situation = tuple[Simplifier, list[dict[te.Var, int]], np.ndarray]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Ranges, and values in them."""
    ranges: dict[te.Var, tuple[int | None, int | None]] = {}
    samples: list[dict[te.Var, int]] = [{}, {}, {}]
    for var in BOUNDED:
        low, size, unbounded, *places = draw(st.tuples(*[numbers] * 6))
        low, size = (0, 0, 0, 1, -3)[low % 5], size % 20 + 1
        for sample, place in zip(samples, places, strict=True):
            sample[var] = low + place % size
        ranges[var] = (low, low + size - 1 if unbounded % 4 else None)
    extreme = st.sampled_from([0, 1, -1, 7, -8, 2**31, 2**62, 2**63 - 1, -(2**63), 1 - 2**62])
    return Simplifier(ranges), samples, np.array([draw(extreme), draw(extreme)], np.int64)


@settings(max_examples=3 * settings.default.max_examples)
@given(expressions(), situations())
def test_simplified_expressions_have_the_same_value(expr: te.Expr, situation: Situation) -> None:
    simplify, samples, data = situation
    simple = simplify(expr)
    low, high = simplify.interval(expr)
    short_low, short_high = simplify.interval(simple)
    for sample in samples:
        expected = value(expr, sample, data)
        assert value(simple, sample, data) == expected
        for bound_low, bound_high in ((low, high), (short_low, short_high)):
            assert bound_low is None or bound_low <= expected
            assert bound_high is None or expected <= bound_high


@settings(max_examples=3 * settings.default.max_examples)
@given(st.sampled_from(COMPARE), expressions(), expressions(), situations())
def test_conditions_are_decided_rightly(
    op: str, left: te.Expr, right: te.Expr, situation: Situation
) -> None:
    simplify, samples, data = situation
    condition = compare(op, left, right)
    simple = simplify(condition)
    for sample in samples:
        assert value(simple, sample, data) == value(condition, sample, data)


@settings(max_examples=2 * settings.default.max_examples)
@given(st.data())
def test_sums_of_divisions_come_out_right(data: st.DataObject) -> None:
    """The form indices have: sums of variables, divided by constants, and again."""
    steps = data.draw(st.lists(st.tuples(*[numbers] * 6), min_size=1, max_size=4))
    expr: te.Expr = const(steps[0][0] % 10, INDEX)
    for *coefficients, divisor, which, again in steps:
        for var, coefficient in zip(BOUNDED, coefficients, strict=True):
            expr = expr + var * (0, 1, 2, 3, 4, 8, 12, -1, -4)[coefficient % 9]
        divisor = (2, 3, 4, 8, 12, 16)[divisor % 6]
        expr = expr // divisor if which % 2 else expr % divisor
        if again % 2:
            whole = BOUNDED[0] * 4 + BOUNDED[1]
            expr = expr + (whole // divisor) * divisor + whole % divisor
    simplify, samples, _ = data.draw(situations())
    for sample in samples:
        assert value(simplify(expr), sample) == value(expr, sample)


# --- sizes that only a run knows

SIZE, OTHER = te.Extent(INDEX, "n"), te.Extent(INDEX, "m")


def bound(**extents: te.Expr) -> tuple[Simplifier, dict[str, te.Var]]:
    simplify = Simplifier()
    made = {name: te.Var(INDEX, name) for name in extents}
    for name, extent in extents.items():
        simplify.bind(made[name], extent)
    return simplify, made


def test_a_size_is_never_negative() -> None:
    assert Simplifier().holds(SIZE >= 0)
    assert Simplifier()((SIZE * 4 + 3) // 4) == SIZE


def test_a_variable_is_below_the_size_it_runs_up_to() -> None:
    simplify, v = bound(i=SIZE)
    assert simplify.holds(v["i"] < SIZE)
    assert simplify.holds(v["i"] < SIZE + 3)
    assert simplify.holds(v["i"] <= SIZE - 1)
    assert not simplify.holds(v["i"] < SIZE - 1)
    assert not simplify.holds(v["i"] < OTHER)


def test_that_a_loop_runs_is_known_inside_of_it_only() -> None:
    simplify, v = bound(i=SIZE)
    assert not simplify.holds(SIZE > 0)
    assert simplify.holds(v["i"] - SIZE < 0)


def test_what_is_assumed_decides_what_follows_from_it() -> None:
    simplify, v = bound(l=const(16, INDEX))
    i = te.Var(INDEX, "i")
    known = simplify.assuming(negative=[Linear({i: 16, SIZE: -1}, 15)])
    assert known.holds(i * 16 + v["l"] < SIZE)
    assert not known.holds(i * 16 + v["l"] + 1 < SIZE)
    assert not simplify.holds(i * 16 + v["l"] < SIZE)


def test_the_end_of_an_earlier_loop_says_nothing_of_a_later_one() -> None:
    simplify, v = bound(i=SIZE)
    assert simplify.holds(v["i"] < SIZE)
    simplify.bind(v["i"], OTHER)
    assert not simplify.holds(v["i"] < SIZE)
    assert simplify.holds(v["i"] < OTHER)


def test_two_loops_as_one_are_told_apart_within_their_ends() -> None:
    simplify, v = bound(ij=SIZE * OTHER)
    assert simplify.holds(v["ij"] // OTHER < SIZE)
    assert simplify.holds(v["ij"] % OTHER < OTHER)
    assert not simplify.holds(v["ij"] % SIZE < OTHER)
    assert simplify((v["ij"] // OTHER) * OTHER + v["ij"] % OTHER) == v["ij"]


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(COMPARE), st.data())
def test_what_sizes_decide_holds_for_every_number(
    n: int, m: int, op: str, data: st.DataObject
) -> None:
    simplify, v = bound(i=SIZE, j=OTHER, ij=SIZE * OTHER)
    atoms = [*v.values(), SIZE, OTHER, v["ij"] // OTHER, v["ij"] % OTHER, v["ij"] // SIZE]
    terms = data.draw(st.lists(st.tuples(st.sampled_from(atoms), st.integers(-3, 3)), max_size=4))
    total: te.Expr = te.index(data.draw(st.integers(-4, 4)))
    for atom, factor in terms:
        total = total + atom * factor
    condition = simplify(compare(op, total, te.index(0)))
    if not isinstance(condition, te.Const):
        return
    for i in range(n):
        for j in range(m):
            for ij in range(n * m):
                numbers = {SIZE: n, OTHER: m, v["i"]: i, v["j"]: j, v["ij"]: ij}
                put = {var: te.index(value) for var, value in numbers.items()}
                truth = substitute(compare(op, total, te.index(0)), put)
                assert truth == condition
