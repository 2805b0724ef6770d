"""Tensors and what they are computed from."""

from __future__ import annotations

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.compute import Computation, sources
from relay.te.evaluate import evaluate

X = te.placeholder((3, 4), "int32", "x")
ARRAY = np.arange(12, dtype=np.int32).reshape(3, 4)


def test_a_computation_says_what_each_element_is() -> None:
    y = te.compute((4, 3), lambda i, j: X[j, i] * 2, "y")
    assert repr(y) == "y: int32[4, 3]"
    assert repr(y.op.bodies[0]) == "(x[j, i] * 2:int32)"
    (found,) = evaluate([y], {X: ARRAY})
    np.testing.assert_array_equal(found, ARRAY.T * 2)


def test_several_tensors_are_computed_together() -> None:
    low, high = te.compute_many((3,), lambda i: (X[i, 0], X[i, 3]), "ends")
    assert low.op is high.op
    assert (low.position, high.position) == (0, 1)
    found = evaluate([high, low], {X: ARRAY})
    np.testing.assert_array_equal(found, [ARRAY[:, 3], ARRAY[:, 0]])


def test_a_tensor_of_no_axes_has_one_element() -> None:
    k, l = te.axis(3), te.axis(4)  # noqa: E741
    total = te.compute((), lambda: te.sum(X[k, l], [k, l]))
    assert total.rank == 0
    assert evaluate([total], {X: ARRAY})[0] == ARRAY.sum()


def test_a_sum_alone_is_a_reduction() -> None:
    k = te.axis(4)
    y = te.compute((3,), lambda i: te.sum(X[i, k], k))
    assert y.op.reduction is not None
    assert y.op.reduction_axes == (k,)
    assert te.compute((3,), lambda i: X[i, 0]).op.reduction is None


def test_a_sum_inside_an_expression_is_a_tensor_of_its_own() -> None:
    k = te.axis(4)
    y = te.compute((3, 2), lambda i, j: te.sum(X[i, k], k) + te.cast(j, "int32"), "y")
    assert repr(y.op.bodies[0]) == "(y_sum[i] + int32(j))"
    (inner,) = y.op.inputs
    assert repr(inner) == "y_sum: int32[3]"
    assert inner.op.reduction is not None
    (found,) = evaluate([y], {X: ARRAY})
    np.testing.assert_array_equal(found, ARRAY.sum(1)[:, None] + [0, 1])


def test_a_sum_of_sums_is_two_reductions() -> None:
    k, l = te.axis(4), te.axis(3)  # noqa: E741
    y = te.compute((), lambda: te.max(te.sum(X[l, k], k) * te.cast(l, "int32"), l), "y")
    (inner,) = y.op.inputs
    assert repr(inner) == "y_sum: int32[3]"
    assert evaluate([y], {X: ARRAY})[0] == max(ARRAY.sum(1) * [0, 1, 2])


def test_equal_sums_are_one_tensor() -> None:
    k = te.axis(4)
    y = te.compute_many((3,), lambda i: (te.sum(X[i, k], k) + 1, te.sum(X[i, k], k) + 2), "y")
    assert len(sources(y[0].op.bodies)) == 1


def test_both_values_of_a_reduction_share_it() -> None:
    k = te.axis(4)

    def body(i: te.Expr) -> te.Expr:
        value, place = te.argmax(X[i, k] % 3, k, k)
        return value * 10 + te.cast(place, "int32")

    y = te.compute((3,), body, "y")
    assert len({id(tensor.op) for tensor in y.op.inputs}) == 1
    (found,) = evaluate([y], {X: ARRAY})
    np.testing.assert_array_equal(found, [22, 21, 20])


def test_a_reduction_over_nothing_is_its_elements() -> None:
    y = te.compute((3,), lambda i: te.sum(X[i, 0], []))
    assert y.op.reduction is None


def test_inputs_are_found_each_once() -> None:
    w = te.placeholder((4,), "int64", "w")
    y = te.compute((3,), lambda i: X[i, w[i]] + X[i, 0])
    assert sorted(tensor.name for tensor in y.op.inputs) == ["w", "x"]
    assert sources([]) == []


def test_extents_are_numbers_or_an_error() -> None:
    n = te.Var("int64", "n")
    assert X.extents == (3, 4)
    with pytest.raises(RelayError, match="known at run time only"):
        te.placeholder((n, 3), "int32", "y").extents  # noqa: B018


def test_an_element_is_an_expression() -> None:
    with pytest.raises(RelayError, match="is a scalar expression, found 3"):
        te.compute((3,), lambda i: 3, "y")


def test_axes_have_letters_as_long_as_there_are_any() -> None:
    op = te.compute((1,) * 10, lambda *i: X[i[0], i[1]]).op
    assert isinstance(op, Computation)
    assert [axis.name for axis in op.axes] == [*"ijklmnop", "i8", "i9"]


def test_a_procedure_fills_tensors_with_loops() -> None:
    def write(b: te.Builder, running: te.Buffer, count: te.Buffer) -> None:
        b.store(count, (), 0)
        with b.loop(3) as i:
            b.store(count, (), count[()] + X[i, 0])
            b.store(running, i, count[()])

    running, count = te.procedure([X], [((3,), "int32"), ((), "int32")], write, "running")
    assert repr(running) == "running: int32[3]"
    found = evaluate([running, count], {X: ARRAY})
    np.testing.assert_array_equal(found[0], [0, 4, 12])
    assert found[1] == 12
