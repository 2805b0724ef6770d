"""Storages share memory, but none that is needed."""

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.arena import ALIGNMENT, assign, in_order_of_birth, in_order_of_size


class Storage(NamedTuple):
    size: int
    first: int
    last: int


storages = st.lists(
    st.builds(
        lambda size, first, length: Storage(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 30),
        st.integers(0, 10),
    ),
    max_size=40,
)


@pytest.mark.parametrize("assign", [assign, in_order_of_birth, in_order_of_size])
@given(given=storages)
def test_storages_alive_together_do_not_overlap(assign, given):
    offsets, size = assign(given)
    for i, (a, at) in enumerate(zip(given, offsets, strict=True)):
        assert at % ALIGNMENT == 0
        assert at + a.size <= size
        for b, there in zip(given[:i], offsets, strict=False):
            if a.first <= b.last and b.first <= a.last and a.size and b.size:
                assert at + a.size <= there or there + b.size <= at


def test_the_better_way_is_taken():
    chain = [Storage(100, 0, 2), Storage(1000, 1, 1), Storage(1500, 2, 3), Storage(60, 3, 4)]
    for case in (chain, [Storage(64 * (i % 7), i, i + i % 5) for i in range(60)]):
        best = min(in_order_of_birth(case)[1], in_order_of_size(case)[1])
        assert assign(case)[1] == best


def test_a_long_program_is_laid_out_in_no_time():
    chance = random.Random(0)
    many = [Storage(chance.randrange(10_000), i, i + chance.randrange(8)) for i in range(30_000)]
    _, size = assign(many)
    assert size < 200_000
    crowd = [Storage(100, i, 20_000 + i) for i in range(20_000)]
    assert in_order_of_size(crowd) is None
    assert assign(crowd)[1] == 128 * 20_000
