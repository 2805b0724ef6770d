"""Which results of weights are computed once and stored."""

import pytest

import relay
from relay.analysis.precompute import GROWTH, SMALL, is_precomputable, is_worth_storing, size_of
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import OpDef


@pytest.mark.parametrize(
    ("made", "read", "kept"),
    [(SMALL, 1, True), (SMALL + 1, 1, False), (GROWTH * SMALL, SMALL, True), (4, 4, True)],
)
def test_results_are_kept_that_are_small_or_not_much_larger_than_the_weights(made, read, kept):
    assert is_worth_storing(made, read) == kept


@pytest.mark.parametrize(("name", "same"), [("add", True), ("random.uniform", False)])
def test_what_is_drawn_is_not_the_same_twice(name, same):
    op = relay.op.get(name)
    assert isinstance(op, OpDef)
    assert is_precomputable(op) == same


def test_sizes_are_in_bytes_where_they_are_known():
    matrix = TensorType((2, 3), "float16")
    assert size_of(matrix) == 12
    assert size_of(TupleType((matrix, TensorType((), "int64")))) == 20
    assert size_of(TensorType((relay.Any(), 3), "float32")) is None
