"""Frames: local tensors share memory when they are never alive together."""

from relay.program.frame import plan_frame
from relay.program.text import parse

PREFIX = """relay program 1

kernel @k(float32[64]) -> (float32[64])
"""


def frame(text):
    return plan_frame(parse(PREFIX + text).functions[0])


def test_a_chain_takes_turns_in_two_places():
    found = frame(
        """function @f("x" = %0: float32[64]) -> float32 {
          %1: float32[64] = alloc
          invoke @k(%0) -> (%1)
          %2: float32[64] = alloc
          invoke @k(%1) -> (%2)
          %3: float32[64] = alloc
          invoke @k(%2) -> (%3)
          %4: float32 = element %3[0]
          return %4
        }"""
    )
    assert found.size == 512
    assert found.offsets[1] == found.offsets[3] != found.offsets[2]


def test_the_two_ways_of_a_branch_share():
    found = frame(
        """function @f("c" = %0: bool, "x" = %1: float32[64]) -> float32 {
          branch %0 ? 1 : 2
        block 1:
          %2: float32[64] = alloc
          invoke @k(%1) -> (%2)
          %3: float32 = element %2[0]
          return %3
        block 2:
          %4: float32[64] = alloc
          invoke @k(%1) -> (%4)
          %5: float32 = element %4[0]
          return %5
        }"""
    )
    assert found.size == 256


def test_what_lives_through_a_block_keeps_its_place():
    found = frame(
        """function @f("c" = %0: bool, "x" = %1: float32[64]) -> float32 {
          %2: float32[64] = alloc
          invoke @k(%1) -> (%2)
          %3: float32[8, 8] = view %2
          jump 1
        block 1:
          %4: float32[64] = alloc
          invoke @k(%1) -> (%4)
          jump 2
        block 2:
          %5: float32 = element %3[0]
          return %5
        }"""
    )
    assert found.offsets[2] != found.offsets[4]
    assert found.size == 512


def test_what_is_given_away_is_not_in_the_frame():
    found = frame(
        """function @f("x" = %0: float32[64]) -> float32[64] {
          %1: float32[64] = alloc
          invoke @k(%0) -> (%1)
          return %1
        }"""
    )
    assert found.size == 0
