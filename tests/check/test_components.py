from relay.check.components import strongly_connected
from tests.support.sampling import deep


def test_callees_come_before_callers():
    assert strongly_connected({"a": ["b"], "b": ["c"], "c": []}) == [["c"], ["b"], ["a"]]


def test_mutual_recursion_is_one_group():
    groups = strongly_connected({"main": ["even"], "even": ["odd"], "odd": ["even", "leaf"]})
    assert [sorted(g) for g in groups] == [["even", "odd"], ["main"]]


def test_a_function_that_calls_itself_is_a_group_of_one():
    assert strongly_connected({"f": ["f"]}) == [["f"]]


def test_a_long_chain_needs_no_recursion():
    chain = {i: [i + 1] for i in range(deep(100_000))}
    assert strongly_connected(chain)[0] == [deep(100_000) - 1]
