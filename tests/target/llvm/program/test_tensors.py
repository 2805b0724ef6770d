"""Tensors in native programs: allocated, viewed, handed to kernels, freed."""

import numpy as np
import pytest

from relay.native import layout
from relay.target.llvm import abi
from tests.target.llvm.program.machine import Machine, as_float, read_tensor

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

function @nothing("x" = %0: float32[0]) -> int64 {
  %1: int64 = 0
  %2: float32[0] = alloc
  invoke @later(%0) -> (%2) [%1]
  %3: float32[0] = alloc
  invoke @later(%2) -> (%3) [%1]
  %4: int64 = size %3[0]
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


def test_local_tensors_without_elements_need_no_frame(tensors):
    assert tensors.run("nothing", np.zeros(0, "float32")).value == 0


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
    assert tensors.run("huge", size).status == layout.TOO_LARGE
