"""Native programs recurse as deep as their stack allows and loop as long as they like; what goes
too far is an error, and what goes on too long can be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import relay
from relay.errors import EvaluationError
from relay.prelude import Prelude

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
print("ready", flush=True)
for _ in range(2):
    try:
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
            assert process.stdout.readline() == "ready\n"
            for _ in range(2):
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == "interrupted 0\n"
            assert process.wait(30) == 0
        finally:
            process.kill()
