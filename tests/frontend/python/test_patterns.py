from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import pytest

import relay
from relay.prelude import Nothing, Some
from tests.frontend.python.plain import assert_same, body, data

A = TypeVar("A")


@relay.data
class Expression:
    pass


@relay.data
class Number(Expression):
    value: int


@relay.data
class Add(Expression):
    left: Expression
    right: Expression


@relay.data
class Scale(Expression):
    by: int
    inner: Expression


@relay.data
class Stack(Generic[A]):
    pass


@relay.data
class Empty(Stack[A]):
    pass


@relay.data
class Push(Stack[A]):
    top: A
    below: Stack[A]


def test_constructors_fields_in_order_and_by_name():
    @relay.function
    def evaluate(e: Expression) -> int:
        match e:
            case Number(value):
                return value
            case Add(right=r, left=l):
                return evaluate(l) + evaluate(r)
            case Scale(by, inner=inner):
                return by * evaluate(inner)

    tree = Add(Number(3), Scale(2, Add(Number(1), Number(4))))
    assert evaluate(tree).item() == 13


def test_nested_patterns_alternatives_and_the_rest():
    def simplify(e: Expression) -> int:
        match e:
            case Add(Number(0), e) | Add(e, Number(0)):
                result = 1
            case Add(Number(a), Number(b)) if a == b:
                result = 2
            case Scale(1, _) | Scale(0, _):
                result = 3
            case Number() as n:
                result = 4 + n.value if False else 4
            case _:
                result = 5
        return result

    expressions = [Number(0), Number(7)]
    expressions += [Add(a, b) for a, b in itertools.product([Number(0), Number(7)], repeat=2)]
    expressions += [Scale(k, Number(0)) for k in range(3)] + [
        Add(Add(Number(0), Number(1)), e) for e in (Number(0), Number(1))
    ]
    for e in expressions:
        assert relay.function(simplify)(e).item() == simplify(e)


def test_a_match_may_leave_cases_out():
    def f(e: Expression, default: int):
        match e:
            case Number(value):
                default = value
        return default

    for e in (Number(3), Add(Number(1), Number(2))):
        assert relay.function(f)(e, 7).item() == f(e, 7)


@pytest.mark.parametrize("xs", [[], [1], [0, 5], [2, 2], [3, 4, 5], [9, 1, 1, 1]])
def test_lists(xs):
    def f(xs: list[int]):
        match xs:
            case []:
                return 0
            case [x]:
                return x * 10
            case [x, y]:
                return x - y
            case [_, *rest]:
                return len(rest)

    assert_same(f, xs)


@pytest.mark.parametrize("xs", [[], [0], [0, 1], [5], [11], [2, 2], [1, 2], [1, 7, 8], [4, 3]])
def test_guards_and_numbers_fall_through_to_what_follows(xs):
    def f(xs: list[int]):
        match xs:
            case [0, *_]:
                return 1
            case [x] if x > 10:
                return x
            case [x, y, *_] if x == y:
                r = 5
            case [x, *rest] | [_, x, *rest] if x > 3:
                r = x + 100 + len(rest)
            case []:
                return -3
            case _:
                r = 9
        return r * 2

    assert_same(f, xs)


def test_what_follows_a_guard_is_computed_only_then():
    def f(n: int) -> int:
        cell = relay.RefCreate(0)

        def note(x: int):
            relay.RefWrite(cell, relay.RefRead(cell) + x)
            return True

        match (n, n):
            case (0, _) if note(1):
                pass
            case (1, _) if note(10):
                pass
            case _ if note(100):
                pass
        return relay.RefRead(cell)

    program = relay.function(f)
    assert [program(n).item() for n in range(3)] == [1, 10, 100]


def test_tuples_and_options():
    def f(pair: tuple[int, bool], x: int | None):
        match pair:
            case (1, True):
                a = 5
            case (n, False):
                a = n
            case _:
                a = 77
        match x:
            case Some(value):
                return a + value
            case None:
                return a

    for pair in ((1, True), (1, False), (2, True)):
        for x in (None, 30):
            expected = {(1, True): 5, (1, False): 1, (2, True): 77}[pair] + (x or 0)
            assert relay.function(f)(pair, x).item() == expected


def test_options_by_their_classes():
    def f(x: int | None):
        match x:
            case Nothing():
                return 0
            case Some(value):
                return value

    assert relay.function(f)(None).item() == 0
    assert relay.function(f)(4).item() == 4


@pytest.mark.parametrize("n", range(9))
def test_scalars_are_compared(n):
    def f(n: int, m: int):
        match n:
            case 0:
                r = 10
            case 1 | 2:
                r = 20
            case k if k > m:
                r = k
            case 7 as z:
                return z * 100
            case _:
                r = -1
        return r

    for m in (0, 5, 100):
        assert_same(f, n, m)


def test_true_and_false_are_all_bools():
    def f(b: bool):
        match b:
            case True:
                r = 1
            case False:
                r = 2
        return r

    assert_same(f, True)
    assert_same(f, False)
    assert "logical_not" not in body(f)


def test_what_is_known_is_chosen_now():
    mode = "relu"

    def f(x: float):
        match mode:
            case "tanh":
                return nonsense(x)
            case "relu" | "leaky":
                return x * 2
        return x

    assert_same(f, 2.0)
    assert "if" not in body(f)


def test_data_at_two_types():
    @relay.function
    def height(stack: Stack[A]) -> int:
        match stack:
            case Empty():
                return 0
            case Push(_, below):
                return 1 + height(below)

    @relay.function
    def both(a: Stack[int], b: Stack[list[float]]):
        return height(a), height(b)

    numbers = Push(1, Push(2, Empty()))
    assert data(both(numbers, Push([1.0, 2.0], Empty()))) == (2, 1)
    assert str(both.module).count("def @height") == 1


def test_too_many_fields_are_an_error():
    def f(e: Expression):
        match e:
            case Number(a, b):
                return a + b
        return 0

    with pytest.raises(relay.FrontendError, match="too many fields") as raised:
        _ = relay.function(f).module
    assert "Number(value)" in str(raised.value)


def test_a_field_that_is_none_is_an_error_with_a_suggestion():
    def f(e: Expression):
        match e:
            case Number(valeu=a):
                return a
        return 0

    with pytest.raises(relay.FrontendError, match="did you mean `value`"):
        _ = relay.function(f).module
