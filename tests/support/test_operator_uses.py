"""Uses of operators to test."""

from relay.op.opdef import get
from relay.testing.operators import SMALL, size
from tests.support.operator_uses import (
    LARGE,
    computed_names,
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
