"""What is tried of an operator, and how near is near enough."""

import numpy as np
import pytest

from relay.op.opdef import Sample, Tensor, get
from relay.testing.operators import (
    LARGE,
    SMALL,
    Use,
    assert_agree,
    computed_names,
    expected,
    size,
    to_tensors,
    trimmed,
    uses,
    with_other_elements,
    with_other_extents,
)


def shapes(use):
    return [array.shape for array in use.sample.values()]


def test_uses_have_names_of_their_own():
    for name in ("add", "nn.conv2d", "argwhere"):
        found = [use.name for use in uses(get(name))]
        assert len(set(found)) == len(found)
        assert all(one.startswith(f"{name}-") for one in found)


def test_element_types_are_those_the_relation_takes():
    found = {use.name for use in with_other_elements(get("bitwise_and"))}
    assert "bitwise_and-int16" in found
    assert not any("float" in name for name in found)


def test_values_of_another_element_type_are_those_it_has():
    found = {use.name: use for use in with_other_elements(get("abs"))}
    values = found["abs-uint4"].sample.values()[0]
    assert values.dtype.name == "uint4" and values.astype(int).min() >= 0


def test_extents_that_belong_together_change_together():
    for use in with_other_extents(get("nn.dense")):
        data, weight = shapes(use)
        assert data[-1] == weight[-1]


def test_extents_are_none_one_odd_and_many():
    found = list(with_other_extents(get("nn.batch_flatten")))
    small = {n for use in found if size(use.sample) <= SMALL for n in shapes(use)[0]}
    assert {0, 1, 5, 17, 37} <= small
    assert any(LARGE <= size(use.sample) <= 4 * LARGE for use in found)


def test_every_operator_has_uses():
    names = computed_names()
    assert "nn.conv2d" in names and not any(name.startswith("memory.") for name in names)
    assert all(next(uses(get(name)), None) is not None for name in names)


def test_results_without_the_room_that_was_not_needed():
    use = next(uses(get("argwhere")))
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
    assert_agree(use_of(LARGE), [found], [wanted])
    with pytest.raises(AssertionError):
        assert_agree(use_of(2), [found], [wanted])


def test_the_reference_gives_one_result_or_several():
    assert len(expected(use_of(2))) == 1
    assert len(expected(next(uses(get("split"))))) > 1
