import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import assert_same, body, error


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_while_loop_carries_what_it_changes(n):
    def count(n: int):
        total, i = 0, 0
        while i < n:
            total += i
            i += 1
        return total, i

    assert_same(count, n)


def test_the_text_of_a_loop():
    def power(x: float, n: int):
        result = 1.0
        for _ in range(n):
            result = result * x
        return result

    assert body(power) == (
        "def @main(%x: float32, %n: int32) -> float32 {\n"
        "  let %for_loop = fn (%_: int32, %result: float32) -> float32 {\n"
        "    %0 = less(%_, %n);\n"
        "    if (%0) {\n"
        "      let %result1: float32 = multiply(%result, %x);\n"
        "      %1 = add(%_, 1);\n"
        "      %for_loop(%1, %result1)\n"
        "    } else {\n"
        "      %result\n"
        "    }\n"
        "  };\n"
        "  let %result2: float32 = %for_loop(0, 1f);\n"
        "  %result2\n"
        "}"
    )


@pytest.mark.parametrize("bounds", [(5,), (2, 5), (5, 2), (0, 10, 3), (10, 0, -3), (3, 3)])
def test_ranges_count_as_in_python(bounds):
    first, last, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]

    def numbers(a: int, b: int):
        found = [-1]
        for i in range(a, b, step):
            found = [i, *found]
        return found

    assert_same(numbers, first, last)


def test_a_range_can_be_gone_through_backwards():
    def numbers(a: int, b: int):
        total = 1
        for i in reversed(range(a, b)):
            total = total * 3 + i
        for i in reversed(range(b)):
            total = total - i
        return total

    assert_same(numbers, 2, 6)


def test_the_counter_has_the_type_of_the_bound():
    def last(n: Tensor[(), "int64"]):
        found = n
        for i in range(n):
            found = i
        return found

    found = relay.function(last)(np.int64(4))
    assert found.dtype == "int64"
    assert found.item() == 3


def test_break_and_continue():
    def odd_sum(n: int, limit: int):
        total, i = 0, 0
        while True:
            i += 1
            if i > n:
                break
            if i % 2 == 0:
                continue
            total += i
            if total > limit:
                break
        return total, i

    for n, limit in ((0, 5), (9, 100), (30, 50)):
        assert_same(odd_sum, n, limit)


def test_a_value_that_only_a_broken_loop_has():
    def first_square(n: int):
        i = 0
        while True:
            square = i * i
            if square > n:
                break
            i += 1
        return square

    assert_same(first_square, 20)


@pytest.mark.parametrize("n", range(12))
def test_return_out_of_nested_loops(n):
    def search(n: int):
        for i in range(n):
            for j in range(i):
                if i * j > 20:
                    return i, j
                if j > 5:
                    break
            if i == 9:
                return -1, i
        return n, n

    assert_same(search, n)


def test_a_loop_that_only_returns_has_nothing_behind_it():
    def root(n: int) -> int:
        i = 0
        while True:
            if i * i >= n:
                return i
            i += 1

    assert_same(root, 30)


def test_lists_are_gone_through():
    def total(xs: list[int]):
        result = 0
        for x in xs:
            result = result * 10 + x
        return result

    assert_same(total, [1, 2, 3])
    assert_same(total, [])


def test_several_things_are_gone_through_together():
    def together(xs: list[int], ys: list[int], n: int):
        total = 0
        for i, (x, y) in enumerate(zip(xs, ys)):
            total += i * x * y
        for x, k in zip(xs, range(n)):
            total += x * k
        for i, x in enumerate(xs, 5):
            total -= i * x
        return total

    assert_same(together, [1, 2, 3], [4, 5], 2)
    assert_same(together, [1, 2, 3], [4, 5, 6, 7], 9)


def test_return_from_a_loop_over_several_things():
    def find(xs: list[int], ys: list[int]) -> int:
        for x, y in zip(xs, ys):
            if x == y:
                return x
        return -1

    for xs, ys in (([1, 2], [2, 2]), ([1], []), ([], [1]), ([3, 4, 5], [4, 5])):
        assert_same(find, xs, ys)


def test_a_tensor_is_gone_through_along_its_first_axis():
    def scan(x: Tensor["n", 3]):
        h = relay.zeros((3,), "float32")
        for i, row in enumerate(relay.tanh(x)):
            h = h * 0.5 + row * i
        return h

    for n in (0, 1, 5):
        x = np.random.default_rng(n).standard_normal((n, 3)).astype("float32")
        h = np.zeros(3, "float32")
        for i, row in enumerate(np.tanh(x)):
            h = h * 0.5 + row * i
        np.testing.assert_allclose(relay.function(scan)(x).numpy(), h, rtol=1e-5)


def test_what_a_loop_goes_through_is_computed_once():
    def scan(x: Tensor[4, 3]):
        h = relay.zeros((3,), "float32")
        for row in relay.tanh(x):
            h = h + row
        return h

    before, inside = body(scan).split("let %for_loop", 1)
    assert "tanh" in before
    assert "tanh" not in inside


def test_what_python_has_is_written_out():
    weights = [np.full((2, 2), k, "float32") for k in (1, 2, 3)]

    def layers(x: Tensor[1, 2]):
        for i, (w, scale) in enumerate(zip(weights, (0.5, 0.25, 1.0))):
            x = relay.nn.dense(x, w) * scale + i
        return x

    x = expected = np.ones((1, 2), "float32")
    for i, (w, scale) in enumerate(zip(weights, (0.5, 0.25, 1.0), strict=True)):
        expected = expected @ w.T * scale + i
    program = relay.function(layers)
    np.testing.assert_allclose(program(x).numpy(), expected, rtol=1e-5)
    assert "for_loop" not in str(program.module)


def test_return_in_a_loop_that_is_written_out():
    def first(n: int):
        for k in (1, 5, 9):
            if n < k:
                return k
        return n

    for n in (0, 3, 7, 11):
        assert_same(first, n)


def test_an_extent_may_change_from_turn_to_turn():
    def grow(n: int):
        rows: Tensor[relay.Any(), 2] = relay.zeros((1, 2), "float32")
        for _ in range(n):
            rows = relay.concatenate([rows, relay.ones((1, 2), "float32")], axis=0)
        return rows

    assert relay.function(grow)(3).shape == (4, 2)


def test_a_loop_that_never_runs_leaves_its_variables_without_a_value():
    def last(n: int):
        for i in range(n):
            found = i
        return found

    text = error(last)
    assert "`found` has no value on some of the ways" in text
    assert "return found" in text


def test_a_variable_that_changes_its_type_is_an_error():
    def widen(n: int):
        total = 0.0
        for _ in range(n):
            total = relay.zeros((3,), "float32") + total
        return total

    text = error(widen)
    assert "`total` changes its type in the loop" in text
    assert "Tensor[(3), float32]" in text


def test_an_extent_that_changes_is_an_error_with_a_hint():
    def grow(n: int):
        rows = relay.zeros((1, 2), "float32")
        for _ in range(n):
            rows = relay.concatenate([rows, rows], axis=0)
        return rows

    assert "relay.Any()" in error(grow)


def test_the_step_of_a_range_must_be_known():
    def steps(n: int, by: int):
        total = 0
        for i in range(0, n, by):
            total += i
        return total

    assert "step of a range" in error(steps)


def test_a_loop_that_is_written_out_cannot_be_left():
    def leave(n: int):
        for k in (1, 2):
            if n > k:
                break
        return n

    assert "written out" in error(leave)


def test_a_number_cannot_be_gone_through():
    def numbers(n: int):
        for _ in n:
            n = 1
        return n

    assert "cannot be gone through" in error(numbers)


def test_loops_are_as_long_as_they_like():
    def count(n: int):
        total = 0
        for i in range(n):
            total += i % 3
        return total

    assert_same(count, 3000)
