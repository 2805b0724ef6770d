"""Data types, their values in Python and in a program, and the annotations that name them."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import pytest

import relay
from relay import Tensor
from relay.frontend.python.standard import Rose
from relay.prelude import Tree as Roses
from tests.frontend.python.plain import data

A = TypeVar("A")
B = TypeVar("B")


@relay.data
class Point:
    x: float
    y: float = 1.0


@relay.data
class Tree(Generic[A]):
    pass


@relay.data
class Leaf(Tree[A]):
    value: A


@relay.data
class Node(Tree[A]):
    left: Tree[A]
    right: Tree[A]


@relay.data
class Forest:
    trees: list[Tree[int]]
    best: Point | None
    pair: tuple[int, Tensor[2]]


def test_one_constructor_has_fields():
    @relay.function
    def f(p: Point):
        moved = Point(p.x + 1.0, y=p.y * 2.0)
        return moved, Point(moved.x)

    first, second = f(Point(1.0, 4.0))
    assert isinstance(first, Point)
    assert (first.x.item(), first.y.item()) == (2.0, 8.0)
    assert (second.x.item(), second.y.item()) == (2.0, 1.0)


def test_the_definition_in_the_program():
    @relay.function
    def f(tree: Tree[int]) -> Tree[int]:
        return tree

    assert "type Tree[A] {\n  Leaf(A),\n  Node(Tree[A], Tree[A]),\n}" in str(f.module)


def test_data_goes_in_and_comes_out():
    @relay.function
    def f(forest: Forest):
        return forest, Node(Leaf(forest.pair[0]), Leaf(5))

    given = Forest([Leaf(1), Node(Leaf(2), Leaf(3))], None, (4, np.ones(2, "float32")))
    found, tree = f(given)
    assert [type(t) for t in found.trees] == [Leaf, Node]
    assert found.trees[1].right.value.item() == 3
    assert found.best is None
    assert found.pair[0].item() == 4
    assert (tree.left.value.item(), tree.right.value.item()) == (4, 5)


def test_data_from_outside_is_built_in_the_program():
    origin = Point(3.0, 4.0)

    @relay.function
    def f(x: float):
        return x * origin.x + Point(1.0, 2.0).y

    assert f(2.0).item() == 8.0


def test_long_lists_and_deep_data():
    @relay.function
    def last(xs: list[int], tree: Tree[int]) -> int:
        found = 0
        for x in xs:
            found = x
        while True:
            match tree:
                case Leaf(value):
                    return found + value
                case Node(left, _):
                    tree = left

    tree = Leaf(5)
    for _ in range(3000):
        tree = Node(tree, Leaf(0))
    assert last(list(range(3000)), tree).item() == 3004


def test_trees_of_the_prelude():
    @relay.function
    def total(tree: Roses[int]) -> int:
        return tree.value + sum([total(child) for child in tree.children])

    assert total(Rose(1, [Rose(2, []), Rose(3, [Rose(4, [])])])).item() == 10


def test_constructors_are_functions():
    @relay.function
    def f(xs: list[int]):
        return map(Leaf, xs)

    assert [leaf.value.item() for leaf in f([1, 2])] == [1, 2]


def test_data_types_may_use_each_other():
    @relay.function
    def f(even: Even) -> int:
        match even:
            case Zero():
                return 0
            case AfterOdd(Odd(inner)):
                return 2 + f(inner)

    assert f(AfterOdd(Odd(AfterOdd(Odd(Zero()))))).item() == 4


@relay.data
class Even:
    pass


@relay.data
class Zero(Even):
    pass


@relay.data
class AfterOdd(Even):
    odd: Odd


@relay.data
class Odd:
    even: Even


def test_a_constructor_of_a_constructor_is_an_error():
    with pytest.raises(relay.FrontendError, match="itself a constructor"):

        @relay.data
        class Lower(Leaf[A]):
            pass


def test_a_data_type_in_use_has_no_more_constructors():
    @relay.data
    class Open:
        pass

    @relay.data
    class First(Open):
        pass

    @relay.function
    def f(x: Open) -> Open:
        return x

    _ = f.module
    with pytest.raises(relay.FrontendError, match="in use already"):

        @relay.data
        class Second(Open):
            pass


def test_type_parameters_are_said():
    @relay.data
    class Box(Generic[A]):
        pass

    with pytest.raises(relay.FrontendError, match="does not say the type parameters"):

        @relay.data
        class Plain(Box):
            pass

    with pytest.raises(relay.FrontendError, match="at every type"):

        @relay.data
        class Special(Box[int]):
            pass


def test_two_data_types_of_one_name_are_an_error():
    def make():
        @relay.data
        class Point:
            z: int

        return Point

    Other = make()

    def f(a: Point, b: Other):
        return 1

    function = relay.function(f)
    with pytest.raises(relay.FrontendError, match="two data types of the program are called"):
        _ = function.module


def test_only_classes_are_declared():
    with pytest.raises(relay.RelayError, match=r"relay\.data decorates a class"):
        relay.data(3)


def test_a_field_that_is_no_type_points_at_the_field():
    @relay.data
    class Wrong:
        fine: int
        name: str

    def f(x: Wrong):
        return x

    function = relay.function(f)
    with pytest.raises(relay.FrontendError) as raised:
        _ = function.module
    assert "name: str" in str(raised.value)


def test_objects_are_dataclasses():
    point = Point(1.0)
    assert data((point.x, point.y)) == (1.0, 1.0)
    with pytest.raises(AttributeError):
        point.x = 2.0
