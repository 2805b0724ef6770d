"""How many operators stand in a row."""

import pytest

import relay
from relay.analysis import count_layers


def test_layers_are_the_longest_path():
    x = relay.var("x", shape=())
    y = relay.add(relay.add(x, x), relay.multiply(relay.add(x, x), x))
    assert count_layers(y, ["add"]) == 2
    assert count_layers(y, ["add", "multiply"]) == 3
    assert count_layers(y, []) == 0
    assert count_layers(relay.IRModule.from_expr(y), ["add"]) == 2


def test_layers_go_through_lets_tuples_branches_and_fused_functions():
    x, v, p = (relay.var(n, shape=()) for n in "xvp")
    fused = relay.Function([p], relay.add(relay.add(p, p), p), attrs={"Primitive": 1})
    body = relay.Tuple([relay.If(v, relay.add(v, v), v), fused(v)])
    assert count_layers(relay.Let(v, relay.add(x, x), body), ["add"]) == 3


def test_two_names_for_one_value_are_equally_deep():
    x, a, b = (relay.var(n, shape=()) for n in "xab")
    value = relay.add(x, x)
    for last in (a, b):
        program = relay.Let(a, value, relay.Let(b, value, relay.add(last, x)))
        assert count_layers(program, ["add"]) == 2


def test_unknown_operators_are_an_error():
    with pytest.raises(relay.RelayError, match="did you mean"):
        count_layers(relay.var("x"), ["multipy"])
