"""Functions, lists and closures as native code: what they compute, and what they leave behind."""

import pytest

from relay.native import layout
from relay.program.native import Site
from relay.program.ownership import own
from relay.program.text import parse
from relay.target.llvm import abi
from relay.target.llvm.compile import assembly
from relay.target.llvm.program.translate import translate
from relay.target.target import Target
from tests.target.llvm.program.machine import Machine

LISTS = """
data List { Cons(int64, List); Nil }

function @fib("n" = %0: int64) -> int64 {
  %1: int64 = 2
  %2: bool = lt %0, %1
  branch %2 ? 1 : 2
block 1:
  return %0
block 2:
  %3: int64 = 1
  %4: int64 = sub %0, %3
  (%5: int64) = call @fib(%4)
  %6: int64 = sub %0, %1
  (%7: int64) = call @fib(%6)
  %8: int64 = add %5, %7
  return %8
}

function @sum_to("n" = %0: int64, "so far" = %1: int64) -> int64 {
  %2: int64 = 0
  %3: bool = eq %0, %2
  branch %3 ? 1 : 2
block 1:
  return %1
block 2:
  %4: int64 = 1
  %5: int64 = sub %0, %4
  %6: int64 = add %1, %0
  tail call @sum_to(%5, %6)
}

function @even("n" = %0: int64) -> bool {
  %1: int64 = 0
  %2: bool = eq %0, %1
  branch %2 ? 1 : 2
block 1:
  %3: bool = true
  return %3
block 2:
  %4: int64 = 1
  %5: int64 = sub %0, %4
  tail call @odd(%5)
}

function @odd("n" = %0: int64) -> bool {
  %1: int64 = 0
  %2: bool = eq %0, %1
  branch %2 ? 1 : 2
block 1:
  %3: bool = false
  return %3
block 2:
  %4: int64 = 1
  %5: int64 = sub %0, %4
  tail call @even(%5)
}

function @wide("n" = %0: int64, "a" = %1: int64, "b" = %2: int64, "c" = %3: int64,
    "d" = %4: int64, "e" = %5: int64, "f" = %6: int64, "g" = %7: int64, "h" = %8: int64) -> bool {
  %9: int64 = add %1, %8
  %10: bool = eq %9, %2
  branch %10 ? 1 : 2
block 1:
  tail call @narrow(%0)
block 2:
  fail "arguments are lost"
}

function @narrow("n" = %0: int64) -> bool {
  %1: int64 = 0
  %2: bool = eq %0, %1
  branch %2 ? 1 : 2
block 1:
  return %2
block 2:
  %3: int64 = 1
  %4: int64 = sub %0, %3
  %5: int64 = add %4, %4
  tail call @wide(%4, %4, %5, %3, %3, %3, %3, %3, %4)
}

function @range("n" = %0: int64, "rest" = %1: List) -> List {
  %2: int64 = 0
  %3: bool = eq %0, %2
  branch %3 ? 1 : 2
block 1:
  return %1
block 2:
  %4: int64 = 1
  %5: int64 = sub %0, %4
  %6: List = data Cons(%0, %1)
  tail call @range(%5, %6)
}

function @new("n" = %0: int64) -> List {
  %1: List = data Nil()
  tail call @range(%0, %1)
}

function @sum("so far" = %0: int64, "list" = %1: List) -> int64 {
  switch %1 { Cons: 1, Nil: 2 }
block 1:
  %2: int64 = field %1 Cons.0
  %3: List = field %1 Cons.1
  %4: int64 = add %0, %2
  tail call @sum(%4, %3)
block 2:
  return %0
}

function @reverse("done" = %0: List, "list" = %1: List) -> List {
  switch %1 { Cons: 1, else: 2 }
block 1:
  %2: int64 = field %1 Cons.0
  %3: List = field %1 Cons.1
  %4: List = data Cons(%2, %0)
  tail call @reverse(%4, %3)
block 2:
  return %0
}

function @map("f" = %0: fn(int64) -> (int64), "list" = %1: List) -> List {
  switch %1 { Cons: 1, Nil: 2 }
block 1:
  %2: int64 = field %1 Cons.0
  %3: List = field %1 Cons.1
  (%4: int64) = call %0(%2)
  (%5: List) = call @map(%0, %3)
  %6: List = data Cons(%4, %5)
  return %6
block 2:
  %7: List = data Nil()
  return %7
}

function @append("list" = %0: List, "rest" = %1: List) -> List {
  switch %0 { Cons: 1, Nil: 2 }
block 1:
  %2: int64 = field %0 Cons.0
  %3: List = field %0 Cons.1
  (%4: List) = call @append(%3, %1)
  %5: int64 = 1
  %6: int64 = add %2, %5
  %7: List = data Cons(%6, %4)
  return %7
block 2:
  return %1
}

function @appended("n" = %0: int64) -> int64 {
  (%1: List) = call @new(%0)
  (%2: List) = call @append(%1, %1)
  %3: int64 = 0
  (%4: int64) = call @sum(%3, %2)
  return %4
}

function @fold("f" = %0: fn(int64, int64) -> (int64), "so far" = %1: int64, "list" = %2: List)
    -> int64 {
  switch %2 { Nil: 1, Cons: 2 }
block 1:
  return %1
block 2:
  %3: int64 = field %2 Cons.0
  %4: List = field %2 Cons.1
  (%5: int64) = call %0(%1, %3)
  tail call @fold(%0, %5, %4)
}

function @add("a" = %0: int64, "b" = %1: int64) -> int64 {
  %2: int64 = add %0, %1
  return %2
}

function @apply("f" = %0: fn(int64) -> (int64), "x" = %1: int64) -> int64 {
  tail call %0(%1)
}

function @total_and("list" = %0: List, "x" = %1: int64) -> int64 {
  (%2: int64) = call @sum(%1, %0)
  return %2
}

function @mapped("n" = %0: int64, "k" = %1: int64) -> int64 {
  (%2: List) = call @new(%0)
  %3: fn(int64) -> (int64) = closure @add(%1)
  (%4: List) = call @map(%3, %2)
  %5: fn(int64, int64) -> (int64) = closure @add()
  %6: int64 = 0
  (%7: int64) = call @fold(%5, %6, %4)
  return %7
}

function @remembered("n" = %0: int64, "x" = %1: int64) -> int64 {
  (%2: List) = call @new(%0)
  %3: fn(int64) -> (int64) = closure @total_and(%2)
  (%4: int64) = call @apply(%3, %1)
  (%5: int64) = call @apply(%3, %4)
  return %5
}

function @shared("n" = %0: int64) -> (int64, int64, List) {
  (%1: List) = call @new(%0)
  %2: List = data Nil()
  (%3: List) = call @reverse(%2, %1)
  %4: int64 = 0
  (%5: int64) = call @sum(%4, %1)
  (%6: int64) = call @sum(%5, %3)
  return (%5, %6, %1)
}

function @second("list" = %0: List) -> int64 {
  switch %0 { Cons: 1, else: 3 }
block 1:
  %1: List = field %0 Cons.1
  switch %1 { Cons: 2, else: 3 }
block 2:
  %2: int64 = field %1 Cons.0
  return %2
block 3:
  fail "the list is too short" where "lists.relay:7:8"
}

function @second_of("n" = %0: int64) -> int64 {
  (%1: List) = call @new(%0)
  tail call @second(%1)
}

function @forever("n" = %0: int64) -> int64 {
  tail call @forever(%0)
}

function @deep("n" = %0: int64) -> int64 {
  %1: int64 = 0
  %2: bool = eq %0, %1
  branch %2 ? 1 : 2
block 1:
  return %1
block 2:
  %3: int64 = 1
  %4: int64 = sub %0, %3
  (%5: int64) = call @deep(%4)
  %6: int64 = xor %5, %0
  %7: int64 = mul %6, %0
  return %7
}

function @never("n" = %0: int64) -> int64 {
  (%1: bool) = call @even(%0)
  tail call @never(%0)
}
"""


@pytest.fixture(scope="module")
def lists():
    return Machine(LISTS)


def total(n):
    return n * (n + 1) // 2


def test_recursion_and_loops_compute(lists):
    assert lists.run("fib", 20).value == 6765
    assert lists.run("sum_to", 1_000_000, 0).value == total(1_000_000)
    assert lists.run("sum_to", 200_000, 7).value == total(200_000) + 7


def test_functions_that_end_in_each_other_take_no_stack(lists):
    assert lists.run("even", 1_000_000).value == 1
    assert lists.run("even", 999_999).value == 0
    assert lists.run("narrow", 1_000_000).value == 1, "also where the other has more arguments"


def test_lists_are_made_read_and_freed(lists):
    made = lists.run("new", 1000)
    assert made.live == 1000
    added = lists.run("sum", 0, made.value)
    assert (added.value, added.live) == (total(1000), 0)


def test_a_list_that_others_hold_stays(lists):
    found = lists.run("shared", 100)
    assert found.words[:2] == [total(100), 2 * total(100)]
    assert found.live == 100
    assert lists.run("sum", 0, found.words[2]).live == 0


def test_closures_remember_and_can_be_called_again(lists):
    outcome = lists.run("mapped", 100, 5)
    assert (outcome.value, outcome.live) == (total(100) + 500, 0)
    outcome = lists.run("remembered", 10, 3)
    assert (outcome.value, outcome.live) == (2 * total(10) + 3, 0)


def test_a_long_list_is_mapped_without_a_stack(lists):
    outcome = lists.run("mapped", 1_000_000, 1)
    assert (outcome.value, outcome.live) == (total(1_000_000) + 1_000_000, 0)


def test_a_list_is_put_before_one_that_others_hold(lists):
    outcome = lists.run("appended", 1000)
    assert (outcome.value, outcome.live) == (2 * total(1000) + 1000, 0)
    assert lists.run("appended", 0).value == 0


def test_deep_recursion_runs_on_a_stack_that_is_large_enough():
    assert Machine(LISTS, stack_size=1 << 28).run("deep", 2_000_000).status == 0


def test_what_fails_says_where(lists):
    assert lists.run("second_of", 2).value == 2
    outcome = lists.run("second_of", 1)
    assert outcome.status == layout.FAILED
    assert outcome.site == Site("the list is too short", "lists.relay:7:8")


def test_recursion_that_is_too_deep_is_an_error():
    machine = Machine(LISTS)
    assert machine.run("deep", 1000).status == 0
    assert machine.run("deep", 100_000_000).status == layout.STACK_OVERFLOW
    assert machine.run("fib", 10).value == 55


@pytest.mark.parametrize("name", ["forever", "never"])
def test_loops_without_end_are_interrupted(name):
    machine = Machine(LISTS)
    asked = []

    def answer():
        asked.append(None)
        return len(asked) > 1

    machine.interrupt_with(answer)
    assert machine.run(name, 5).status == abi.INTERRUPTED
    assert len(asked) == 2


def test_the_same_program_gives_the_same_text():
    program = own(parse("relay program 1\n" + LISTS))
    texts = {translate(program, Target.host(), ["mapped"]).ir for _ in range(2)}
    assert len(texts) == 1


def test_programs_are_translated_for_other_processors():
    target = Target.aarch64()
    translated = translate(own(parse("relay program 1\n" + LISTS)), target, ["mapped", "even"])
    assert "relay_entry_mapped" in assembly([translated.ir], target, opt=3)
