"""Scalar expressions: built by operators, folded where that is safe, compared by structure."""

from __future__ import annotations

import math

import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import (
    INDEX,
    Binary,
    Cast,
    Compare,
    binary,
    const,
    fold,
    reads,
    remake,
    same,
    substitute,
    variables,
)

I, J = te.Var(INDEX, "i"), te.Var(INDEX, "j")  # noqa: E741
X = te.placeholder((4, 4), "float32", "x")
W = te.placeholder((4,), "int32", "w")
T = te.Var("bool", "t")


# --- building


def test_operators_build_nodes() -> None:
    assert repr((W[I] + 1) * W[J] - 2) == "(((w[i] + 1:int32) * w[j]) - 2:int32)"
    assert repr(-X[I, J] / 2.0) == "(-(x[i, j]) / 2.0:float32)"
    assert repr(1 - W[I]) == "(1:int32 - w[i])"
    assert repr(~(W[I] << 2) & 7) == "(~((w[i] << 2:int32)) & 7:int32)"
    assert repr(te.minimum(W[I], 3)) == "min(w[i], 3:int32)"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (I + 0, "i"),
        (0 + I, "i"),
        (I - 0, "i"),
        (I * 1, "i"),
        (1 * I, "i"),
        (I * 0, "0"),
        (I // 1, "i"),
        (I % 1, "0"),
        (0 // I, "0"),
        (te.index(7) // 2 + te.index(7) % 2, "4"),
        (te.index(-7) // 2, "-4"),
        (te.truncdiv(te.index(-7), 2), "-3"),
        (te.truncmod(te.index(-7), 2), "-1"),
        (te.index(7) // 0, "0"),
        (te.index(7) % 0, "7"),
        (te.index(2**63 - 1) + 1, str(-(2**63))),
        (te.minimum(I, I), "i"),
        (te.index(3) < 4, "True"),
        (te.every(T, te.index(3) < 4), "t"),
        (te.every(T, te.index(4) < 3), "False"),
        (te.some(T, te.index(3) < 4), "True"),
        (te.some(T, te.index(4) < 3), "t"),
        (te.every(), "True"),
        (te.some(), "False"),
        (te.select(te.index(3) < 4, I, J), "i"),
        (~(te.index(3) < 4), "False"),
        (te.absolute(te.index(-3)), "3"),
        (te.cast(te.const(300, "int32"), "uint8"), "44:uint8"),
        (te.cast(I, INDEX), "i"),
    ],
)
def test_what_is_trivial_is_done_at_once(expr: te.Expr, expected: str) -> None:
    assert repr(expr) == expected


def test_floats_are_not_folded() -> None:
    # 0 * infinity is no zero, and -0 + 0 is no -0
    assert isinstance(X[I, J] * 0.0, Binary)
    assert isinstance(X[I, J] + 0.0, Binary)
    assert isinstance(te.const(1, "float32") + te.const(2, "float32"), Binary)
    assert isinstance(te.cast(te.const(1.5, "float32"), "int32"), Cast)


def test_numbers_wrap_and_round_to_their_type() -> None:
    assert te.const(300, "uint8").value == 44
    assert te.const(200, "int8").value == -56
    assert te.const(9, "int4").value == -7
    assert te.const(0.1, "float32").value == pytest.approx(0.1, abs=1e-8)
    assert te.const(0.1, "float32").value != 0.1
    assert te.const(0.1, "float64").value == 0.1
    assert te.const(1e10, "float16").value == math.inf
    assert te.const(2, "bool").value is True


@pytest.mark.parametrize(
    ("op", "a", "b", "dtype", "expected"),
    [
        ("truncdiv", -7, 2, "int32", -3),
        ("truncmod", -7, 2, "int32", -1),
        ("floordiv", -7, 2, "int32", -4),
        ("mod", -7, 2, "int32", 1),
        ("mod", 7, -2, "int32", -1),
        ("floordiv", 7, 0, "int32", 0),
        ("truncmod", 7, 0, "int32", 7),
        ("shl", 1, 32, "int32", 0),
        ("shl", 1, -1, "int32", 0),
        ("shr", -8, 40, "int32", -1),
        ("shr", 8, 40, "int32", 0),
    ],
)
def test_every_whole_number_operation_is_defined(
    op: str, a: int, b: int, dtype: str, expected: int
) -> None:
    assert fold(op, a, b, dtype) == expected


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("bool", 1), ("int4", 4), ("float8_e4m3fn", 8), ("bfloat16", 16), ("int64", 64)],
)
def test_widths(dtype: str, bits: int) -> None:
    assert te.width(dtype) == bits


# --- errors


def test_operands_must_have_one_type() -> None:
    with pytest.raises(RelayError, match="different types: float32 and int32; cast one"):
        W[I] + X[I, J]


def test_an_expression_has_no_truth() -> None:
    with pytest.raises(RelayError, match="no truth value"):
        bool(I < J)
    with pytest.raises(RelayError, match="no truth value"):
        assert 0 <= I < 4


def test_functions_are_known_by_name_and_arity() -> None:
    assert te.call("isnan", X[I, J]).dtype == "bool"
    assert te.call("fma", X[I, J], X[I, J], X[I, J]).dtype == "float32"
    with pytest.raises(RelayError, match="no function `gamma` of 1 arguments"):
        te.call("gamma", X[I, J])
    with pytest.raises(RelayError, match="no function `exp` of 2 arguments"):
        te.call("exp", X[I, J], X[I, J])


def test_a_read_has_as_many_indices_as_axes() -> None:
    with pytest.raises(RelayError, match="`x` has 2 axes, found 1 indices"):
        X[I]
    narrow = te.cast(W[0], INDEX)
    assert X[W[0], 1].indices[0] == narrow


# --- structure


def test_equality_is_of_structure() -> None:
    assert X[I, J] + 1.0 == X[I, J] + 1.0
    assert hash(X[I, J] + 1.0) == hash(X[I, J] + 1.0)
    assert X[I, J] != X[J, I]
    assert X[I, J] + 1.0 != X[I, J] - 1.0
    assert (I < J) != (I <= J)
    assert te.Var(INDEX, "i") != I  # every variable is its own
    assert te.placeholder((4, 4), "float32", "x")[I, J] != X[I, J]
    assert te.cast(W[I], "int8") != te.cast(W[I], "uint8")
    assert te.call("exp", X[I, J]) != te.call("log", X[I, J])
    assert I != 3


def test_zeros_differ_by_sign_and_nan_is_itself() -> None:
    zero, minus = te.const(0.0, "float32"), te.const(-0.0, "float32")
    assert zero != minus
    nan = float("nan")
    assert te.const(nan, "float32") == te.const(nan, "float32")


def test_shared_parts_are_compared_once() -> None:
    def tower() -> te.Expr:
        result: te.Expr = I
        for _ in range(200):
            result = Binary(INDEX, "add", result, result)
        return result

    assert same(tower(), tower())
    assert not same(tower(), Binary(INDEX, "add", tower(), J))


def test_reductions_differ_by_what_they_run_over() -> None:
    k, m = te.axis(4), te.axis(4)
    assert te.sum(X[I, k], k) == te.sum(X[I, k], k)
    assert te.sum(X[I, k], k) != te.sum(X[I, m], m)
    assert te.sum(X[I, k], k) != te.max(X[I, k], k)
    best = te.argmax(X[I, k], k, k)
    assert best[0] != best[1]


# --- walking


def test_variables_are_those_that_are_free() -> None:
    k = te.axis(4)
    assert variables(te.sum(X[I, k] * te.cast(k, "float32"), k) + X[J, 0]) == {I, J}


def test_reads_include_those_in_indices() -> None:
    assert [repr(read) for read in reads(X[W[I], 0])] == ["w[i]", "x[int64(w[i]), 0]"]


def test_substitution_folds() -> None:
    expr = te.select((I * 4 + J) % 4 < 2, X[I, J], 0.0)
    assert repr(substitute(expr, {I: const(1, INDEX), J: const(1, INDEX)})) == "x[1, 1]"
    assert substitute(expr, {}) is expr
    assert substitute(expr, {te.Var(INDEX, "other"): I}) is expr


def test_substitution_is_of_all_variables_at_once() -> None:
    assert substitute(I - J, {I: J, J: I}) == J - I


def test_deep_expressions_need_no_stack() -> None:
    expr: te.Expr = X[I, J]
    for _ in range(20_000):
        expr = expr + 1.0
    moved = substitute(expr, {I: J})
    assert variables(moved) == {J}
    assert moved == substitute(expr, {I: J})


def test_remaking_an_unchanged_node_gives_the_node() -> None:
    node = I + J
    assert remake(node, node) is node
    folded = remake(node, Binary(INDEX, "add", const(1, INDEX), const(2, INDEX)))
    assert folded == const(3, INDEX)
    assert remake(I < J, Compare("bool", "lt", const(1, INDEX), const(2, INDEX))) == te.every()


def test_binary_takes_numbers_on_either_side() -> None:
    assert binary("sub", 3, I) == 3 - I
    with pytest.raises(RelayError, match="one operand must be"):
        binary("add", 1, 2)
