"""The decorator: programs for types, results of Python's data, and errors about arguments."""

import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import data


def test_a_program_without_annotations_is_made_for_types():
    @relay.function
    def f(x, y):
        return x * 2 + y

    module = f.at(Tensor[3], float)
    assert str(module["main"].ret_type) == "Tensor[(3), float32]"
    assert data(f(3, 4)) == 10
    assert f(np.ones(2, "float32"), 1.0).shape == (2,)


def test_the_program_is_made_once():
    @relay.function
    def f(x: int):
        return x + 1

    assert f.module is f.module


def test_the_program_compiles():
    @relay.function
    def f(x: Tensor[2, 3], w: Tensor[4, 3]):
        return relay.nn.relu(relay.nn.dense(x, w))

    x, w = np.ones((2, 3), "float32"), np.full((4, 3), -1, "float32")
    np.testing.assert_array_equal(relay.compile(f)(x, w), np.zeros((2, 4)))


def test_arguments_by_name_and_defaults():
    @relay.function
    def f(x: int, y: int = 5):
        return x * 10 + y

    assert f(1).item() == 15
    assert f(y=2, x=3).item() == 32


def test_wrong_arguments_name_the_function():
    @relay.function
    def f(x: int):
        return x

    with pytest.raises(relay.RelayError, match=r"`f`: .*argument"):
        f()
    with pytest.raises(relay.RelayError, match=r"`f`: .*argument"):
        f(1, 2)


def test_a_decorated_function_stays_one():
    @relay.function
    def f(x: int):
        """What it does."""
        return x

    assert relay.function(f) is f
    assert f.__doc__ == "What it does."
    assert repr(f) == "<relay.function f>"


def test_only_functions_are_decorated():
    with pytest.raises(relay.RelayError, match="decorates a function"):
        relay.function(3)


def test_a_function_without_source_is_an_error():
    names = {}
    exec("def f(x: int):\n    return x", names)
    with pytest.raises(relay.FrontendError, match="source of `f` cannot be read"):
        relay.function(names["f"])


def test_errors_show_columns_of_lines_that_are_not_ascii():
    def f(x: int):
        return "größe" != "ß" and x > unbekannt

    with pytest.raises(relay.FrontendError) as raised:
        _ = relay.function(f).module
    line, carets = str(raised.value).splitlines()[2:4]
    at = line.index("unbekannt")
    assert carets[at : at + 9] == "^" * 9
    assert carets.count("^") == 9
