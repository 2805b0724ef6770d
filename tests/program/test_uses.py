"""What instructions do with registers, and the order of blocks."""

from relay.program.liveness import live_at_start
from relay.program.text import parse
from relay.program.uses import local_tensors, predecessors, reverse_postorder, uses

PREFIX = """relay program 1

data List { Cons(int64, List); Nil }

kernel @k(float32[4]) -> (float32[4], int64[])
"""
DIAMOND = """function @f("c" = %0: bool, "x" = %1: List, "y" = %2: List) -> List {
  branch %0 ? 2 : 1
block 1:
  jump 3
block 2:
  (%3: List) = call @f(%0, %1, %1)
  jump 3
block 3:
  return %2
block 4:
  return %1
}
"""


def function(text):
    return parse(PREFIX + text).functions[0]


def test_calls_consume_and_kernels_borrow():
    found = function(
        """function @f("x" = %0: float32[4], "l" = %1: List) -> List {
          %2: float32[4] = alloc
          invoke @k(%0) -> (%2, %3: int64)
          %4: List = data Cons(%3, %1)
          return %4
        }"""
    )
    alloc, invoke, data, last = (uses(one, found.registers) for one in found.instructions)
    assert alloc.written == (2,)
    assert (invoke.borrowed, invoke.consumed, invoke.written) == ((0, 2), (), (3,))
    assert (data.consumed, data.written) == ((3, 1), (4,))
    assert last.consumed == (4,)


def test_blocks_come_after_those_that_lead_to_them():
    found = function(DIAMOND)
    order = reverse_postorder(found)
    assert sorted(order) == [0, 1, 2, 3], "what cannot be reached is left out"
    assert order[0] == 0
    assert order[-1] == 3
    assert predecessors(found)[3] == [1, 2]


def test_a_value_is_alive_up_to_its_last_use():
    assert live_at_start(function(DIAMOND), {1, 2}, {}) == [{1, 2}, {2}, {1, 2}, {2}, {1}]


def test_views_stand_for_what_they_look_at():
    found = function(
        """function @f("x" = %0: float32[4]) -> int64 {
          %1: float32[2, 2] = view %0
          %2: float32[4] = alloc
          %3: float32[4] = view %2
          %4: float32[1, 4] = view %3
          invoke @k(%1) -> (%4, %5: int64)
          return %5
        }"""
    )
    assert local_tensors(found) == {1: 0, 2: 2, 3: 2, 4: 2}
