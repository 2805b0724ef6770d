"""Whole programs as native code: what they compute, and that nothing is left behind."""

import numpy as np
import pytest

from relay.native import layout
from relay.program.llvm.translate import translate
from relay.program.native import Site
from relay.program.ownership import own
from relay.program.text import parse
from relay.target import abi
from relay.target.llvm.compile import assembly
from relay.target.target import Target
from tests.program.llvm.machine import Machine, read_tensor

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


# --- every kind of value ------------------------------------------------------------------------

VALUES = """
data Color { Red; Green; Blue }
data Shape { Circle(float32); Rectangle(float32, float32); Point; Group(Shape, bool, Shape) }

function @area("shape" = %0: Shape) -> float32 {
  switch %0 { Circle: 1, Rectangle: 2, Point: 3, Group: 4 }
block 1:
  %1: float32 = field %0 Circle.0
  %2: float32 = mul %1, %1
  %3: float32 = 3.0
  %4: float32 = mul %2, %3
  jump 5(%4)
block 2:
  %5: float32 = field %0 Rectangle.0
  %6: float32 = field %0 Rectangle.1
  %7: float32 = mul %5, %6
  jump 5(%7)
block 3:
  %8: float32 = 0.0
  jump 5(%8)
block 4:
  %9: Shape = field %0 Group.0
  %10: bool = field %0 Group.1
  %11: Shape = field %0 Group.2
  branch %10 ? 6 : 7
block 5(%15: float32):
  return %15
block 6:
  (%12: float32) = call @area(%9)
  (%13: float32) = call @area(%11)
  %14: float32 = add %12, %13
  jump 5(%14)
block 7:
  tail call @area(%11)
}

function @picture("both" = %0: bool) -> float32 {
  %1: float32 = 2.0
  %2: float32 = 5.0
  %3: Shape = data Circle(%1)
  %4: Shape = data Rectangle(%1, %2)
  %5: Shape = data Group(%3, %0, %4)
  %6: Shape = data Point()
  %7: bool = true
  %8: Shape = data Group(%6, %7, %5)
  (%9: float32) = call @area(%8)
  return %9
}

function @next("color" = %0: Color) -> Color {
  switch %0 { Red: 1, Green: 2, else: 3 }
block 1:
  %1: Color = data Green()
  return %1
block 2:
  %2: Color = data Blue()
  return %2
block 3:
  %3: Color = data Red()
  return %3
}

function @cells("n" = %0: int64) -> (int64, float32, int8, bool) {
  %1: float32 = 1.5
  %2: int8 = -3
  %3: bool = true
  %9: Shape = data Circle(%1)
  %4: ref((float32, Shape, int8, bool)) = reference (%1, %9, %2, %3)
  %10: Shape = data Rectangle(%1, %1)
  %11: int8 = 100
  %12: bool = false
  write %4 (%1, %10, %11, %12)
  (%5: float32, %6: Shape, %7: int8, %8: bool) = read %4
  (%13: float32) = call @area(%6)
  return (%0, %13, %7, %8)
}

function @many("a" = %0: float64, "b" = %1: float64) -> (float64, float64, float64) {
  %2: float64 = add %0, %1
  %3: float64 = mul %0, %1
  %4: float64 = div %0, %1
  return (%2, %3, %4)
}

function @few("a" = %0: float64, "b" = %1: float64) -> (float64, float64) {
  (%2: float64, %3: float64, %4: float64) = call @many(%0, %1)
  %5: float64 = exp %2
  return (%5, %4)
}

function @half("x" = %0: float16, "y" = %1: float16) -> (float16, bool, int4) {
  %2: float16 = add %0, %1
  %3: float16 = 0.5
  %4: float16 = mul %2, %3
  %5: bool = lt %0, %1
  %6: int4 = cast %2
  return (%4, %5, %6)
}

function @divide("a" = %0: int32, "b" = %1: int32) -> (int32, int32) {
  %2: int32 = floordiv %0, %1
  %3: int32 = mod %0, %1
  return (%2, %3)
}

function @require("a" = %0: int64, "b" = %1: int64) -> () {
  require %0 = %1 "axis 0 of x and y" where "here"
  return ()
}

function @nothing("a" = %0: int64, "b" = %1: int64) -> int64 {
  () = call @require(%0, %1)
  return %0
}
"""


@pytest.fixture(scope="module")
def values():
    return Machine(VALUES)


def as_float(word, dtype="float32"):
    return np.array([word]).view(dtype)[0]


def test_data_of_several_constructors(values):
    outcome = values.run("picture", 1)
    assert (as_float(outcome.value), outcome.live) == (22.0, 0)
    outcome = values.run("picture", 0)
    assert (as_float(outcome.value), outcome.live) == (10.0, 0)


def test_data_without_fields_is_a_number(values):
    red, green, blue = 1, 3, 5
    assert [values.run("next", color).value for color in (red, green, blue)] == [green, blue, red]


def test_cells_hold_what_was_written_last(values):
    outcome = values.run("cells", 9)
    assert outcome.words[0] == 9
    assert as_float(outcome.words[1]) == 2.25
    assert outcome.words[2:4] == [100, 0]
    assert outcome.live == 0


def test_any_number_of_results(values):
    outcome = values.run("many", 3.0, 2.0)
    assert [as_float(word, "float64") for word in outcome.words[:3]] == [5.0, 6.0, 1.5]
    outcome = values.run("few", 3.0, 2.0)
    assert as_float(outcome.words[1], "float64") == 1.5
    np.testing.assert_allclose(as_float(outcome.words[0], "float64"), np.exp(5.0), rtol=1e-14)


def test_narrow_numbers_are_computed_as_in_kernels(values):
    outcome = values.run("half", np.float16(1.5), np.float16(0.1))
    assert np.uint16(outcome.words[0]).view(np.float16) == np.float16(0.8)
    assert outcome.words[1] == 0
    assert np.int8(outcome.words[2]) == 1


@pytest.mark.parametrize("a, b", [(7, 2), (-7, 2), (7, -2), (7, 0), (-(2**31), -1)])
def test_division_is_defined_for_all_numbers(values, a, b):
    outcome = values.run("divide", np.int32(a), np.int32(b))
    quotient = 0 if b == 0 else (a // b + 2**31) % 2**32 - 2**31
    expected = np.array([quotient, a - quotient * b]).astype(np.int32)
    np.testing.assert_array_equal(np.array(outcome.words[:2]).astype(np.int32), expected)


def test_what_must_be_equal_is(values):
    assert values.run("nothing", 3, 3).value == 3
    outcome = values.run("nothing", 3, 4)
    assert outcome.status == layout.UNEQUAL
    assert outcome.details[:2] == (3, 4)
    assert outcome.site == Site("axis 0 of x and y", "here")


# --- tensors ------------------------------------------------------------------------------------

KERNELS = """
define i32 @scale(ptr %context, ptr %args) nounwind {
entry:
  %x = load ptr, ptr %args
  %factor.at = getelementptr ptr, ptr %args, i64 1
  %factor.place = load ptr, ptr %factor.at
  %factor = load float, ptr %factor.place
  %y.at = getelementptr ptr, ptr %args, i64 2
  %y = load ptr, ptr %y.at
  %total.at = getelementptr ptr, ptr %args, i64 3
  %total.place = load ptr, ptr %total.at
  %n.at = getelementptr ptr, ptr %args, i64 4
  %n = load i64, ptr %n.at
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %total = phi float [ 0.0, %entry ], [ %more, %body ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %done, label %body
body:
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %scaled = fmul float %value, %factor
  %to = getelementptr float, ptr %y, i64 %i
  store float %scaled, ptr %to
  %more = fadd float %total, %scaled
  %next = add i64 %i, 1
  br label %head
done:
  store float %total, ptr %total.place
  %bad = fcmp uno float %total, %total
  br i1 %bad, label %fail, label %fine
fail:
  ret i32 1
fine:
  ret i32 0
}
define i64 @later_workspace(ptr %context, ptr %args) nounwind {
  %n.at = getelementptr ptr, ptr %args, i64 2
  %n = load i64, ptr %n.at
  %bytes = mul i64 %n, 4
  ret i64 %bytes
}
define i32 @later(ptr %context, ptr %args) nounwind {
  %workspace.at = getelementptr ptr, ptr %args, i64 3
  %workspace = load ptr, ptr %workspace.at
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %n.at = getelementptr ptr, ptr %args, i64 2
  %n = load i64, ptr %n.at
  %bytes = mul i64 %n, 4
  call void @llvm.memcpy.p0.p0.i64(ptr %workspace, ptr %x, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %workspace, i64 %bytes, i1 false)
  ret i32 0
}
define i32 @through(ptr %context, ptr %args) nounwind {
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %workspace.at = getelementptr ptr, ptr %args, i64 2
  %workspace = load ptr, ptr %workspace.at
  %value = load <4 x float>, ptr %x, align 4
  store <4 x float> %value, ptr %workspace, align 64
  %last = getelementptr i8, ptr %workspace, i64 8184
  store i64 1, ptr %last
  %again = load <4 x float>, ptr %workspace, align 64
  %twice = fadd <4 x float> %again, %again
  store <4 x float> %twice, ptr %y, align 4
  ret i32 0
}
"""

TENSORS = """
data Pair { Pair(float32[?], float32[?]) }

kernel @scale(float32[n], float32[]) -> (float32[n], float32[]) sizes=("n",) checks=("a sum",)
kernel @through(float32[4]) -> (float32[4]) workspace=4096 worker_workspace=2048
kernel @later(float32[n]) -> (float32[n]) sizes=("n",) sized_workspace=1

constant "weight": float32[4]
constant "factor": float32[]

function @scaled("x" = %0: float32[n], "factor" = %1: float32) -> (float32[n], float32) {
  %2: int64 = size %0[0]
  %3: float32[n] = alloc [%2]
  invoke @scale(%0, %1) -> (%3, %4: float32) [%2]
  return (%3, %4)
}

function @copied("x" = %0: float32[n]) -> float32[n] {
  %1: int64 = size %0[0]
  %2: float32[n] = alloc [%1]
  invoke @later(%0) -> (%2) [%1]
  return %2
}

function @static("x" = %0: float32[4]) -> float32[2, 2] {
  %1: float32[4] = alloc
  invoke @through(%0) -> (%1)
  %2: float32[4] = alloc
  invoke @through(%1) -> (%2)
  %3: float32[4] = alloc
  invoke @through(%2) -> (%3)
  %4: float32[2, 2] = view %3
  return %4
}

function @element("x" = %0: float32[4]) -> (float32, int64, int64) {
  %1: float32[4] = alloc
  invoke @through(%0) -> (%1)
  %2: float32[2, 2] = view %1
  %3: float32 = element %2[3]
  %4: int64 = size %2[1]
  %5: float32[1, ?] = view %0 [%4]
  %6: int64 = size %5[1]
  return (%3, %4, %6)
}

function @weighted() -> (float32[4], float32) {
  %0: float32[4] = constant "weight"
  %1: float32 = constant "factor"
  %2: float32[4] = alloc
  %3: int64 = 4
  invoke @scale(%0, %1) -> (%2, %4: float32) [%3]
  return (%2, %4)
}

function @constants() -> Pair {
  %0: float32[4] = constant "weight"
  %1: float32[2, 2] = view %0
  %2: float32[4] = view %1
  %3: Pair = data Pair(%0, %2)
  return %3
}

function @first("pair" = %0: Pair) -> float32[?] {
  switch %0 { Pair: 1 }
block 1:
  %1: float32[?] = field %0 Pair.0
  return %1
}

function @kept() -> float32[?] {
  (%0: Pair) = call @constants()
  tail call @first(%0)
}

function @repeat("n" = %0: int64, "x" = %1: float32[4]) -> float32[4] {
  %2: int64 = 0
  %3: bool = eq %0, %2
  branch %3 ? 1 : 2
block 1:
  return %1
block 2:
  %4: float32[4] = alloc
  invoke @through(%1) -> (%4)
  %5: float32[4] = alloc
  invoke @through(%4) -> (%5)
  %6: int64 = 1
  %7: int64 = sub %0, %6
  tail call @repeat(%7, %5)
}

function @recurse("n" = %0: int64, "x" = %1: float32[4]) -> float32 {
  %2: float32[4] = alloc
  invoke @through(%1) -> (%2)
  %3: int64 = 0
  %4: bool = eq %0, %3
  branch %4 ? 1 : 2
block 1:
  %5: float32 = element %2[0]
  return %5
block 2:
  %6: int64 = 1
  %7: int64 = sub %0, %6
  (%8: float32) = call @recurse(%7, %1)
  %9: float32 = element %2[1]
  %10: float32 = add %8, %9
  return %10
}

function @huge("n" = %0: int64) -> float32[?, ?] {
  %1: float32[?, ?] = alloc [%0, %0]
  return %1
}
"""
WEIGHT = np.array([1, 2, 3, 4], "float32")


@pytest.fixture(scope="module")
def tensors():
    constants = {"weight": WEIGHT, "factor": np.float32(3)}
    return Machine(TENSORS, KERNELS, constants=constants, threads=2)


def test_tensors_of_any_size_and_scalars_go_through_kernels(tensors):
    for size in (1, 5, 3000):
        before = tensors.context.live
        x = np.arange(size, dtype="float32")
        outcome = tensors.run("scaled", x, np.float32(2))
        np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), 2 * x)
        assert as_float(outcome.words[1]) == (2 * x).sum(dtype="float32")
        assert outcome.live == before + 1


@pytest.mark.parametrize("size", [0, 7, 3_000_000])
def test_a_workspace_may_depend_on_sizes(tensors, size):
    x = np.arange(size, dtype="float32")
    outcome = tensors.run("copied", x)
    np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), x)


def test_what_a_kernel_finds_wrong_ends_the_run(tensors):
    outcome = tensors.run("scaled", np.array([np.nan], "float32"), np.float32(2))
    assert outcome.status == abi.OUT_OF_RANGE


def test_local_tensors_lie_in_the_frame(tensors):
    before = tensors.context.live
    outcome = tensors.run("static", WEIGHT)
    assert outcome.live == before + 2, "the result, and whose memory it is"
    np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), 8 * WEIGHT.reshape(2, 2))


def test_elements_and_sizes_are_read(tensors):
    before = tensors.context.live
    outcome = tensors.run("element", WEIGHT)
    assert as_float(outcome.words[0]) == 8.0
    assert outcome.words[1:3] == [2, 2]
    assert outcome.live == before


def test_constants_are_not_counted(tensors):
    before = tensors.context.live
    outcome = tensors.run("weighted")
    np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), 3 * WEIGHT)
    assert as_float(outcome.words[1]) == 30.0
    outcome = tensors.run("kept")
    np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), WEIGHT)
    assert outcome.live == before + 1


def test_a_loop_over_tensors_keeps_as_many_as_it_needs(tensors):
    before = tensors.context.live
    outcome = tensors.run("repeat", 20, WEIGHT)
    np.testing.assert_array_equal(read_tensor(outcome.value, "float32"), WEIGHT * 4.0**20)
    assert outcome.live == before + 1


def test_every_activation_has_its_own_frame(tensors):
    assert as_float(tensors.run("recurse", 1000, WEIGHT).value) == 2 + 4 * 1000


@pytest.mark.parametrize("size", [2**31, 2**62, -1])
def test_a_tensor_larger_than_memory_is_an_error(tensors, size):
    assert tensors.run("huge", size).status == abi.OUT_OF_MEMORY
