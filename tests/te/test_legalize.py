"""Expressions in instructions of a machine: the same values, in types it computes with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import dtypes, te
from relay.te.execute import run
from relay.te.expr import BINARY, UNARY, Call, Cast, Expr, Read, Var, binary, unary
from relay.te.legalize import Facts, carrier, legalize
from relay.te.loops import Buffer, Builder, Let, Statement, Store
from relay.te.narrow import NARROW_FLOATS, STORAGE
from relay.tree import children, postorder

ALL = Facts()
NONE = Facts(has_fma=False, has_f16c=False, has_rounding=False)
COMPUTED = {
    "float32",
    "float64",
    "bool",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
}

Body = Callable[[Expr, Expr], Expr]


def buffers(dtype: str, result: str, count: int = 1) -> tuple[Buffer, Buffer, Buffer]:
    size = (te.index(count),)
    return Buffer("a", size, dtype), Buffer("b", size, dtype), Buffer("y", size, result)


def statement(dtype: str, body: Body, count: int = 1) -> tuple[Statement, tuple[Buffer, ...]]:
    """y[i] = body(a[i], b[i])"""
    made = body(*(buffer[0] for buffer in buffers(dtype, dtype)[:2])).dtype
    a, b, y = buffers(dtype, made, count)
    builder = Builder()
    with builder.loop(count) as i:
        builder.store(y, i, body(a[i], b[i]))
    return builder.finish(), (a, b, y)


def legal_value(body: Body, dtype: str = "float32", facts: Facts = ALL) -> Expr:
    """What is stored once `body` of two elements is legal."""
    whole, _ = statement(dtype, body)
    (store,) = [part for part in postorder(legalize(whole, facts)) if isinstance(part, Store)]
    return store.value


def calls(value: Expr) -> set[str]:
    return {part.function for part in postorder(value) if isinstance(part, Call)}


# --- types


def operations(dtype: str) -> list[Body]:
    is_float = dtypes.is_float(dtype)
    integers = ("and", "or", "xor", "shl", "shr", "not")
    skipped = integers if is_float else ("div",)
    found: list[Body] = [lambda a, b, op=op: binary(op, a, b) for op in BINARY if op not in skipped]
    found += [lambda a, b, op=op: unary(op, a) for op in UNARY if op not in skipped]
    found += [lambda a, b, kind=kind: te.cast(a, kind) for kind in dtypes.NAMES]
    return found


@pytest.mark.parametrize("facts", [ALL, NONE], ids=["everything", "nothing"])
@pytest.mark.parametrize("dtype", dtypes.NAMES)
def test_only_types_that_processors_compute_with_are_left(dtype: str, facts: Facts) -> None:
    for body in operations(dtype):
        value = legal_value(body, dtype, facts)
        for part in postorder(value):
            if part.dtype not in COMPUTED:
                # a narrow float, right at a read or in the last conversion before a store
                assert part.dtype in NARROW_FLOATS
                assert part is value or isinstance(part, Read)


@pytest.mark.parametrize("dtype", dtypes.NAMES)
def test_values_are_carried_in_types_that_hold_them(dtype: str) -> None:
    assert carrier(dtype) in COMPUTED
    assert carrier(carrier(dtype)) == carrier(dtype)


def test_a_name_has_the_type_its_value_is_computed_in() -> None:
    a, _, y = buffers("float16", "float16")
    name = Var("float16", "t")
    body = Let(name, a[0] + a[0], Store(y, (te.index(0),), name * name))
    found = legalize(body, ALL)
    assert isinstance(found, Let)
    assert found.var.dtype == found.value.dtype == "float32"
    array, made = np.array([1.5], "float16"), np.zeros(1, "float16")
    run(found, {a: array, y: made})
    assert made[0] == 9


# --- values


@pytest.mark.rotate(3)
@pytest.mark.parametrize("facts", [ALL, NONE], ids=["everything", "nothing"])
@pytest.mark.parametrize("dtype", [*STORAGE, "int8", "float16", *dtypes.FLOAT8])
def test_values_are_those_of_the_definition(dtype: str, facts: Facts) -> None:
    stored = dtypes.to_numpy(dtype)
    some = np.array([0, 1, 2, 3, 7, -1, -2, -8] if dtype[0] in "if" else [0, 1, 0, 1, 1, 1, 0, 0])
    a = np.repeat(some, len(some)).astype(stored)
    b = np.tile(some, len(some)).astype(stored)
    for body in operations(dtype):
        whole, (x, y, z) = statement(dtype, body, len(a))
        kind = dtypes.to_numpy(z.dtype)
        wanted, found = np.zeros(len(a), kind), np.zeros(len(a), kind)
        run(whole, {x: a, y: b, z: wanted})
        run(legalize(whole, facts), {x: a, y: b, z: found})
        np.testing.assert_array_equal(found.astype(float), wanted.astype(float), repr(whole))


def test_quotients_of_floats_are_rounded_down_as_numpy_does() -> None:
    numbers = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, 1e30, np.inf, -np.inf, np.nan])
    a = np.repeat(numbers, len(numbers)).astype("float32")
    b = np.tile(numbers, len(numbers)).astype("float32")
    with np.errstate(all="ignore"):
        for op, oracle in (("floordiv", np.floor_divide), ("mod", np.mod), ("truncmod", np.fmod)):
            whole, (x, y, z) = statement("float32", lambda p, q, op=op: binary(op, p, q), len(a))
            found = np.zeros(len(a), "float32")
            run(legalize(whole, ALL), {x: a, y: b, z: found})
            wanted = oracle(a, b)
            np.testing.assert_array_equal(found, wanted, op)
            numbers_only = ~np.isnan(wanted)
            signs = np.signbit(found)[numbers_only], np.signbit(wanted)[numbers_only]
            np.testing.assert_array_equal(*signs, op)


def test_the_upper_half_of_a_byte_with_four_bits_counts_for_nothing() -> None:
    whole, (a, b, y) = statement("int4", lambda p, q: p + q)
    found = np.zeros(1, dtypes.to_numpy("int4"))
    dirty = np.array([0x13], "uint8").view(dtypes.to_numpy("int4"))  # 3
    run(legalize(whole, ALL), {a: dirty, b: dirty, y: found})
    assert int(found[0]) == 6


def test_bits_of_four_bit_numbers_are_counted_among_four() -> None:
    for function, right in (("popcount", [0, 1, 4, 1]), ("clz", [4, 3, 0, 0])):
        whole, (a, b, y) = statement("int4", lambda p, q, f=function: te.call(f, p), 4)
        numbers = np.array([0, 1, -1, -8]).astype(dtypes.to_numpy("int4"))
        found = np.zeros(4, dtypes.to_numpy("int4"))
        run(legalize(whole, ALL), {a: numbers, b: numbers, y: found})
        np.testing.assert_array_equal(found.astype(int), right, function)


# --- instructions


@pytest.mark.parametrize(
    "body",
    [
        lambda a, b: a * b + a,
        lambda a, b: a + a * b,
        lambda a, b: a * b - a,
        lambda a, b: a - a * b,
        lambda a, b: a * b + a * a,
    ],
)
def test_a_product_and_a_sum_are_one_instruction_where_the_machine_has_it(body: Body) -> None:
    assert calls(legal_value(body)) == {"fma"}
    assert calls(legal_value(body, facts=NONE)) == set()


def test_integers_are_never_fused() -> None:
    assert calls(legal_value(lambda a, b: a * b + a, "int32")) == set()


def test_float16_is_converted_by_the_machine_or_on_its_bits() -> None:
    with_instructions = legal_value(lambda a, b: a + b, "float16")
    assert isinstance(with_instructions, Cast)
    without = legal_value(lambda a, b: a + b, "float16", NONE)
    kinds = {part.dtype for part in postorder(without)}
    assert "uint32" in kinds
    casts = [part for part in postorder(without) if isinstance(part, Cast)]
    assert all(child.dtype != "float16" for part in casts for child in children(part))


def test_copies_of_narrow_floats_are_not_converted() -> None:
    for facts in (ALL, NONE):
        for dtype in NARROW_FLOATS:
            assert isinstance(legal_value(lambda a, b: a, dtype, facts), Read)


def test_functions_are_written_out_except_those_the_machine_has() -> None:
    def both(a: Expr, b: Expr) -> Expr:
        return te.call("tanh", a) + te.call("sqrt", b)

    assert "sqrt" in calls(legal_value(both))
    assert "tanh" not in calls(legal_value(both))
    assert "floor" in calls(legal_value(lambda a, b: te.call("floor", a)))
    assert "floor" not in calls(legal_value(lambda a, b: te.call("floor", a), facts=NONE))


# --- size


def test_what_is_shared_stays_shared() -> None:
    def twice(a: Expr, b: Expr) -> Expr:
        costly = te.call("exp", a)
        return te.maximum(costly, costly * b)

    once = len(list(postorder(legal_value(lambda a, b: te.call("exp", a)))))
    assert len(list(postorder(legal_value(twice)))) < once + 10


def test_long_chains_take_no_stack() -> None:
    def chain(a: Expr, b: Expr) -> Expr:
        for _ in range(10_000):
            a = te.maximum(a, b - a)
        return a

    assert legal_value(chain, "float16").dtype == "float16"
