"""A part of a program as a program of its own."""

import pytest

import relay
from relay.analysis import extract_intermdeiate_expr


@pytest.fixture
def module():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    a = relay.add(x, x)
    pair = relay.Tuple([a, relay.multiply(a, y)])
    return relay.IRModule.from_expr(relay.add(relay.TupleGetItem(pair, 1), a))


def test_expressions_are_numbered_as_they_are_printed(module):
    kinds = []
    for number in range(5):
        body = extract_intermdeiate_expr(module, number)["main"].body
        kinds.append(body.op.name if isinstance(body, relay.Call) else type(body).__name__)
    assert kinds == ["add", "multiply", "Tuple", "TupleGetItem", "add"]


def test_the_parameters_are_the_variables_it_needs(module):
    first = extract_intermdeiate_expr(module, 0)["main"]
    assert [p.name_hint for p in first.params] == ["x"]


@pytest.mark.parametrize("number", [-1, 5])
def test_a_number_that_is_not_there_is_an_error(module, number):
    with pytest.raises(relay.RelayError, match=f"%0 to %4, found %{number}"):
        extract_intermdeiate_expr(module, number)
