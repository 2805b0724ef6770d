"""Values of the language as Python's own data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.interpreter.values import ConstructorValue, TupleValue
from tests.support.python_values import to_python
from tests.target.llvm.executable.native_values import INTS, MAYBE, PAIRS, TREE, function

ONES = np.ones(3, np.float32)


@dataclass(frozen=True, eq=False)
class Leaf:
    value: Any


@dataclass(frozen=True, eq=False)
class Node:
    left: Any
    right: Any


def test_lists_options_tuples_and_numbers_are_pythons():
    assert to_python(function(INTS)([[1, 2, 3]])) == [1, 2, 3]
    assert to_python(function(MAYBE)([None])) is None
    assert np.array_equal(to_python(function(MAYBE)([ONES])), ONES)
    [(number, vector)] = to_python(function(PAIRS)([[(1, ONES)]]))
    assert number == 1
    assert np.array_equal(vector, ONES)
    assert to_python(TupleValue(())) == ()


def test_constructors_with_a_class_become_instances_and_share_what_they_shared():
    leaf = Leaf(ONES)
    value = function(TREE)([Node(leaf, leaf)])
    found = to_python(value, {"Leaf": Leaf, "Node": Node})
    assert type(found) is Node
    assert found.left is found.right
    plain = to_python(value)
    assert type(plain) is ConstructorValue


def test_long_lists_and_deep_trees_are_no_different():
    assert to_python(function(INTS)([list(range(5000))])) == list(range(5000))
    tree = Leaf(ONES)
    for _ in range(5000):
        tree = Node(tree, tree)
    found = to_python(function(TREE)([tree]), {"Leaf": Leaf, "Node": Node})
    assert found.left is found.right
