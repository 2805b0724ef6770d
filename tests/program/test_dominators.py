"""Dominators, by their definition: without the block, there is no way to the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from relay.program.dominators import Dominators
from relay.program.program import Block, Branch, Fail, Function, Jump, ScalarSpec


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 9))
    block = st.integers(0, count - 1)
    blocks = []
    for _ in range(count):
        last = draw(
            st.just(Fail(""))
            | st.builds(Jump, block)
            | st.builds(Branch, st.just(0), block, block)
            | st.builds(Branch, st.just(0), block, block)
        )
        blocks.append(Block((last,)))
    return Function("f", (), (ScalarSpec("bool"),), tuple(blocks))


def reached(function, without=None):
    """The blocks that can be reached when one is closed."""
    found, pending = set(), [0]
    while pending:
        number = pending.pop()
        if number in found or number == without:
            continue
        found.add(number)
        last = function.blocks[number].instructions[-1]
        pending += [
            getattr(last, name) for name in ("block", "true", "false") if hasattr(last, name)
        ]
    return found


@settings(max_examples=200)
@given(graphs())
def test_a_block_dominates_what_cannot_be_reached_without_it(function):
    dominators = Dominators(function)
    known = reached(function)
    assert {b for b in range(len(function.blocks)) if dominators.is_reached(b)} == known
    for block in known:
        still = reached(function, without=block)
        for other in known:
            assert dominators.dominates(block, other) == (other not in still)


def test_long_functions_take_no_longer_than_their_length():
    count = 50_000
    blocks = [Block((Branch(0, i + 1, max(0, i - 1)),)) for i in range(count - 1)]
    function = Function("f", (), (ScalarSpec("bool"),), (*blocks, Block((Fail(""),))))
    dominators = Dominators(function)
    assert dominators.dominates(count // 2, count - 1)
    assert not dominators.dominates(count - 1, count // 2)
