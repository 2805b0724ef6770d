"""Looking at results says what is wrong with them."""

import numpy as np
import pytest

import relay
from relay import nd
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.testing import assert_has_type, assert_same_value
from relay.testing.generator.types import chain


@pytest.fixture
def module():
    definition = chain()
    return relay.IRModule({}, {definition.header: definition})


def a_list(module, *elements):
    _, empty, link = module.get_type("Chain")
    value = ConstructorValue(empty.tag, (), empty)
    for element in elements:
        value = ConstructorValue(link.tag, (nd.array(element), value), link)
    return value


ONE = nd.array(np.zeros(2, "int8"))
BYTES = relay.TensorType((2,), "int8")
N = relay.ShapeVar("n")


def test_values_of_their_type_pass(module):
    chain_of = module.get_global_type_var("Chain")
    assert_has_type(ONE, BYTES, module)
    assert_has_type(ONE, relay.TensorType((relay.Any(),), "int8"), module)
    assert_has_type(ONE, relay.TensorType((N,), "int8"), module, {N: 2})
    assert_has_type(
        TupleValue((ONE, RefValue(ONE))), relay.TupleType((BYTES, relay.RefType(BYTES))), module
    )
    assert_has_type(a_list(module, np.zeros(2, "int8")), chain_of(BYTES), module)


@pytest.mark.parametrize(
    ("value", "ty"),
    [
        (ONE, relay.TensorType((2,), "uint8")),
        (ONE, relay.TensorType((2, 1), "int8")),
        (ONE, relay.TensorType((N,), "int8")),
        (ONE, relay.TupleType((BYTES,))),
        (TupleValue((ONE,)), BYTES),
        (ONE, relay.RefType(BYTES)),
        (ONE, relay.FuncType((), BYTES)),
    ],
)
def test_values_of_another_type_do_not_pass(module, value, ty):
    with pytest.raises(AssertionError, match="is no"):
        assert_has_type(value, ty, module, {N: 3})


def test_the_fields_of_data_are_looked_at(module):
    chain_of = module.get_global_type_var("Chain")
    with pytest.raises(AssertionError, match="is no"):
        assert_has_type(a_list(module, np.zeros(3, "int8")), chain_of(BYTES), module)


def test_equal_values_are_the_same(module):
    assert_same_value(TupleValue((ONE, ONE)), TupleValue((ONE, ONE)))
    assert_same_value(a_list(module, np.ones(3)), a_list(module, np.ones(3) + 1e-9))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ONE, nd.array(np.ones(2, "int8"))),
        (ONE, nd.array(np.zeros(2, "int16"))),
        (ONE, TupleValue((ONE,))),
        (TupleValue((ONE,)), ONE),
        (nd.array(np.ones(2)), nd.array(np.ones(2) * 1.001)),
        (nd.array(np.float32(1)), nd.array(np.float32(1.0000001))),
    ],
)
def test_other_values_are_not(found, expected):
    with pytest.raises(AssertionError):
        assert_same_value(found, expected)


def test_other_constructors_are_not(module):
    with pytest.raises(AssertionError, match="instead of"):
        assert_same_value(a_list(module), a_list(module, np.ones(1)))
