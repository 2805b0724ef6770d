"""Bytes that nested blocks take, and the most at any time."""

from relay import te
from relay.te.workspace import Workspace


def test_memory_is_handed_out_like_a_stack() -> None:
    memory = Workspace()
    with memory.take(te.index(100)) as first, memory.take(te.index(1)) as second:
        assert (first, second) == (te.index(0), te.index(128))  # where vectors may begin
    with memory.take(te.index(64)) as third:
        assert third == te.index(0)
    assert memory.most == te.index(192)


def test_memory_of_a_size_that_a_run_finds_is_handed_out_too() -> None:
    memory, n = Workspace(), te.Var("int64", "n")
    with memory.take(n * 4) as first, memory.take(te.index(64)) as second:
        assert first == te.index(0)
        assert second == (n * 4 + 63) // 64 * 64
    assert memory.used == te.index(0)
