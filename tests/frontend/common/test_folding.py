"""What is computed while a model is translated, and what is left to a run."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.check.infer import infer_expr
from relay.frontend.common.folding import FOLDED, STEP, folded
from relay.ir.expr import Expr, Tuple, TupleGetItem, Var, const
from relay.ir.types import TensorType


def value(expr: Expr) -> np.ndarray | None:
    found = folded(infer_expr(expr))
    return None if found is None else found.array


def test_constants_are_computed_with() -> None:
    pair = Tuple((const([1, 2]), op.negative(const([3, 4]))))
    found = value(op.add(TupleGetItem(pair, 1), const(1)))
    np.testing.assert_array_equal(found, [-2, -3])


def test_what_depends_on_a_run_is_not() -> None:
    x = Var("x", TensorType((2,), "float32"))
    assert value(op.add(x, const([1.0, 2.0], "float32"))) is None


def test_random_numbers_are_drawn_in_a_run() -> None:
    key = const(np.zeros(10, "uint64"))
    assert value(TupleGetItem(op.random.threefry_split(key), 0)) is None


def test_large_results_of_little_are_left_to_a_run() -> None:
    count = FOLDED // 4
    small, large = (op.zeros((size,), "float32") for size in (count, count + 1))
    assert value(small) is not None
    assert value(large) is None


def test_large_results_of_much_are_computed() -> None:
    much = const(np.ones(FOLDED, "float32"))
    found = value(op.negative(much))
    assert found is not None and found.size == FOLDED


def test_large_steps_are_not_taken_even_if_little_comes_out() -> None:
    assert value(op.sum(op.zeros((STEP,), "float32"))) is None
    assert value(op.sum(op.zeros((STEP // 4,), "float32"))) is not None


def test_sizes_that_only_values_tell_are_known_before_memory_is_taken() -> None:
    one = const(1.0, "float32")
    few = value(op.dyn.full(one, const([2, 3], "int64"), dtype="float32"))
    assert few is not None and few.shape == (2, 3)
    for sizes in ([2**40], [2**62, 2**62], [-1]):
        assert value(op.dyn.full(one, const(sizes, "int64"), dtype="float32")) is None


def test_what_fails_is_left_to_a_run_which_says_what_is_wrong() -> None:
    six = const(np.arange(6), "int64")
    assert value(op.dyn.reshape(six, const([4, 4], "int64"))) is None
