"""Operators, indices and calls, beside what Python and NumPy make of the same."""

import math

import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import assert_same, body, data, error

x3 = np.arange(24, dtype="float32").reshape(2, 3, 4)


def assert_numpy(function, *arrays, expected=None):
    """The program gives what NumPy gives for the same indices."""
    wanted = function(*arrays) if expected is None else expected
    np.testing.assert_array_equal(relay.function(function)(*arrays).numpy(), wanted)


# --- operators


@pytest.mark.parametrize("a", [-7, -1, 0, 5])
@pytest.mark.parametrize("b", [-3, 2])
def test_arithmetic_is_pythons(a, b):
    def f(a: int, b: int):
        return a + b, a - b, a * b, a // b, a % b, -a, +b, ~a, a & b, a | b, a ^ b

    def g(a: float, b: float):
        return a / b, a * b - 2 * a, a**2, a // b, a % b

    assert_same(f, a, b)
    assert_same(g, float(a), float(b))


def test_integers_divide_to_floats():
    def f(a: int, b: int):
        return a / b, a / 2, 1 / b

    assert_same(f, 7, 4)


def test_numbers_take_the_type_of_the_other_side():
    def f(x: Tensor[(), np.float64], n: Tensor[(), np.int64]):
        return x + 1, 2 * n, n * 0.5, 3 - x

    found = relay.function(f)(1.5, np.int64(4))
    assert [v.dtype for v in found] == ["float64", "int64", "float32", "float64"]
    assert data(found) == (2.5, 8, 2.0, 1.5)


def test_numbers_of_python_are_computed_at_once():
    size = 64

    def f(x: float):
        return x * (1 / math.sqrt(size)) + len([1, 2]) ** 2

    assert body(f).count("multiply") == 1
    assert_same(f, 3.0)


@pytest.mark.parametrize("a", [1, 2, 3])
def test_comparisons_and_logic(a):
    def f(a: int, b: int):
        chain = 0 < a <= b < 10
        return chain, a == b, a != b, not a > b, a > 1 and b > 2, a > 2 or b < 2, a >= b

    assert_same(f, a, 2)


def test_what_need_not_be_computed_is_not():
    def f(xs: list[int]):
        return len(xs) > 0 and relay.prelude.hd(xs) > 1, len(xs) == 0 or relay.prelude.hd(xs) > 1

    assert data(relay.function(f)([])) == (False, True)
    assert data(relay.function(f)([2])) == (True, True)


def test_matrix_products():
    def f(a: Tensor["m", "k"], b: Tensor["k", "n"]):
        return a @ b

    a, b = np.ones((2, 3), "float32"), np.full((3, 4), 2, "float32")
    assert_numpy(f, a, b)


def test_lists_are_joined():
    def f(xs: list[int], ys: list[int]):
        return xs + ys, [0, *xs, 9, *ys], xs + [7]

    assert_same(f, [1, 2], [3])


def test_conditional_expressions():
    def f(a: int, b: float):
        return (b if a > 0 else 1), (1 if a > 5 else 2.5)

    assert_same(f, 1, 3.5)


# --- indices


def test_indices_of_tensors_are_numpys():
    def a(x: Tensor[2, 3, 4]):
        return x[1]

    def b(x: Tensor[2, 3, 4]):
        return x[-1, :, 2]

    def c(x: Tensor[2, 3, 4]):
        return x[:, 1:, ::2]

    def d(x: Tensor[2, 3, 4]):
        return x[..., -1]

    def e(x: Tensor[2, 3, 4]):
        return x[:, None, 0]

    def f(x: Tensor[2, 3, 4]):
        return x[::-1, -2:, :-1]

    for function in (a, b, c, d, e, f):
        assert_numpy(function, x3)


def test_indices_may_be_computed():
    def f(x: Tensor["n", 3, 4], i: int, j: int):
        return x[i, j + 1]

    def g(x: Tensor["n", 3, 4], i: int):
        return x[0, i : i + 2]

    for i in (0, 1, -1):
        assert_numpy(f, x3, i, 1)
    assert_numpy(g, x3, 1)


def test_tensors_of_indices():
    def f(x: Tensor["n", 3, 4], rows: Tensor[("k",), np.int32]):
        return x[rows]

    def g(x: Tensor[2, 3, 4], rows: Tensor[("k",), np.int32]):
        return x[:, rows]

    assert_numpy(f, x3, np.array([1, 0, 1], "int32"))
    assert_numpy(g, x3, np.array([[2], [0]], "int32")[:, 0])


def test_fields_and_elements():
    def f(pair: tuple[int, float, bool], xs: list[int], i: int):
        return pair[0], pair[-1], pair[:2], xs[i], xs[0]

    assert_same(f, (1, 2.0, True), [5, 6, 7], 2)


def test_shapes_are_known_where_they_are_known():
    def f(x: Tensor["n", 4]):
        rows, columns = x.shape
        return rows, columns, len(x), x.ndim

    assert data(relay.function(f)(np.zeros((3, 4), "float32"))) == (3, 4, 3, 2)
    assert body(f).count("shape_of") == 2


def test_attributes_of_tensors():
    def f(x: Tensor[2, 3]):
        return relay.zeros(x.shape, x.dtype) + x, x.T, x.astype("int32")

    a, b, c = relay.function(f)(np.full((2, 3), 1.5, "float32"))
    assert (a.shape, b.shape, c.dtype) == ((2, 3), (3, 2), "int32")


# --- calls


def test_functions_of_python():
    def f(a: int, b: int, xs: list[int]):
        return abs(a), min(a, b), max(a, b, 3), len(xs), sum(xs), int(2.7), float(b), bool(a)

    assert_same(f, -2, 5, [1, 2, 3])


def test_functions_of_python_on_lists():
    def f(xs: list[int], ys: list[int]):
        pairs = zip(xs, ys)
        kept = filter(lambda x: x > 1, xs)
        return map(lambda p: p[0] * p[1], pairs), reversed(kept)

    assert data(relay.function(f)([1, 2, 3], [4, 5, 6])) == ([4, 10, 18], [3, 2])


def test_a_tuple_gives_several_arguments():
    def f(a: int, b: int):
        def g(x: int, y: int):
            return x - y

        pair = (a, b)
        return g(*pair), max(*pair, 4)

    assert_same(f, 7, 3)


def test_arrays_from_outside_are_constants():
    weight = np.array([[1, 2], [3, 4]], "float32")

    def f(x: Tensor[1, 2]):
        return relay.nn.dense(x, weight) + weight[0]

    found = relay.function(f)(np.ones((1, 2), "float32"))
    np.testing.assert_array_equal(found.numpy(), [[4, 9]])


def test_numbers_become_tensors_where_an_operator_takes_one():
    def f(x: Tensor[3]):
        return relay.where(x > 0, x, 0.0), relay.clip(x, -1.0, 1.0), relay.maximum(x, 0)

    x = np.array([-2, 0.5, 3], "float32")
    for found, wanted in zip(
        relay.function(f)(x), (np.maximum(x, 0), np.clip(x, -1, 1), np.maximum(x, 0)), strict=True
    ):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_an_operator_says_what_it_takes():
    def f(x: Tensor[3]):
        return relay.nn.dense(x)

    assert "`weight` is missing" in error(f)


def test_a_wrong_name_gets_a_suggestion():
    def f(x: Tensor[3]):
        return relay.tahn(x)

    assert "did you mean" in error(f)
