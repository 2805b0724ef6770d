"""Whole programs as executables: what goes in and comes out, what is refused, what fails and how,
and that a call leaves nothing behind."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from llvmlite import binding as llvm

import relay
from relay.errors import EvaluationError, LowerError
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from tests.executors.engines import native

HEAD = '#[version = "0.0.5"]\n'


def compiled(text, params=None, **options):
    made = relay.compile(relay.parse(HEAD + text, "here.relay"), params, threads=1, **options)
    assert isinstance(made, WholeProgramExecutable)
    return made


def refused(call, *args, error=EvaluationError):
    with pytest.raises(error) as found:
        call(*args)
    return str(found.value)


@dataclass
class Leaf:
    value: Any


@dataclass
class Node:
    left: Any
    right: Any


TREES = """
type Tree { Leaf(Tensor[(?), float32]), Node(Tree, Tree) }
def @main(%t: Tree, %w: Tensor[(?), float32]) -> Tree {
  match (%t) {
    Leaf(%x) => Leaf(%x * %w),
    Node(%l, %r) => Node(@main(%l, %w), @main(%r, %w)),
  }
}
"""
# the mean of rows, and rows of another tensor that has as many
ROWS = """
def @main[n: Shape, m: Shape](
  %x: Tensor[(n, m), float32], %y: Tensor[(m, n), float32], %k: int32
) -> Tensor[(n, n), float32] {
  if (%k == 0) { nn.dense(%x, transpose(%y)) } else { @main(nn.relu(%x), %y, %k - 1) }
}
"""


def matrices(n, m, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(-4, 5, (n, m)).astype("f4"), random.integers(-4, 5, (m, n)).astype("f4")


# --- sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("checked", [False, True])
def test_sizes_that_the_compiler_never_saw_compile_nothing(level, checked, monkeypatch, caplog):
    exe = compiled(ROWS, level=level, checked=checked)
    made = []
    parse = llvm.parse_assembly
    monkeypatch.setattr(llvm, "parse_assembly", lambda *args: made.append(args) or parse(*args))
    with caplog.at_level(logging.DEBUG, "relay"):
        for n, m in [(1, 1), (2, 3), (7, 16), (16, 7), (33, 65), (64, 64), (0, 3), (3, 0), (0, 0)]:
            x, y = matrices(n, m)
            np.testing.assert_array_equal(exe(x, y, 1), np.maximum(x, 0) @ y)
    assert not made
    assert not caplog.records


# --- arguments that do not fit -----------------------------------------------------------------


def test_sizes_of_one_name_must_agree():
    exe = compiled(ROWS)
    x, y = matrices(2, 3)
    said = refused(exe, x, y[:, :1], 0)
    assert "wrong value in argument `y`" in said
    assert "expected: float32[m, n] with n = 2, which dimension 0 of `x` is" in said
    assert "found:    float32[3, 1], dimension 1 of size 1" in said
    said = refused(exe, x, np.zeros((4, 2), "f4"), 0)
    assert "with m = 3, which dimension 1 of `x` is" in said
    assert "found:    float32[4, 2], dimension 0 of size 4" in said
    np.testing.assert_array_equal(exe(x, y, 0), x @ y)


def test_numbers_ranks_and_element_types_must_fit():
    exe = compiled(
        """
        def @main(%x: Tensor[(?, 3), float32], %c: bool) -> Tensor[(?, 3), float32] {
          if (%c) { nn.relu(%x) } else { %x }
        }
        """
    )
    x = np.zeros((2, 3), "f4")
    for wrong, expected, found in [
        (
            np.zeros((2, 4), "f4"),
            "float32[?, 3], dimension 1 of size 3",
            "float32[2, 4], of size 4",
        ),
        (np.zeros(3, "f4"), "float32[?, 3]", "float32[3]"),
        (np.zeros((2, 3), "f8"), "float32[?, 3]", "float64[2, 3]"),
        (None, "float32[?, 3]", "None"),
        ("text", "float32[?, 3]", "a str"),
        ([[1.0], [1.0, 2.0]], "float32[?, 3]", "a list of 2"),
    ]:
        said = refused(exe, wrong, True)
        assert "wrong value in argument `x`" in said
        assert f"expected: {expected}" in said
        assert f"found:    {found}" in said
    assert "argument `c`" in refused(exe, x, 2)
    assert "argument `c`" in refused(exe, x, x)
    assert "no value for `c`" in refused(exe, x)
    assert "too many inputs" in refused(exe, x, True, True)
    assert "there is no input `d`" in refused(lambda: exe(x, d=True))
    np.testing.assert_array_equal(exe(x, c=True), x)


def test_data_must_be_made_by_constructors_of_its_type():
    exe = compiled(TREES)
    w = np.ones(2, "f4")

    class Twig:
        pass

    @dataclass
    class Short:
        left: Any

    Short.__name__ = "Node"
    leaf = Leaf(w)
    said = refused(exe, Twig(), w)
    assert "argument `t`" in said
    assert "made by `Leaf`, `Node`" in said
    said = refused(exe, Short(leaf), w)
    assert "class Node shows 1 fields, the constructor has 2" in said
    said = refused(exe, Node(leaf, Node(leaf, Twig())), w)
    assert "argument `t`, field 1 of `Node`" in said
    said = refused(exe, Node(leaf, Leaf(np.zeros(2, "i4"))), w)
    assert "field 0 of `Leaf`" in said
    assert "int32[2]" in said
    value = exe.evaluate(leaf, w)
    other = relay.parse(HEAD + "type Other { Leaf(int32) }\ndef @main() { Leaf(1) }")
    foreign = relay.create_executor("debug", other).evaluate()()
    assert "a Other made by `Leaf`" in refused(exe, foreign, w)
    few = type(value)(value.tag, (), value.constructor)
    assert "`Leaf` with 1 fields" in refused(exe, few, w)
    assert exe.evaluate(leaf, w).fields[0].numpy().tolist() == [1.0, 1.0]


def test_nan_and_tensors_without_elements_are_values():
    exe = compiled(TREES)
    found = exe.evaluate(Node(Leaf(np.array([np.nan, np.inf], "f4")), Leaf(np.zeros(0, "f4"))),
                         np.ones(1, "f4"))  # fmt: skip
    assert np.array_equal(found.fields[0].fields[0].numpy(), [np.nan, np.inf], equal_nan=True)
    assert found.fields[1].fields[0].shape == (0,)
    x, y = matrices(0, 0)
    assert compiled(ROWS)(x, y, 2).shape == (0, 0)


# --- programs that fail ------------------------------------------------------------------------


def test_a_value_that_no_clause_matches_is_an_error_with_the_place():
    exe = compiled(
        """
        type Option[A] { Some(A), None }
        def @unwrap(%o: Option[int32]) -> int32 {
          match? (%o) { Some(%x) => %x }
        }
        def @main(%n: int32) -> int32 { @unwrap(if (%n > 0) { Some(%n) } else { None }) }
        """
    )
    assert exe(3) == 3
    said = refused(exe, 0)
    assert "here.relay:5:" in said
    assert "match" in said
    assert exe(4) == 4


@pytest.mark.parametrize("level", [0, 3])
def test_sizes_that_do_not_fit_inside_of_a_program_are_an_error_with_the_place(level):
    exe = compiled(
        """
        def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32], %c: bool) {
          if (%c) { %x + %y } else { %x }
        }
        """,
        level=level,
    )
    one, two, three = (np.ones(n, "f4") for n in (1, 2, 3))
    assert exe(two, two, True).tolist() == [2.0, 2.0]
    assert exe(one, three, True).tolist() == [2.0, 2.0, 2.0]
    said = refused(exe, two, three, True)
    assert "here.relay:4:" in said
    assert "expected: 3" in said
    assert "found:    2" in said
    assert exe(two, three, False).tolist() == [1.0, 1.0]


def test_functions_that_others_compile_are_refused_with_the_place():
    text = """
    def @theirs(%x: int32, Compiler="dnnl") -> int32 { if (%x == 0) { 1 } else { %x } }
    def @main(%x: int32) -> int32 { if (%x == 0) { 1 } else { @theirs(%x) } }
    """
    said = refused(compiled, text, error=LowerError)
    assert "`@theirs` is marked `Compiler`" in said
    assert "here.relay:3:" in said


# --- memory ------------------------------------------------------------------------------------

# A list of `size` numbers is built and added up, `times` times.
LISTS = """
type List[A] { Cons(A, List[A]), Nil }
def @build(%n: int32, %so_far: List[int32]) -> List[int32] {
  if (%n == 0) { %so_far } else { @build(%n - 1, Cons(%n, %so_far)) }
}
def @total(%xs: List[int32], %so_far: int64) -> int64 {
  match (%xs) {
    Cons(%x, %rest) => @total(%rest, %so_far + cast(%x, dtype="int64")),
    Nil => %so_far,
  }
}
def @again(%times: int32, %size: int32, %so_far: int64) -> int64 {
  if (%times == 0) { %so_far } else {
    @again(%times - 1, %size, %so_far + @total(@build(%size, Nil), 0i64))
  }
}
def @main(%times: int32, %size: int32) -> int64 { @again(%times, %size, 0i64) }
"""


def resident():
    """The memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def heap_of(exe):
    return sum(context.heap_bytes for context in exe._main.contexts)


def test_ten_million_allocations_take_no_more_memory_than_a_thousand():
    exe = compiled(LISTS, memory=1 << 24)
    assert exe(1, 1000) == 500_500
    before = heap_of(exe)
    assert exe(10_000, 1000) == 5_005_000_000
    assert heap_of(exe) == before
    assert exe._main.contexts[0].live == 0


def flat(exe, args, calls):
    """How much the memory of the process grows over so many calls, after as many first ones."""
    for _ in range(calls // 10):
        exe(*args)
    before = resident()
    for _ in range(calls):
        exe(*args)
    return resident() - before


CALLS = [
    (LISTS, (1, 3)),
    (TREES, (Node(Leaf(np.ones(3, "f4")), Leaf(np.ones(3, "f4"))), np.ones(3, "f4"))),
    (ROWS, (*matrices(3, 40), 1)),
]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux")
@pytest.mark.parametrize(("text", "args"), CALLS, ids=["numbers", "trees", "tensors"])
def test_many_calls_take_no_more_memory_than_some(text, args):
    assert flat(compiled(text, cache=None), args, 10_000) < 1 << 20


@pytest.mark.full
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux")
@pytest.mark.parametrize(("text", "args"), CALLS, ids=["numbers", "trees", "tensors"])
def test_a_million_calls_take_no_more_memory_than_some(text, args):
    assert flat(compiled(text), args, 1_000_000) < 1 << 20


def test_a_limit_of_memory_is_kept_and_the_next_call_works():
    exe = compiled(LISTS, memory=1 << 22)
    said = refused(exe, 1, 1_000_000)
    assert "out of memory" in said
    assert "relay.compile(…, memory=bytes)" in said
    assert exe(2, 100) == 2 * 5050


# --- several threads ---------------------------------------------------------------------------


def together(work, count=8):
    """Run `work(number)` in as many threads at once; what went wrong in them."""
    wrong = []
    barrier = threading.Barrier(count)

    def run(number):
        try:
            barrier.wait()
            work(number)
        except BaseException as error:  # an assertion of a thread is one of the test
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_several_threads_call_it_at_once_with_data_and_sizes_of_their_own():
    trees, rows = compiled(TREES), compiled(ROWS)

    def work(number):
        for step in range(30):
            x, y = matrices(number + 1, step % 9, seed=step)
            np.testing.assert_array_equal(
                rows(x, y, step % 3), (np.maximum(x, 0) if step % 3 else x) @ y
            )
            w = np.full(number + 2, number, "f4")
            tree = Leaf(w)
            for _ in range(step):
                tree = Node(tree, Leaf(w))
            found = trees.evaluate(tree, w)
            for _ in range(step):
                found = found.fields[0]
            np.testing.assert_array_equal(found.fields[0].numpy(), w * w)

    assert not together(work)
    assert rows.live_objects == trees.live_objects == 0


def test_weights_may_change_while_others_call():
    text = """
    def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(4, 4), float32], %n: int32)
        -> Tensor[(?, 4), float32] {
      if (%n == 0) { %x } else { @main(nn.dense(%x, %w), %w, %n - 1) }
    }
    """
    eye = np.eye(4, dtype="f4")
    exe = compiled(text, {"w": eye})
    x = np.ones((3, 4), "f4")

    def work(number):
        for step in range(60):
            if number == 0:
                exe.set_params(w=eye * (step % 3))
            else:
                found = exe(x, 4)
                assert found.max() == found.min()
                assert found[0, 0] in (0, 1, 16), "one weight for all turns of a call"

    assert not together(work)
    exe.set_params(w=2 * eye)
    assert exe(x, 3)[0, 0] == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_it_works_in_a_process_that_was_forked():
    exe = compiled(LISTS)
    assert exe(3, 4) == 30
    child = os.fork()
    if child == 0:
        os._exit(0 if exe(5, 6) == 105 and exe(1, 100_000) == 5_000_050_000 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert exe(3, 4) == 30


# --- a program for every kind of result --------------------------------------------------------


def test_functions_are_no_results():
    module = relay.parse(HEAD + "def @main(%x: int32) { fn (%y: int32) { %x + %y } }", "here.relay")
    said = refused(native, module, error=LowerError)
    assert "the result of `@main` is a function" in said
    assert "here.relay:2:" in said


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("size", [2, 4])
def test_tensors_in_data_are_as_long_as_their_types_say_or_refused(level, size):
    """Kernels are compiled for the sizes of types: a shorter tensor would be read past its end."""
    text = (
        "type List[A] { Cons(A, List[A]), Nil }\n"
        "def @main(%xs: List[Tensor[(3), float32]]) -> Tensor[(3), float32] {\n"
        '  match (%xs) { Cons(%x, _) => exp(%x), Nil => zeros(shape=[3], dtype="float32") }\n}'
    )
    exe = compiled(text, level=level)
    np.testing.assert_allclose(exe([np.ones(3, "float32")]), np.full(3, np.e), rtol=1e-6)
    said = refused(exe, [np.ones(size, "float32")])
    assert "axis 0 of field 0 of `Cons` is not 3 long" in said
    assert "here.relay:4:3" in said
    assert f"found:    {size}" in said


@pytest.mark.parametrize("level", [0, 3])
def test_function_values_check_the_sizes_they_are_compiled_for(level):
    text = (
        "def @pick(%n: int32) -> fn (Tensor[(?), float32]) -> Tensor[(?), float32] {\n"
        "  if (%n == 0) { fn (%x: Tensor[(3), float32]) -> Tensor[(3), float32] { exp(%x) } }\n"
        "  else { fn (%x: Tensor[(?), float32]) -> Tensor[(?), float32] { %x } }\n}\n"
        "def @main(%n: int32, %x: Tensor[(?), float32]) -> Tensor[(?), float32] {\n"
        "  let %f = @pick(%n);\n  %f(%x)\n}"
    )
    exe = compiled(text, level=level)
    np.testing.assert_array_equal(exe(1, np.ones(2, "float32")), np.ones(2))
    np.testing.assert_allclose(exe(0, np.ones(3, "float32")), np.full(3, np.e), rtol=1e-6)
    assert "is not 3 long" in refused(exe, 0, np.ones(2, "float32"))


@pytest.mark.parametrize("rank", [1, 4])
def test_results_of_every_size_around_that_of_the_smallest_block_come_out(rank):
    ones = "".join(", 1" for _ in range(rank - 1))
    double = compiled(
        f"def @main(%x: Tensor[(?{ones}), int8]) {{ let %y = %x + %x; (%y, %y, %y - %x) }}"
    )
    for size in (3900, 3967, 3968, 3969, 4031, 4032, 4033, 4095, 4096, 4097, 4200):
        x = np.arange(size, dtype=np.int8).reshape(size, *[1] * (rank - 1))
        for found, expected in zip(double(x), (x + x, x + x, x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_out_of_memory_says_how_much_was_asked_for():
    shape = relay.var("shape", shape=(2,), dtype="int64")
    exe = relay.compile(relay.Function([shape], relay.op.dyn.zeros(shape)), memory=1 << 24)
    with pytest.raises(relay.RelayError, match="4294967296 bytes asked for"):
        exe(np.array([1 << 20, 1 << 10]))
    assert exe(np.array([2, 3])).shape == (2, 3)
