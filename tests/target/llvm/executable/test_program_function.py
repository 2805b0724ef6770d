"""Calls of native programs: whatever goes in comes out, from any thread, and nothing stays."""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.errors import EvaluationError
from relay.interpreter.values import RefValue, show
from relay.program.program import ScalarSpec
from relay.target.llvm.executable.style import python_style
from tests.target.llvm.executable.native_values import (
    CELL,
    FLOAT,
    INT,
    INTS,
    LINKED,
    MAYBE,
    PAIRS,
    ROSE,
    TREE,
    VECTOR,
    function,
)


@dataclass(frozen=True, eq=False)
class Leaf:
    value: Any


@dataclass(frozen=True, eq=False)
class Node:
    left: Any
    right: Any


@dataclass
class Rose:
    value: float
    children: list = field(default_factory=list)


@dataclass(frozen=True)
class Link:
    cell: RefValue


class End:
    pass


CLASSES = {"Leaf": Leaf, "Node": Node, "Rose": Rose}
ONES = np.ones(3, np.float32)


def clean(called):
    assert called.contexts
    assert all((c.live, c.leaked) == (0, 0) for c in called.contexts)


reals = st.floats(width=32, allow_nan=False)
vectors = st.lists(reals, max_size=5).map(lambda values: np.array(values, np.float32))
roses = st.recursive(
    st.builds(Rose, reals), lambda inner: st.builds(Rose, reals, st.lists(inner, max_size=3))
)
integers = st.integers(-(2**31), 2**31 - 1)


@st.composite
def shared_trees(draw):
    """Trees in which whatever was built before may be used again."""
    made = [Leaf(draw(vectors))]
    for _ in range(draw(st.integers(0, 12))):
        parts = st.sampled_from(made)
        leaf = st.builds(Leaf, st.one_of(vectors, st.just(made[0].value)))
        made.append(draw(st.one_of(leaf, st.builds(Node, parts, parts))))
    return made[-1]


def objects_of(tree):
    """The text of a tree, in which an object that was seen before is named by a number."""
    seen, out, pending = {}, [], [tree]
    while pending:
        current = pending.pop()
        if id(current) in seen:
            out.append(str(seen[id(current)]))
            continue
        seen[id(current)] = len(seen)
        if isinstance(current, Leaf):
            out.append(f"Leaf({current.value.tolist()})")
        else:
            out.append("Node")
            pending += [current.right, current.left]
    return " ".join(out)


@pytest.fixture(scope="module")
def echoes():
    return {spec: function(spec) for spec in (TREE, ROSE, INTS, PAIRS, MAYBE)}


@settings(max_examples=60, deadline=None)
@given(shared_trees())
def test_trees_come_back_with_the_same_sharing(echoes, tree):
    back = echoes[TREE]([tree], None, python_style(CLASSES))
    assert objects_of(back) == objects_of(tree)
    clean(echoes[TREE])


@settings(max_examples=40, deadline=None)
@given(roses, st.lists(integers), st.lists(st.tuples(integers, vectors)), st.none() | vectors)
def test_other_values_come_back(echoes, rose, numbers, pairs, maybe):
    style = python_style(CLASSES)
    assert echoes[ROSE]([rose], None, style) == rose
    assert echoes[INTS]([numbers], None, style) == numbers
    back = echoes[PAIRS]([pairs], None, style)
    assert [(n, v.tolist()) for n, v in back] == [(n, v.tolist()) for n, v in pairs]
    found = echoes[MAYBE]([maybe], None, style)
    assert (found is None) == (maybe is None)
    assert maybe is None or np.array_equal(found, maybe)


@settings(max_examples=40, deadline=None)
@given(roses, shared_trees())
def test_values_of_the_interpreter_go_in_again(echoes, rose, tree):
    for spec, given_value in ((ROSE, rose), (TREE, tree)):
        value = echoes[spec]([given_value])
        assert show(echoes[spec]([value])) == show(value)


def test_no_parameters_and_no_results():
    assert function(results=())([], None, python_style()) == ()


def test_parameters_are_taken_in_order():
    called = function(INT, (VECTOR, INTS), FLOAT)
    number, (vector, numbers), real = called([1, (ONES, [2, 3]), 4.0], None, python_style())
    assert (number, numbers, real) == (1, [2, 3], 4.0)
    assert np.array_equal(vector, ONES)


def test_a_long_list_crosses_and_leaves_nothing():
    called = function(INTS)
    numbers = list(range(100_000))
    assert called([numbers], None, python_style()) == numbers
    clean(called)


def test_the_caller_sees_what_was_written_to_a_cell():
    doubled = function(CELL, name="double_cell")
    cell = RefValue(21)
    assert doubled([cell]) is cell
    assert cell.value.item() == 42
    assert doubled([cell], None, python_style()) is cell
    assert cell.value == 84
    clean(doubled)


def test_a_cell_in_two_places_is_one_cell():
    cell = RefValue(1)
    first, second = function(CELL, CELL)([cell, cell])
    assert first is second is cell


def test_cells_may_form_cycles():
    last = RefValue(End())
    first = RefValue(Link(last))
    last.value = Link(first)
    called = function(LINKED)
    value = called([Link(first)])
    assert value.fields[0] is first
    assert first.value.fields[0] is last
    assert last.value.fields[0] is first
    clean(called)


def test_calls_come_from_several_threads_at_once():
    called = function(TREE, ScalarSpec("int64"))
    wrong = []

    def work(number):
        tree = Leaf(np.full(4, number, np.float32))
        for step in range(20):
            tree = Node(tree, tree)
            back, found = called([tree, step], None, python_style(CLASSES))
            while isinstance(back, Node):
                back = back.left
            if found != step or not np.array_equal(back.value, np.full(4, number)):
                wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    clean(called)


def test_failures_are_errors_and_the_context_is_used_again():
    lost = function(ScalarSpec("int64"), results=(), name="lost")
    with pytest.raises(EvaluationError, match="status 17"):
        lost([100])
    deep = function(ScalarSpec("int64"), name="recurse", stack=1 << 20)
    with pytest.raises(EvaluationError, match="recurses deeper than its stack"):
        deep([10_000_000])
    assert deep([5]).item() == 5
    small = function(INTS, memory=1 << 20)
    with pytest.raises(EvaluationError, match="out of memory"):
        small([list(range(100_000))])
    assert small([[1]], None, python_style()) == [1]
    for called in (lost, deep, small):
        assert len(called.contexts) == 1
        clean(called)
