"""A table of kernels and a frame of slots: a whole program in one call."""

import ctypes

import numpy as np
import pytest

from relay.native import run
from relay.native.runtime import Context, Request, runtime
from relay.target import Target
from relay.target.llvm import abi
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load


def execute(made, context=None):
    return runtime().run(*made.arguments(context or Context(2)))


def test_calls_run_in_order_on_the_slots_they_name(program):
    a, b = np.zeros(50, np.int64), np.zeros(50, np.int64)
    frame = [a.ctypes.data, b.ctypes.data, 50, 3, 4]
    made = program([("counts", (0, 2, 3)), ("counts", (1, 2, 4)), ("counts", (0, 2, 4))], frame)
    assert execute(made) == 0
    assert (a == 7).all()
    assert (b == 4).all()


@pytest.mark.parametrize("count", [2, 63, 64, 65, 300])
def test_any_number_of_arguments(program, count):
    out = np.zeros(count, np.int64)
    frame = [out.ctypes.data, count, *range(1000, 1000 + count)]
    assert execute(program([("copy", range(count))], frame)) == 0
    assert out.tolist() == [out.ctypes.data, count, *range(1000, 1000 + count - 2)]


def test_no_calls_are_fine(program):
    assert execute(program([], [0])) == 0


def test_the_first_failure_ends_the_program_and_is_named(program):
    data = np.zeros(5, np.int64)
    frame = [data.ctypes.data, 5, 1]
    made = program([("counts", (0, 1, 2)), ("fails", ()), ("counts", (0, 1, 2))], frame)
    context = Context(1)
    assert execute(made, context) == abi.OUT_OF_RANGE
    assert context.record == 1
    assert context.details == (0, -7, 0)
    assert (data == 1).all()


def test_a_request_is_the_same_call(program):
    data = np.zeros(5, np.int64)
    made = program([("counts", (0, 1, 2))], [data.ctypes.data, 5, 2])
    context = Context(2)
    request = Request(context, *made.arguments(context)[1:])
    for _ in range(3):
        assert runtime().call(request.address) == 0
    assert (data == 6).all()


def test_an_error_of_the_last_call_is_forgotten(program):
    context = Context(1)
    words = (ctypes.c_int64 * 8).from_address(context.address)
    words[abi.ERROR // 8] = 1
    execute(program([], [0]), context)
    assert context.error == 0


ARITHMETIC = """
define i32 @get() {
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %value = load i32, ptr %at
  ret i32 %value
}
define void @set(i32 %value) {
  %at = alloca i32
  store i32 %value, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
"""


@pytest.mark.skipif(Target.host().arch != "x86_64", reason="sets a register of x86-64")
@pytest.mark.parametrize("threads", [1, 2])
def test_denormals_are_kept_whatever_the_caller_has_set(program, threads):
    library = load(compile_module([ARITHMETIC], Target.host()), ["get", "set"])
    get = ctypes.CFUNCTYPE(ctypes.c_int32)(library.address("get"))
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int32)(library.address("set"))
    data = np.full(64, 3e-308)
    made = program([("halves", (0, 1))], [data.ctypes.data, 64])
    before = get()
    set_(0x9FC0)  # flush results to zero, read denormals as zero
    try:
        assert execute(made, Context(threads)) == 0
        assert get() & ~0x3F == 0x9FC0
    finally:
        set_(before)
    assert (data == 3e-308 / 2).all()


@pytest.mark.parametrize(
    "triple", ["x86_64-linux-gnu", "aarch64-linux-gnu", "aarch64-apple-darwin"]
)
def test_every_system_has_its_code(triple):
    target = Target(f"llvm -mtriple={triple}")
    assert compile_module([run.text(target)], target, imports=["relay_parallel", "relay_look"])
