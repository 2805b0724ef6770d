"""Parameters become constants, by name."""

import numpy as np
import pytest

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.parameters import bind_params_by_name


@pytest.fixture
def function():
    x, w, b = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3)), relay.var("b", shape=(4,))
    return relay.Function([x, w, b], relay.nn.bias_add(relay.nn.dense(x, w), b))


def test_named_parameters_are_bound_and_the_others_stay(function):
    w = np.arange(12, dtype="float32").reshape(4, 3)
    bound = bind_params_by_name(function, {"w": w})
    assert [p.name_hint for p in bound.params] == ["x", "b"]
    x, b = relay.var("x", shape=(2, 3)), relay.var("b", shape=(4,))
    expected = relay.nn.bias_add(relay.nn.dense(x, relay.const(w)), b)
    assert_structural_equal(bound, relay.Function([x, b], expected))


def test_it_is_found_where_people_look_for_it():
    assert relay.build_module.bind_params_by_name is bind_params_by_name


def test_arrays_tensors_constants_and_numbers_are_taken():
    x, y = relay.var("x", shape=(2,)), relay.var("y", "float16")
    function = relay.Function([x, y], relay.Tuple([x, y]))
    given = np.ones(2, "float32")
    for value in (given, relay.nd.array(given), relay.const(given)):
        bound = bind_params_by_name(function, {"x": value, "y": 0.5})
        assert bound.params == ()
        assert bound.body.fields[0].data.numpy().tolist() == [1, 1]
        assert bound.body.fields[1].data.dtype == "float16"


def test_a_later_change_of_the_array_is_not_seen():
    x = relay.var("x", shape=(2,))
    given = np.ones(2, "float32")
    bound = bind_params_by_name(relay.Function([x], x), {"x": given})
    given[:] = 7
    assert bound.body.data.numpy().tolist() == [1, 1]


def test_names_that_no_parameter_has_are_passed_over(function):
    assert bind_params_by_name(function, {"unknown": np.ones(3)}) is function


def test_a_name_that_two_parameters_have_is_an_error():
    x, other = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    function = relay.Function([x, other], relay.add(x, other))
    assert bind_params_by_name(function, {}) is function
    with pytest.raises(relay.RelayError, match="several parameters are called `x`"):
        bind_params_by_name(function, {"x": np.ones(2, "float32")})


@pytest.mark.parametrize(
    "value", [np.ones((4, 2), "float32"), np.ones((4, 3), "float64"), np.ones(12, "float32")]
)
def test_a_value_of_another_type_is_an_error(function, value):
    with pytest.raises(relay.RelayError, match=r"parameter `w` is a Tensor\[\(4, 3\), float32\]"):
        bind_params_by_name(function, {"w": value})


@pytest.mark.parametrize(("dtype", "value"), [("int32", 0.5), ("int8", 300), ("bool", 2)])
def test_a_number_that_the_type_of_the_parameter_does_not_hold_is_an_error(dtype, value):
    x = relay.var("x", shape=(), dtype=dtype)
    with pytest.raises(relay.RelayError, match=f"was given {value}, which is no {dtype}; convert"):
        bind_params_by_name(relay.Function([x], x), {"x": value})
    assert bind_params_by_name(relay.Function([x], x), {"x": 1.0}).body.data.item() == 1


def test_unknown_extents_take_any():
    x = relay.var("x", shape=(relay.Any(), 3))
    bound = bind_params_by_name(relay.Function([x], x), {"x": np.ones((5, 3), "float32")})
    assert bound.body.data.shape == (5, 3)


def test_only_constants_and_functions_are_taken(function):
    with pytest.raises(relay.RelayError, match="found a Var"):
        bind_params_by_name(function, {"w": relay.var("z", shape=(4, 3))})
    with pytest.raises(relay.RelayError, match=r"relay\.Function"):
        bind_params_by_name(function.body, {"w": 1})
