"""Operators are checked against their references."""

import numpy as np
import pytest

from relay import te
from relay.op.opdef import FusionKind, Sample, Tensor, define, get, sample, temporary_operators
from relay.op.relations import same_type
from relay.testing.operators import (
    Use,
    assert_agree,
    check_operator,
    expected,
    to_tensors,
    trimmed,
)


def first_use(name):
    op = get(name)
    return Use(op, op.samples[0], name)


@pytest.mark.parametrize("name", ["nn.dense", "split", "argwhere"])
def test_operators_agree_with_their_references(name):
    check_operator(get(name))


def test_a_compute_that_differs_from_the_reference_is_found():
    with temporary_operators():
        wrong = define(
            "my.twice",
            doc="",
            arguments=[("data", "")],
            relation=same_type,
            reference=lambda data: data * 2,
            compute=lambda data, out: te.compute(out.shape, lambda *i: data[i] * 3.0),
            fusion=FusionKind.ELEMWISE,
            samples=[sample((2, 3))],
        )
        with pytest.raises(AssertionError):
            check_operator(wrong)


def test_results_are_cut_to_their_actual_shapes():
    use = first_use("argwhere")
    computed, _ = to_tensors(use)
    assert len(computed.outputs) == 2
    room = np.arange(24).reshape(12, 2)
    (found,) = trimmed(use.op, [room, np.array([[5, 2]])])
    np.testing.assert_array_equal(found, room[:5])


def use_of(*shape):
    return Use(get("add"), Sample((Tensor(shape), Tensor(shape))), "add")


def test_floats_are_compared_by_a_table_and_integers_exactly():
    one = np.ones(3, np.float32)
    assert_agree(use_of(3), [one * np.float32(1 + 1e-5)], [one])
    with pytest.raises(AssertionError):
        assert_agree(use_of(3), [one * np.float32(1 + 1e-3)], [one])
    with pytest.raises(AssertionError):
        assert_agree(use_of(3), [np.array([1, 2, 4])], [np.array([1, 2, 3])])
    with pytest.raises(AssertionError):
        assert_agree(use_of(3), [np.ones(3)], [one])


def test_more_is_tolerated_in_large_uses():
    found, wanted = np.float32([0.002, 1000]), np.float32([0, 1000])
    assert_agree(use_of(400_000), [found], [wanted])
    with pytest.raises(AssertionError):
        assert_agree(use_of(2), [found], [wanted])


def test_the_reference_gives_one_result_or_several():
    assert len(expected(use_of(2))) == 1
    assert len(expected(first_use("split"))) > 1
