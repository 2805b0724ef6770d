"""A program's own stack: as deep as its context says, and interruptible."""

import resource
import signal
import struct
import subprocess
import sys
import threading

import pytest

from relay.native import layout, stack
from relay.native.call import ProgramContext, program_runtime_object
from relay.native.runtime import portable
from relay.target import Target
from relay.target.llvm import abi
from tests.native.object_programs import call
from tests.support.interrupts import interrupt


def test_programs_run_on_the_stack_of_their_context():
    context = ProgramContext(1)
    status, [place] = call(context, "where")
    assert status == 0
    begin = context[layout.STACK]
    assert begin < place < begin + context[layout.STACK_SIZE]


def test_recursion_is_as_deep_as_the_stack():
    context = ProgramContext(1)
    assert call(context, "recurse", 1_000_000) == (0, [1_000_000])
    small = ProgramContext(1, stack=1 << 20)
    assert call(small, "recurse", 1_000_000)[0] == layout.STACK_OVERFLOW
    assert call(small, "recurse", 1000) == (0, [1000])


def test_where_memory_is_limited_a_stack_leaves_room_for_others():
    """Half of what there is, and half of the rest, left LLVM too little: it ends the process."""
    script = """if True:
        import resource
        from relay.native import layout
        from relay.native.call import ProgramContext
        from tests.native.object_programs import call
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
        for stack, most in (0, 1 << 26), (1 << 32, 1 << 29):
            context = ProgramContext(1, stack=stack)
            assert call(context, "recurse", 1000) == (0, [1000])
            assert 1 << 20 <= context[layout.STACK_SIZE] <= most
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_a_deep_call_used_goes_back_to_the_system():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    context = ProgramContext(1)
    call(context, "recurse", 10)
    before = resident()
    assert call(context, "recurse", 1_000_000)[0] == 0  # more than 64 MB
    assert resident() - before < 16 << 20
    assert call(context, "frames", 1000, 50_000)[0] == 0
    assert resident() - before < 16 << 20


def test_frames_are_aligned_and_begin_anew_with_every_call():
    context = ProgramContext(1)
    _, [first] = call(context, "frames", 1, 10)
    status, [last] = call(context, "frames", 1000, 10_001)
    assert status == 0
    assert first % 64 == last % 64 == 0
    assert last == first + 999 * 10_048
    assert call(context, "frames", 1, 10) == (0, [first])


def test_frames_end_where_memory_does():
    context = ProgramContext(1, memory=64 << 20)
    assert call(context, "frames", 10_000, 1 << 20)[0] == abi.OUT_OF_MEMORY
    assert call(context, "frames", 10, 1 << 20)[0] == 0
    assert call(context, "frames", 1, -1)[0] == abi.OUT_OF_MEMORY


def test_a_program_that_never_ends_can_be_interrupted():
    context = ProgramContext(1)
    interrupt(lambda: call(context, "forever"))
    assert context.live == 0
    assert call(context, "recurse", 100) == (0, [100])


def test_other_signals_are_handled_while_a_program_runs():
    handled = 0

    def handle():
        nonlocal handled
        handled += 1
        if handled >= 2:
            raise LookupError("enough")

    def run():
        call(ProgramContext(1), "forever")

    interrupt(run, handle=handle, error=LookupError, number=signal.SIGUSR1, again=0.05)
    assert handled >= 2


def test_programs_of_several_threads_have_nothing_in_common():
    results = []

    def work(count):
        context = ProgramContext(1)
        for _ in range(5):
            results.append(call(context, "recurse", count) == (0, [count]))
            results.append(call(context, "list", count)[0] == 0)
        results.append(context.live == 0)

    threads = [threading.Thread(target=work, args=(10_000 * (n + 1),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 44
    assert all(results)


def test_programs_compute_with_the_plain_environment():
    import torch

    smallest = struct.unpack("q", struct.pack("d", 2.0**-1022))[0]
    half = struct.unpack("q", struct.pack("d", 2.0**-1023))[0]
    torch.set_flush_denormal(True)
    try:
        assert call(ProgramContext(1), "denormal", smallest) == (0, [half])
    finally:
        torch.set_flush_denormal(False)


@pytest.mark.parametrize(
    "target", [Target.aarch64(), Target("llvm -mtriple=x86_64-apple-darwin -mcpu=generic")]
)
def test_the_runtime_compiles_for_other_machines(target):
    assert program_runtime_object(target)


def test_where_there_is_no_own_stack_the_callers_has_to_do():
    target = Target("llvm -mtriple=x86_64-pc-windows-msvc -mcpu=generic")
    assert not stack.has_own_stack(target)
    assert program_runtime_object(target)


def test_the_same_target_gives_the_same_code():
    target = portable(Target.host())
    assert program_runtime_object(target) == program_runtime_object(target)
