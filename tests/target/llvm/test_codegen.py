"""Kernels as LLVM IR: their arguments, their memory, and the same text every time."""

from __future__ import annotations

import ctypes
import re

from relay import te
from relay.native.runtime import Context
from relay.target.kernel import KernelCode
from relay.target.llvm.codegen import generate
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.target.llvm.objects import undefined_symbols
from relay.target.target import Target
from relay.te.expr import Var
from relay.te.loops import Builder, Kind
from relay.te.lower import LoweredLoops as Loops
from tests.target.llvm.kernels import WIDEST, buffer, code_of, loops_of
from tests.target.llvm.test_function import every_case, streaming

X, Y, Z = (buffer(name, (64,)) for name in "xyz")


def plus() -> Loops:
    def write(b: Builder) -> None:
        with b.loop(64) as i:
            b.store(Z, i, X[i] + Y[i])

    return loops_of([X, Y], [Z], write)


def entry(code: KernelCode) -> str:
    """The exported function."""
    return code.ir[code.ir.index("define i32 @kernel(") :]


def slots(code: KernelCode) -> list[tuple[int, str]]:
    """(offset, name) of what is unpacked."""
    found = re.findall(
        r"%([bs]\d+|workspace)\.at = getelementptr i8, ptr %args, i64 (\d+)", code.ir
    )
    return [(int(offset), name) for name, offset in found]


def test_one_function_is_exported_and_takes_a_context_and_slots() -> None:
    code = code_of(plus())
    assert re.findall(r"define (?!internal)\w+ @(\S+)\(", code.ir) == ["kernel"]
    assert "define i32 @kernel(ptr %context, ptr %args) nounwind" in code.ir
    assert slots(code) == [(0, "b0"), (8, "b1"), (16, "b2")]
    assert "ret i32 0" in entry(code)


def test_sizes_come_after_the_tensors_and_the_workspace_last() -> None:
    n = Var("int64", "n")
    x, y = buffer("x", (n,)), buffer("y", (n,))

    def write(b: Builder) -> None:
        held = b.local("float32", (4000,), "held")
        with b.loop(n) as i:
            b.store(held, i % 4000, x[i])
            b.store(y, i, held[i % 4000])

    code = code_of(loops_of([x], [y], write), sizes=[n])
    assert slots(code) == [(0, "b0"), (8, "b1"), (16, "s0"), (24, "workspace")]
    assert (code.workspace, code.worker_workspace) == (16_000, 0)


def test_small_memory_is_on_the_stack_and_asks_for_nothing() -> None:
    def write(b: Builder) -> None:
        held = b.local("float32", (100,), "held")
        with b.loop(64) as i:
            b.store(held, i, X[i])
            b.store(Z, i, held[i])

    code = code_of(loops_of([X], [Z], write))
    assert (code.workspace, code.worker_workspace) == (0, 0)
    assert "alloca [100 x float], align 64" in code.ir
    assert "ptr null" in entry(code)


def test_memory_inside_a_parallel_loop_is_one_per_worker() -> None:
    def write(b: Builder) -> None:
        shared = b.local("float32", (4000,), "shared")
        with b.loop(4000) as i:
            b.store(shared, i, X[0])
        with b.loop(8, kind=Kind.PARALLEL) as i:
            own = b.local("float32", (5000,), "own")
            b.store(own, i, shared[i])
            b.store(Z, i, own[i])

    code = code_of(loops_of([X], [Z], write))
    assert (code.workspace, code.worker_workspace) == (16_000, 20_032)
    assert "mul i64 %worker, 20032" in code.ir
    assert "add i64 %skip, 16000" in code.ir


def test_memory_is_used_again_once_nobody_needs_it() -> None:
    def write(b: Builder) -> None:
        for _ in range(3):
            with b.loop(2) as turn:
                held = b.local("float32", (4000,), "held")
                b.store(held, turn, X[turn])
                b.store(Z, turn, held[turn])

    assert code_of(loops_of([X], [Z], write)).workspace == 16_000


def test_inputs_and_outputs_lie_apart_unless_they_may_not() -> None:
    assert (
        "ptr noalias readonly %b0, ptr noalias readonly %b1, ptr noalias %b2" in code_of(plus()).ir
    )
    assert "noalias" not in code_of(plus(), may_alias=True).ir


def test_a_checked_kernel_returns_what_it_found() -> None:
    code = code_of(plus(), checked=True)
    assert "ret i32 %code" in entry(code)
    assert "outside" not in code_of(plus()).ir


def test_every_index_is_checked_once() -> None:
    """Three tensors of one size are read and written at the same place."""
    assert code_of(plus(), checked=True).checks == ("axis 0 of `x`",)
    longer = buffer("longer", (65,))

    def write(b: Builder) -> None:
        with b.loop(64) as i:
            b.store(longer, i, X[i] + Y[i])

    checks = code_of(loops_of([X, Y], [longer], write), checked=True).checks
    assert checks == ("axis 0 of `x`", "axis 0 of `longer`")
    assert code_of(plus()).checks == ()


def test_results_past_the_caches_have_two_ways_and_checked_ones_have_one() -> None:
    loops = streaming(64).loops
    assert "br i1 %aligned, label %streaming, label %plain" in code_of(loops).ir
    assert "streaming" not in code_of(loops, checked=True).ir
    assert "llvm.x86.sse.sfence" in code_of(loops).ir
    assert "sfence" not in code_of(loops, Target.aarch64()).ir


def test_the_same_loops_give_the_same_text() -> None:
    texts = [[code_of(one.loops).ir for one in every_case().values()] for _ in range(2)]
    assert texts[0] == texts[1]


def test_other_machines_get_their_own_code_from_the_same_loops() -> None:
    arm = Target.aarch64()
    texts = [
        code_of(one.loops, arm, f"kernel{i}").ir for i, one in enumerate(every_case().values())
    ]
    assert not undefined_symbols(compile_module(texts, arm)) - {"memset", "memcpy"}


def test_long_expressions_take_no_stack() -> None:
    x: te.Expr = X[0]
    for step in range(10_000):
        x = te.maximum(x, -x) if step % 3 == 0 else x + 1.0
    loops = loops_of([X], [Z], lambda b: b.store(Z, 0, x))
    assert generate("kernel", loops, WIDEST).ir.count("fadd") > 6_000


def test_memory_that_nobody_has_is_asked_for_as_such() -> None:
    n, m = te.Extent("int64", "n"), te.Extent("int64", "m")
    x = buffer("x", (n,))

    def write(b: Builder) -> None:
        held = b.local("float32", (n * m,), "held")
        with b.loop(n) as i:
            b.store(held, i * m, x[i])
            b.store(x, i, held[i * m])

    host = Target.host()
    code = code_of(loops_of([], [x], write), host, sizes=[n, m])
    library = load(compile_module([code.ir], host), ["kernel_workspace"])
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    wanted = kind(library.address("kernel_workspace"))

    def asked(*sizes: int) -> int:
        slots = (ctypes.c_int64 * 3)(0, *sizes)
        context = Context(4)
        return wanted(context.address, ctypes.addressof(slots))

    assert asked(3, 50) == 3 * 50 * 4 + 40  # a multiple of 64
    assert asked(2**31, 2**31) > 2**62
    assert asked(2**40, 2**40) > 2**62
    assert asked(2**62, 4) > 2**62
