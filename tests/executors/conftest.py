"""Small compiled programs, from kernels written by hand: what runs them is tested without what
makes them."""

from dataclasses import replace

import numpy as np
import pytest

from relay.executors.executable import Code
from relay.executors.straight_line import StraightLineExecutable
from relay.native.call import ProgramContext
from relay.program.text import parse
from relay.target.llvm.compile import compile_module
from relay.target.target import Target


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """After every call of a native program its objects are gone, and one that ended well let go of
    all of them itself."""
    found = []

    def perform(context, request, run=ProgramContext.perform):
        status = None
        try:
            status = run(context, request)
        finally:
            leaked = context.leaked if status == 0 else 0
            if context.live or leaked:
                found.append((context.live, leaked))
        return status

    monkeypatch.setattr(ProgramContext, "perform", perform)
    yield
    assert not found, "objects alive, and swept up"


LOOP = """
define i32 @{name}(ptr %context, ptr %args) nounwind {{
entry:
{pointers}
  %some = icmp sgt i64 {count}, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{loads}
  %value = {value}
  %to = getelementptr {type}, ptr %p{last}, i64 %i
  store {type} %value, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}
"""

FAIL = """
define i32 @{name}(ptr %context, ptr %args) nounwind {{
  %check = getelementptr i64, ptr %context, i64 4
  store i64 0, ptr %check
  %index = getelementptr i64, ptr %context, i64 5
  store i64 9, ptr %index
  %extent = getelementptr i64, ptr %context, i64 6
  store i64 4, ptr %extent
  ret i32 {status}
}}
"""


def elementwise(name, inputs, count, value, kind="float"):
    """A kernel of `inputs` arrays: `value` is an instruction over %x0, %x1, …"""
    pointers, loads = [], []
    for slot in range(inputs + 1):
        pointers.append(f"  %s{slot} = getelementptr ptr, ptr %args, i64 {slot}")
        pointers.append(f"  %p{slot} = load ptr, ptr %s{slot}")
    for slot in range(inputs):
        loads.append(f"  %a{slot} = getelementptr {kind}, ptr %p{slot}, i64 %i")
        loads.append(f"  %x{slot} = load {kind}, ptr %a{slot}")
    return LOOP.format(
        name=name,
        pointers="\n".join(pointers),
        loads="\n".join(loads),
        value=value,
        last=inputs,
        count=count,
        type=kind,
    )


def make(text, code, weights=None, threads=1):
    """The executable of a program in text form; `code` is the kernels' LLVM IR, by name."""
    program = parse("relay program 1\n" + text)
    kernels = tuple(replace(kernel, ir=code[kernel.name]) for kernel in program.kernels)
    program = replace(program, kernels=kernels)
    target = Target.host()
    objects = (compile_module([kernel.ir for kernel in kernels], target),)
    return StraightLineExecutable(program, Code(target, objects), weights or {}, threads)


ADD = """
kernel @add(float32[2, 3], float32[2, 3]) -> (float32[2, 3]) in_place=((0, 0), (0, 1)) \
operators=("add",) flops=6
function @prepare() { return () }
"""
ADD_CODE = {"add": elementwise("add", 2, 6, "fadd float %x0, %x1")}


@pytest.fixture(scope="session")
def add():
    """`x + y` of float32[2, 3]"""
    return make(
        ADD
        + """
        function @main("x" = %0: float32[2, 3], "y" = %1: float32[2, 3]) {
          %2: float32[2, 3] = alloc
          invoke @add(%0, %1) -> (%2)
          return %2
        }
        """,
        ADD_CODE,
    )


WEIGHTED = """
kernel @add(float32[2, 3], float32[2, 3]) -> (float32[2, 3]) in_place=((0, 0), (0, 1)) \
operators=("add",) flops=6
kernel @double(float32[2, 3]) -> (float32[2, 3]) operators=("multiply",)
kernel @product(float32[2, 3], float32[2, 3]) -> (float32[2, 3]) operators=("multiply",)
constant "bias": float32[2, 3]
constant "scale": float32[2, 3]
constant "shift": float32[2, 3]
constant "packed_0": float32[2, 3] = prepare.0
constant "packed_1": float32[2, 3] = prepare.1
function @prepare() {
  %0: float32[2, 3] = constant "scale"
  %1: float32[2, 3] = alloc
  invoke @double(%0) -> (%1)
  %2: float32[2, 3] = constant "shift"
  %3: float32[2, 3] = alloc
  invoke @product(%1, %2) -> (%3)
  %4: float32[2, 3] = alloc
  invoke @double(%2) -> (%4)
  return (%3, %4)
}
function @main("x" = %0: float32[2, 3]) {
  %1: float32[2, 3] = constant "packed_0"
  %2: float32[2, 3] = alloc
  invoke @product(%0, %1) -> (%2)
  %3: float32[2, 3] = constant "packed_1"
  %4: float32[2, 3] = alloc
  invoke @add(%2, %3) -> (%4)
  %5: float32[2, 3] = constant "bias"
  %6: float32[2, 3] = alloc
  invoke @add(%4, %5) -> (%6)
  %7: float32[2, 3] = alloc
  invoke @double(%6) -> (%7)
  return (%7, %6)
}
"""
WEIGHTED_CODE = {
    **ADD_CODE,
    "double": elementwise("double", 1, 6, "fmul float %x0, 2.0"),
    "product": elementwise("product", 2, 6, "fmul float %x0, %x1"),
}


def weighted_reference(x, bias, scale, shift):
    inner = x * (2 * scale * shift) + 2 * shift + bias
    return 2 * inner, inner


@pytest.fixture
def weights():
    chance = np.random.default_rng(1)
    return {
        name: chance.integers(-8, 8, (2, 3)).astype("float32")
        for name in ("bias", "scale", "shift")
    }


@pytest.fixture
def weighted(weights):
    """A program whose weights are prepared before they are used."""
    return make(WEIGHTED, WEIGHTED_CODE, weights)


@pytest.fixture
def reference():
    return weighted_reference


@pytest.fixture
def failing():
    def build(status):
        return make(
            """
            kernel @add(float32[4]) -> (float32[4])
            kernel @fail(float32[4]) -> (float32[4]) checks=("an index of `take`",) \
operators=("take",)
            function @prepare() { return () }
            function @main("x" = %0: float32[4]) {
              %1: float32[4] = alloc
              invoke @add(%0) -> (%1)
              %2: float32[4] = alloc
              invoke @fail(%1) -> (%2)
              return %2
            }
            """,
            {
                "add": elementwise("add", 1, 4, "fadd float %x0, 1.0"),
                "fail": FAIL.format(name="fail", status=status),
            },
        )

    return build


@pytest.fixture
def program():
    """What makes an executable of a text: `program(text, code, weights, threads)`."""
    return make


@pytest.fixture
def kernel():
    """What writes the LLVM IR of an elementwise kernel."""
    return elementwise
