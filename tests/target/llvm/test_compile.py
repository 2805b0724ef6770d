"""LLVM IR to object code: the same bytes for the same text, for every target, by every road."""

import logging
import subprocess
import sys

import pytest

from relay.errors import TargetError
from relay.target import Target
from relay.target.llvm import compile as compiler
from relay.target.llvm.compile import assembly, compile_many, compile_module
from relay.target.llvm.objects import undefined_symbols

TARGETS = {
    "host": Target.host(),
    "avx512": Target.x86("avx512"),
    "avx2": Target.x86("avx2"),
    "baseline": Target.x86("baseline"),
    "aarch64": Target.aarch64(),
}


def kernel(name, lanes=16):
    """y = x * x + x over a vector, with a loop, a private function and metadata of its own."""
    vector = f"<{lanes} x float>"
    return f"""
define internal {vector} @body({vector} %x) {{
  %square = fmul {vector} %x, %x
  %sum = fadd {vector} %square, %x
  ret {vector} %sum
}}
define i32 @{name}(ptr %context, ptr %args) #0 {{
entry:
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load {vector}, ptr %from, align 4
  %result = call {vector} @body({vector} %value)
  %to = getelementptr float, ptr %y, i64 %i
  store {vector} %result, ptr %to, align 4
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, 1024
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  ret i32 0
}}
attributes #0 = {{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
!0 = distinct !{{!0, !1}}
!1 = !{{!"llvm.loop.unroll.disable"}}
"""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_target_gets_an_object_of_its_kind(target):
    data = compile_module([kernel("f")], target)
    assert data[:4] == b"\x7fELF"
    machine = int.from_bytes(data[18:20], "little")
    assert machine == {"x86_64": 62, "aarch64": 183}[target.arch]
    assert undefined_symbols(data) == frozenset()


@pytest.mark.parametrize("opt", [0, 1, 2])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_same_text_gives_the_same_bytes(target, opt):
    first = compile_module([kernel("f"), kernel("g", 8)], target, opt=opt)
    compile_module([kernel("other", 4)], target, opt=opt)
    assert compile_module([kernel("f"), kernel("g", 8)], target, opt=opt) == first


def test_another_process_gives_the_same_bytes():
    target = Target.x86("avx2")
    code = (
        "import sys; from relay.target import Target; from relay.target.llvm.compile import *\n"
        "sys.stdout.buffer.write(compile_module([sys.argv[1]], Target(sys.argv[2])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, kernel("f"), str(target)], capture_output=True, check=True
    )
    assert done.stdout == compile_module([kernel("f")], target)


def test_texts_keep_what_is_private_and_numbered_apart():
    texts = [kernel("f", 16), kernel("g", 8), kernel("h", 4)]
    text = assembly(texts, Target.x86("avx512"))
    for name in "fgh":
        assert f"\n{name}:" in text


def test_vectors_are_as_wide_as_the_target_has_them():
    assert "zmm" in assembly([kernel("f")], Target.x86("avx512"))
    avx2 = assembly([kernel("f")], Target.x86("avx2"))
    assert "ymm" in avx2
    assert "zmm" not in avx2
    assert "ymm" not in assembly([kernel("f")], Target.x86("baseline"))


def test_passes_neither_unroll_nor_vectorize():
    scalar = """
define void @f(ptr noalias %x, ptr noalias %y) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %sum = fadd float %value, 1.0
  %to = getelementptr float, ptr %y, i64 %i
  store float %sum, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 8
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
    for opt in (0, 1, 2):
        text = assembly([scalar], Target.x86("avx2"), opt=opt)
        assert text.count("vaddss") == 1
        assert "vaddps" not in text


def test_memory_that_never_leaves_a_function_becomes_registers():
    text = """
define i64 @f(i64 %x) {
  %slot = alloca i64
  store i64 %x, ptr %slot
  %y = load i64, ptr %slot
  ret i64 %y
}
"""
    target = Target.x86("baseline")
    assert "rsp" in assembly([text], target, opt=0)
    assert "rsp" not in assembly([text], target)


def test_text_that_is_not_llvm_is_reported_with_its_place():
    with pytest.raises(TargetError) as error:
        compile_module([kernel("f"), "define i32 @g() {\n  ret i64 0\n}"], Target.host())
    assert "LLVM does not take the code" in str(error.value)
    assert "2:7" in str(error.value)


def test_code_llvm_would_not_accept_later_is_reported():
    with pytest.raises(TargetError, match="LLVM does not take the code"):
        compile_module(
            ["define i32 @g(i1 %c) {\na:\n br label %b\nb:\n %x = phi i32 [0, %b]\n ret i32 %x\n}"],
            Target.host(),
        )


def test_one_symbol_has_one_definition():
    with pytest.raises(TargetError, match="multiply defined"):
        compile_module([kernel("f"), kernel("f")], Target.host())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("declare float @expf(float)\ndefine float @f(float %x) {\n"
         "  %y = call float @expf(float %x)\n  ret float %y\n}", "expf"),
        ("define float @f(float %x) {\n  %y = frem float %x, 3.0\n  ret float %y\n}", "fmodf"),
        ("define float @f(half %x) {\n  %y = fpext half %x to float\n  ret float %y\n}",
         "__extendhfsf2"),
        ("define float @f(float %x) {\n"
         "  %y = call float @llvm.fma.f32(float %x, float %x, float %x)\n  ret float %y\n}",
         "fmaf"),
    ],
)  # fmt: skip
def test_calls_of_other_libraries_are_refused(text, found):
    target = Target.x86("baseline")
    with pytest.raises(TargetError) as error:
        compile_module([text], target)
    assert found in str(error.value)
    assert compile_module([text], target, imports=[found])


def test_copying_memory_is_allowed():
    text = (
        "define void @f(ptr %x, ptr %y, i64 %n) {\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 %n, i1 false)\n  ret void\n}"
    )
    data = compile_module([text], Target.host())
    assert undefined_symbols(data) == {"memcpy"}


def test_no_texts_give_an_empty_object():
    assert compile_module([], Target.host())


# --- several modules ---------------------------------------------------------------------------


def modules(count):
    return [[kernel(f"k{i}", 4 * (i % 4 + 1))] for i in range(count)]


def test_many_modules_in_this_process():
    expected = [compile_module(texts, Target.host()) for texts in modules(5)]
    assert compile_many(modules(5), Target.host()) == expected
    assert compile_many([], Target.host()) == []


@pytest.mark.parametrize("target", [Target.host(), Target.aarch64()], ids=["host", "aarch64"])
def test_several_processes_give_what_one_gives(target, caplog):
    caplog.set_level(logging.INFO, "relay")
    expected = [compile_module(texts, target) for texts in modules(12)]
    assert compile_many(modules(12), target, workers=3) == expected
    assert "compiled 12 modules" in caplog.text
    assert "3 processes" in caplog.text


def test_little_work_is_done_here(monkeypatch):
    monkeypatch.setattr(
        compiler.CompileWorker, "start", lambda: pytest.fail("a process was started")
    )
    assert len(compile_many(modules(4), Target.host())) == 4


def test_an_error_is_the_same_from_another_process():
    wrong = [["define i32 @g() {\n  ret i64 0\n}"]] * 4
    with pytest.raises(TargetError, match="LLVM does not take the code"):
        compile_many(wrong, Target.host(), workers=2)
    mixed = [*modules(4), *wrong, *modules(4)]
    with pytest.raises(TargetError, match="LLVM does not take the code"):
        compile_many(mixed, Target.host(), workers=3)


def test_where_no_process_starts_this_one_does_the_work(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "relay")
    expected = compile_many(modules(4), Target.host())
    monkeypatch.setattr(sys, "executable", "")
    assert compile_many(modules(4), Target.host(), workers=3) == expected
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert compile_many(modules(4), Target.host(), workers=3) == expected
    monkeypatch.setattr(sys, "executable", "/bin/true")
    assert compile_many(modules(4), Target.host(), workers=3) == expected
    assert "did not start" in caplog.text


def test_the_number_of_processes_is_a_setting(monkeypatch):
    started = []
    monkeypatch.setattr(compiler, "TEXT_PER_WORKER", 1)
    monkeypatch.setattr(compiler.CompileWorker, "start", lambda: started.append(1))
    monkeypatch.setenv("RELAY_WORKERS", "5")
    compile_many(modules(8), Target.host())
    assert len(started) == 4  # and this one
    monkeypatch.setenv("RELAY_WORKERS", "1")
    compile_many(modules(8), Target.host())
    assert len(started) == 4


def test_functions_stay_apart_when_that_is_asked_for():
    text = """
define i32 @inner(i32 %x) nounwind {
  %y = mul i32 %x, %x
  ret i32 %y
}
define i32 @outer(i32 %x) nounwind {
  %y = call i32 @inner(i32 %x)
  ret i32 %y
}
"""
    host = Target.host()
    together = compile_module([text], host, opt=3, exports=["outer"])
    separate = compile_module([text], host, opt=3, exports=["outer"], noinline=["inner"])
    assert b"\0inner\0" not in together
    assert b"\0inner\0" in separate
