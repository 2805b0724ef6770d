from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import assert_same, body, data, error

A = TypeVar("A")
B = TypeVar("B")
n, m, k = (relay.ShapeVar(name) for name in "nmk")


def test_nested_functions_are_closures():
    def f(x: int, y: int):
        def shift(a: int) -> int:
            return a * y + x

        return shift(shift(1))

    assert_same(f, 3, 4)


def test_functions_are_values():
    def f(n: int, times: int):
        def compose(f: Callable[[int], int], g: Callable[[int], int]) -> Callable[[int], int]:
            return lambda x: f(g(x))

        twice = lambda x: x * 2
        result: Callable[[int], int] = lambda x: x + n
        for _ in range(times):
            result = compose(twice, result)
        return result(1)

    assert_same(f, 5, 3)


def test_a_function_chosen_by_a_branch():
    def f(c: bool, x: float):
        if c:

            def g(a: float) -> float:
                return a + x

        else:

            def g(a: float) -> float:
                return a * x

        return g(3.0)

    assert_same(f, True, 2.0)
    assert_same(f, False, 2.0)


def test_a_nested_function_recurses():
    def f(n: int):
        def fib(n: int) -> int:
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        return fib(n)

    assert_same(f, 10)


def test_defaults_and_keywords():
    def f(x: int):
        k = 5

        def g(a: int, b: int = 2, *, c: int = k):
            return a * 100 + b * 10 + c

        return g(x), g(x, 7), g(b=1, a=x), g(x, c=9)

    assert_same(f, 3)


def test_a_function_without_annotations_is_there_for_every_type():
    @relay.function
    def double(x):
        return x + x

    def f(a: int, b: Tensor[3]):
        def triple(x):
            return double(x) + x

        return triple(a), triple(b), double(a)

    module = relay.function(f).module
    assert sorted(v.name_hint for v in module.get_global_vars()) == ["double", "double_1", "main"]
    found = relay.function(f)(4, np.ones(3, "float32"))
    assert data(found)[0] == 12
    np.testing.assert_array_equal(found[1].numpy(), [3, 3, 3])


def test_what_is_known_is_known_inside():
    @relay.function
    def layer(x, activation, scale):
        if activation is not None:
            x = activation(x)
        if scale == "half":
            return x * 0.5
        return x

    @relay.function
    def network(x: Tensor[2]):
        return layer(layer(x, relay.tanh, "half"), None, "full")

    text = str(network.module)
    assert "if" not in text
    x = np.array([1, -2], "float32")
    np.testing.assert_allclose(network(x).numpy(), np.tanh(x) * 0.5, rtol=1e-6)


def test_functions_recurse_over_each_other():
    @relay.function
    def even(n: int) -> bool:
        return True if n == 0 else odd(n - 1)

    @relay.function
    def odd(n: int) -> bool:
        return False if n == 0 else even(n - 1)

    assert [even(n).item() for n in range(4)] == [True, False, True, False]


def test_polymorphic_functions():
    @relay.function
    def apply_all(fs: list[Callable[[A], B]], x: A) -> list[B]:
        match fs:
            case []:
                return []
            case [f, *rest]:
                return [f(x), *apply_all(rest, x)]

    @relay.function
    def f(n: int, x: float):
        first = apply_all([lambda a: a + n, lambda a: a * n], 3)
        return first, apply_all([lambda a: a > x], 1.5)

    assert data(f(4, 1.0)) == ([7, 12], [True])
    assert str(f.module).count("def @apply_all") == 1


def test_symbolic_dimensions_are_those_of_each_call():
    @relay.function
    def mean(x: Tensor[n, 2]) -> Tensor[1, 2]:
        return relay.mean(x, axis=0, keepdims=True)

    @relay.function
    def f(x: Tensor[n, 2], y: Tensor[m, 2]):
        return mean(x) - mean(relay.concatenate([y, x]))

    x, y = np.ones((2, 2), "float32"), np.full((6, 2), 5, "float32")
    np.testing.assert_allclose(f(x, y).numpy(), [[-3, -3]])


def test_a_function_returns_functions():
    @relay.function
    def adder(n: int) -> Callable[[int], int]:
        return lambda x: x + n

    @relay.function
    def f(x: int):
        return adder(x)(1) + adder(10)(x)

    assert f(3).item() == 17


def test_prelude_functions_take_functions():
    def f(xs: list[int], n: int):
        scaled = map(lambda x: x * n, xs)
        return relay.prelude.foldl(lambda a, x: a * 10 + x, 0, scaled)

    assert relay.function(f)([1, 2, 3], 2).item() == 246


def test_operators_are_values():
    def f(xs: list[float]):
        return relay.prelude.map(relay.exp, xs), relay.prelude.foldl(relay.add, 0.0, xs)

    exponentials, total = relay.function(f)([0.0, 1.0])
    assert [x.item() for x in exponentials] == pytest.approx([1.0, 2.718281], rel=1e-5)
    assert total.item() == 1.0


def test_a_dimension_of_the_result_must_be_known_to_who_calls():
    def f(n: int) -> Tensor[k, 2]:
        return relay.zeros((3, 2), "float32")

    assert "in no parameter" in error(f)


def test_closures_keep_what_they_see():
    def f(x: int):
        y = x * 2

        def outer(a: int):
            z = a + y

            def inner(b: int):
                return b * z + x

            return inner(a) + inner(1)

        return outer(3)

    assert_same(f, 5)


def test_versions_of_a_nested_function_share_a_name():
    def f(x: int, y: float):
        def same(a):
            return a

        return same(x), same(y), same(x)

    assert_same(f, 1, 2.0)
    assert body(f).count("let %same") == 2


def test_effects_happen_in_order():
    def f(n: int):
        cell = relay.RefCreate(1)

        def step(k: int):
            relay.RefWrite(cell, relay.RefRead(cell) * 10 + k)
            return k

        total = step(n) + step(2)
        if step(3) > 5:
            total = total + 1
        return total, relay.RefRead(cell)

    assert data(relay.function(f)(7)) == (9, 1723)


def test_names_are_looked_up_when_the_program_is_made():
    @relay.function
    def early(x: int) -> int:
        return late(x) + 1

    @relay.function
    def late(x: int) -> int:
        return x * 2

    assert early(3).item() == 7


def test_annotations_name_variables_of_the_function_around():
    def build(size, other):
        @relay.data
        class Weights:
            w: Tensor[size, other]

        @relay.function
        def layer(x: Tensor[n, other], p: Weights) -> Tensor[n, size]:
            y: Tensor[n, size] = relay.nn.dense(x, p.w)
            return y

        return layer, Weights

    for size, other in itertools.product((2, 3), (4, 5)):
        layer, weights = build(size, other)
        found = layer(np.ones((1, other), "float32"), weights(np.ones((size, other), "float32")))
        np.testing.assert_array_equal(found.numpy(), np.full((1, size), other))
