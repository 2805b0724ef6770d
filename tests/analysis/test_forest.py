"""Meeting points in growing trees, against walking up step by step."""

from hypothesis import given
from hypothesis import strategies as st

from relay.analysis.forest import Forest


def ancestors(forest, node):
    found = [node]
    while (node := forest.parent[node]) is not None:
        found.append(node)
    return found


@st.composite
def forests(draw):
    forest = Forest()
    for i in range(draw(st.integers(1, 40))):
        forest.add(draw(st.one_of(st.none(), st.integers(0, i - 1))) if i else None)
    return forest


@given(forests(), st.data())
def test_two_nodes_meet_at_their_lowest_common_ancestor(forest, data):
    node = st.integers(0, len(forest.parent) - 1)
    a, b = data.draw(node), data.draw(node)
    above = ancestors(forest, b)
    expected = next((x for x in ancestors(forest, a) if x in above), None)
    assert forest.meet(a, b) == expected
    assert forest.meet(a, None) is None
    assert forest.is_above(a, b) == (a in above)
    assert [forest.ancestor(a, forest.depth[x]) for x in ancestors(forest, a)] == ancestors(
        forest, a
    )


def test_long_chains_are_quick():
    forest = Forest()
    node = forest.add(None)
    for _ in range(50_000):
        node = forest.add(node)
    branch = forest.add(25_000)
    for _ in range(20_000):
        branch = forest.add(branch)
    for _ in range(2_000):
        assert forest.meet(node, branch) == 25_000
        assert forest.ancestor(node, 7) == 7
