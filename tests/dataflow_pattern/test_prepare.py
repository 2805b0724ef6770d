"""What is known of a pattern before it sees a program."""

import relay
from relay.dataflow_pattern import (
    dominates,
    has_dtype,
    is_constant,
    is_expr,
    is_function,
    is_op,
    is_tuple,
    is_var,
    wildcard,
)
from relay.dataflow_pattern.prepare import prepare

X = relay.var("x")


def heads(pattern):
    return prepare(pattern).root.heads


def test_the_root_of_a_match_is_known_from_the_pattern():
    relu = is_op("nn.relu")(wildcard())
    assert heads(relu) == {"nn.relu"}
    assert heads(relu | is_op("tanh")(None)) == {"nn.relu", "tanh"}
    assert heads(relu.has_attr({"a": 1}).has_dtype("int8")) == {"nn.relu"}
    assert heads(relu.optional(is_op("exp"))) == {"nn.relu", "exp"}
    assert heads((is_op("add") | is_op("subtract"))(wildcard(), wildcard())) == {"add", "subtract"}
    assert heads(dominates(wildcard(), wildcard(), relu)) == {"nn.relu"}
    assert heads(wildcard()(None)) == {relay.Call}
    assert heads(wildcard().has_attr({"TOpPattern": 0})(None)) == {relay.Call}
    assert heads(is_tuple() | is_var()) == {relay.Tuple, relay.Var}
    assert heads(is_constant()) == {relay.Constant}
    assert heads(is_function()) == {relay.Function}
    assert heads(is_expr(X + X)) == {"add"}
    assert heads(wildcard()) is None
    assert heads(relu | wildcard()) is None
    assert heads(has_dtype("int8")) is None


def test_a_product_may_also_be_a_quotient():
    a, b, c = wildcard(), wildcard(), wildcard()
    assert heads((a * b) / c) == heads(a * (b / c)) == {"multiply", "divide"}
    assert heads(a * b) == {"multiply"}


def test_a_pattern_is_prepared_once_and_again_when_redirected():
    a = wildcard()
    pattern = is_op("nn.relu")(a)
    first = prepare(pattern)
    assert prepare(pattern) is first
    a.redirect_to(is_var())
    second = prepare(pattern)
    assert second is not first
    assert prepare(pattern) is second


def test_parts_are_listed_as_they_are_written():
    x, w, b = wildcard(), is_constant(), is_var()
    conv = is_op("nn.conv2d")(x, w)
    pattern = is_op("nn.bias_add")(conv, b)
    assert prepare(pattern).order == (pattern.op, conv.op, x, w, conv, b, pattern)
