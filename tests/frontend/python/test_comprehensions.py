import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import assert_same, body

k = 3


def test_elements_in_order_with_tests():
    def f(xs: list[int], n: int):
        return [x * n for x in xs if x > 1 if x != 5]

    assert_same(f, [1, 2, 5, 3], 4)
    assert_same(f, [], 4)


def test_several_generators():
    def f(n: int, xs: list[int]):
        return [i * 100 + j * 10 + x for i in range(n) for j in range(i) if i != 2 for x in xs]

    assert_same(f, 4, [1, 2])


def test_comprehensions_in_comprehensions():
    def f(xss: list[list[int]]):
        return [[x + 1 for x in xs] for xs in xss]

    assert_same(f, [[1], [], [2, 3]])


def test_over_several_things_at_once():
    def f(xs: list[int], ys: list[int]):
        return [i + x * y for i, (x, y) in enumerate(zip(xs, ys, strict=False))]

    assert_same(f, [1, 2, 3], [4, 5])


def test_variables_are_its_own():
    def f(xs: list[int], x: int):
        a = k * 2
        ys = [k + a + x for k in xs]
        return ys, [x for x in xs], x

    assert_same(f, [1, 2], 10)


def test_the_first_source_is_seen_from_outside():
    def f(x: list[int]):
        return [x for x in x]

    assert_same(f, [1, 2])


def test_over_data_of_python_it_is_written_out():
    weights = [np.full((2, 2), k, "float32") for k in (1, 2)]

    def f(x: Tensor[1, 2]):
        return relay.concatenate([relay.nn.dense(x, w) for w in weights], axis=1)

    found = relay.function(f)(np.ones((1, 2), "float32")).numpy()
    np.testing.assert_array_equal(found, [[2, 2, 4, 4]])
    assert "for_loop" not in body(f)


def test_python_chooses_among_its_data():
    def f(x: int):
        a, b = [x * w for w, used in ((1, True), (2, False), (3, True)) if used]
        return a + b

    assert_same(f, 4)


def test_a_tensor_has_rows():
    def f(x: Tensor["n", 2]):
        return [relay.sum(row) for row in x]

    found = relay.function(f)(np.array([[1, 2], [3, 4]], "float32"))
    assert [x.item() for x in found] == [3, 7]


def test_closures_may_have_them_inside():
    def f(xs: list[int], n: int):
        def scaled(by: int):
            return [x * by + n for x in xs]

        return scaled(2), scaled(n)

    assert_same(f, [1, 2, 3], 5)


@pytest.mark.parametrize("n", [0, 2000])
def test_they_may_be_long(n):
    def f(n: int):
        return sum([i % 7 for i in range(n)])

    assert_same(f, n)
