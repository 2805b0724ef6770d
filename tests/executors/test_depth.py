"""Native programs recurse as deep as their stack allows and loop as long as they like; what goes
too far is an error, and what goes on too long can be interrupted, within half a second."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import relay
import relay.vm
from relay.driver import compile_program
from relay.errors import EvaluationError
from relay.executors.make import make_executable
from relay.prelude import Prelude
from tests.support.interrupts import interrupt

HEAD = '#[version = "0.0.5"]\n'
MILLION = 1_000_000

# What the functions of the Prelude make of the numbers from 1 to %n.
LISTS = {
    "length": ("int32", "@length(@count(%n, Nil))", lambda n: n),
    "foldl": (
        "int64",
        "@foldl(fn (%a: int64, %x: int32) -> int64 { %a * 3i64 + cast(%x, dtype='int64') }, 0i64, "
        "@count(%n, Nil))",
        lambda n: fold(range(1, n + 1)),
    ),
    "foldr": (
        "int64",
        "@foldr(fn (%x: int32, %a: int64) -> int64 { %a * 3i64 + cast(%x, dtype='int64') }, 0i64, "
        "@count(%n, Nil))",
        lambda n: fold(range(n, 0, -1)),
    ),
    "map": (
        "List[int32]",
        "@map(fn (%x: int32) -> int32 { %x * 2 }, @count(%n, Nil))",
        lambda n: list(range(2, 2 * n + 1, 2)),
    ),
    "rev": ("List[int32]", "@rev(@count(%n, Nil))", lambda n: list(range(n, 0, -1))),
    "filter": (
        "int32",
        "@length(@filter(fn (%x: int32) -> bool { %x / 2 * 2 == %x }, @count(%n, Nil)))",
        lambda n: n // 2,
    ),
    "concat": ("int32", "@length(@concat(@count(%n, Nil), @count(%n, Nil)))", lambda n: 2 * n),
    "zip": ("int32", "@length(@zip(@count(%n, Nil), @count(%n, Nil)))", lambda n: n),
}


def fold(numbers):
    """In the arithmetic of 64 bits."""
    total = 0
    for number in numbers:
        total = (total * 3 + number) % 2**64
    return total - 2**64 if total >= 2**63 else total


def with_prelude(text):
    module = relay.IRModule()
    Prelude(module)
    return relay.parse(HEAD + text, "here.relay", module)


def lists(result, body):
    quoted = body.replace("'", '"')
    return f"""
    def @count(%n: int32, %xs: List[int32]) -> List[int32] {{
      if (%n == 0) {{ %xs }} else {{ @count(%n - 1, Cons(%n, %xs)) }}
    }}
    def @main(%n: int32) -> {result} {{ {quoted} }}
    """


@pytest.mark.rotate(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_a_million_elements(name, level):
    result, body, expected = LISTS[name]
    exe = relay.compile(with_prelude(lists(result, body)), level=level, threads=1)
    for n in (0, 1, 10, MILLION):
        assert exe(n) == expected(n)
    assert exe.live_objects == exe.leaked_objects == 0


def test_a_list_of_a_million_elements_goes_in_and_comes_out():
    text = "def @main(%xs: List[int32]) -> List[int32] { @map(fn (%x: int32) { %x + 1 }, %xs) }"
    exe = relay.compile(with_prelude(text), threads=1)
    assert exe(list(range(MILLION))) == list(range(1, MILLION + 1))


# --- too deep ----------------------------------------------------------------------------------

DEEP = """
def @climb(%n: int64) -> int64 {
  if (%n == 0i64) { 0i64 } else { maximum(@climb(%n - 1i64), %n) + 1i64 }
}
def @main(%n: int64) -> int64 { @climb(%n) }
"""
TURNS = """
def @even(%n: int64) -> bool { if (%n == 0i64) { True } else { @odd(%n - 1i64) } }
def @odd(%n: int64) -> bool { if (%n == 0i64) { False } else { @even(%n - 1i64) } }
def @main(%n: int64) -> bool { @even(%n) }
"""


def compiled(text, **options):
    return relay.compile(relay.parse(HEAD + text, "here.relay"), threads=1, **options)


@pytest.mark.parametrize("level", [0, 3])
def test_recursion_past_the_stack_is_an_error_with_the_place(level):
    exe = compiled(DEEP, level=level, stack=1 << 18)
    assert exe(100) == 101
    for _ in range(3):
        with pytest.raises(EvaluationError) as error:
            exe(MILLION)
        said = str(error.value)
        assert "`@climb` recurses deeper than its stack" in said
        assert "here.relay:3:" in said
        assert "relay.compile(…, stack=bytes)" in said
        assert exe(200) == 201


def test_a_larger_stack_goes_deeper():
    assert compiled(DEEP, stack=1 << 30)(MILLION) == MILLION + 1


@pytest.mark.parametrize("level", [0, 3])
def test_what_a_function_does_last_takes_no_stack(level):
    assert compiled(TURNS, level=level, stack=1 << 16)(MILLION)


# --- too long ----------------------------------------------------------------------------------

ENDLESS = {
    "a loop": "def @main(%n: int64) -> int64 { if (%n < 0i64) { %n } else { @main(%n + 0i64) } }",
    "two functions": """
    def @other(%n: int64) -> int64 { if (%n < 0i64) { %n } else { @main(%n * 1i64) } }
    def @main(%n: int64) -> int64 { if (%n < 0i64) { 0i64 } else { @other(%n + 0i64) } }
    """,
    "data": """
    type List { Cons(int64, List), Nil }
    def @go(%n: int64, %xs: List) -> int64 {
      match (%xs) { Cons(%x, _) => @go(%x, Cons(%n, Nil)), Nil => 0i64 }
    }
    def @main(%n: int64) -> int64 { @go(%n, Cons(%n, Nil)) }
    """,
    "tensors": """
    def @go(%n: int64, %x: Tensor[(?), float32]) -> int64 {
      if (%n < 0i64) { %n } else { @go(%n, nn.relu(%x)) }
    }
    def @main(%n: int64) -> int64 { @go(%n, ones(shape=[3], dtype="float32")) }
    """,
}

REST = sorted(ENDLESS.keys() - {"two functions"})

# Who is started in the background ignores the signal, and so does who it starts.
SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import relay
exe = relay.compile(relay.parse(sys.argv[1]), threads=1)
for _ in range(2):
    try:
        print("ready", flush=True)
        exe(1)
    except KeyboardInterrupt:
        print("interrupted", exe.live_objects, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize(
    "name", ["two functions", *(pytest.param(n, marks=pytest.mark.full) for n in REST)]
)
def test_a_program_without_an_end_is_interrupted_by_the_user(name):
    command = [sys.executable, "-c", SCRIPT, HEAD + ENDLESS[name]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(2):
                assert process.stdout.readline() == "ready\n"
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == "interrupted 0\n"
            assert process.wait() == 0
        finally:
            process.kill()


def assert_interrupted(run, *args, after=0.15):
    """The user presses Ctrl-C, and is answered within half a second: at least once out of three
    times, because the machine may have something else to do."""
    waited = []
    while not waited or (min(waited) >= 0.5 and len(waited) < 3):
        waited.append(interrupt(lambda: run(*args), after))
    assert min(waited) < 0.5


def product(size, layers):
    """Matrix products in a row, each a kernel."""
    x, w = relay.var("x", shape=(size, size)), relay.var("w", shape=(size, size))
    y = x
    for _ in range(layers):
        y = relay.nn.dense(y, w)
    return relay.IRModule.from_expr(relay.Function([x, w], y))


def runs_as(kind, module, threads):
    """What runs a module: in a straight line, as a whole program, or one instruction at a time."""
    compiled = compile_program(module, whole=kind != "straight")
    if kind == "vm":
        executable = relay.vm.Executable(compiled.program, compiled.code, compiled.weights, threads)
        return relay.vm.VirtualMachine(executable).run
    return make_executable(compiled.program, compiled.code, compiled.weights, threads)


WAYS = [("straight", 1), ("straight", 2), ("whole", 1), ("vm", 1)]


@pytest.mark.parametrize(("kind", "threads"), WAYS)
def test_one_long_kernel_is_interrupted_and_runs_again(kind, threads):
    size = 3072
    run = runs_as(kind, product(size, 1), threads)
    x = np.ones((size, size), np.float32)
    for after in (0.15, 0.1):
        assert_interrupted(run, x, x, after=after)
    assert np.array_equal(np.asarray(run(x, x)), size * x)
    if kind == "whole":
        assert run.live_objects == run.leaked_objects == 0


@pytest.mark.full
@pytest.mark.parametrize(("kind", "threads"), [*WAYS, ("whole", 2), ("vm", 2)])
def test_a_kernel_of_half_a_minute_is_interrupted(kind, threads):
    run = runs_as(kind, product(8192, 1), threads)
    x = np.ones((8192, 8192), np.float32)
    for _ in range(3):
        assert_interrupted(run, x, x)


@pytest.mark.parametrize(("kind", "threads"), WAYS)
def test_many_kernels_in_a_row_are_interrupted(kind, threads):
    run = runs_as(kind, product(1536, 60), threads)
    x = np.ones((1536, 1536), np.float32)
    assert_interrupted(run, x, x)


@pytest.mark.parametrize("kind", ["straight", "whole"])
def test_many_short_kernels_in_a_row_are_interrupted(kind):
    x = relay.var("x", shape=(1 << 16,))
    y = x
    for _ in range(400):
        y = relay.op.annotation.stop_fusion(relay.erf(y))
    run = runs_as(kind, relay.IRModule.from_expr(relay.Function([x], y)), 1)
    value = np.ones(1 << 16, np.float32)

    assert_interrupted(run, value)


def test_the_interpreter_is_interrupted_between_operators():
    x = relay.var("x", shape=(256, 256))
    y = x
    for _ in range(3000):
        y = relay.nn.dense(y, x)
    function = relay.create_executor("debug", relay.IRModule.from_expr(relay.Function([x], y)))
    run = function.evaluate()
    assert_interrupted(run, np.ones((256, 256), np.float32))
    assert np.asarray(relay.create_executor("debug").evaluate(relay.const(1))) == 1


def test_other_threads_are_not_asked():
    """Python handles signals in its main thread; a call in another one goes on to its end."""
    run = runs_as("straight", product(1024, 3), 1)
    x = np.full((1024, 1024), 1 / 1024, np.float32)
    found = []
    thread = threading.Thread(target=lambda: found.append(np.asarray(run(x, x))))
    thread.start()
    assert_interrupted(time.sleep, 60, after=0.05)
    thread.join()
    np.testing.assert_allclose(found[0], x, rtol=1e-4)
