"""Expressions compared side by side, against the comparison of whole programs."""

import numpy as np
import pytest

import relay
from relay import nn
from relay.dataflow_pattern.equality import same_expression
from relay.ir.compare import structural_equal
from tests.support.sampling import deep

X, Y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))


def function(body, dtype="float32", **attrs):
    a = relay.var("a", shape=(2,), dtype=dtype)
    return relay.Function([a], body(a), attrs=attrs)


def shared():
    relu = nn.relu(X)
    return relu + relu


def let(make):
    v = relay.var("v")
    return relay.Let(v, nn.relu(X), make(v))


def clause(name, make):
    v = relay.var(name)
    return relay.Match(X, [relay.Clause(relay.PatternVar(v), make(v))])


PROGRAMS = [
    lambda: X,
    lambda: Y,
    lambda: relay.const(1),
    lambda: relay.const(1.0),
    lambda: relay.const(np.array([1.0, np.nan])),
    lambda: relay.const(np.array([1.0, -0.0])),
    lambda: relay.const(np.array([1.0, 0.0])),
    lambda: X + Y,
    lambda: Y + X,
    lambda: X - Y,
    lambda: nn.relu(X) + nn.relu(X),
    shared,
    lambda: nn.softmax(X, axis=0),
    lambda: nn.softmax(X, axis=1),
    lambda: relay.Tuple([X, Y]),
    lambda: relay.Tuple([X, Y, X]),
    lambda: relay.TupleGetItem(relay.Tuple([X, Y]), 0),
    lambda: relay.TupleGetItem(relay.Tuple([X, Y]), 1),
    lambda: relay.If(relay.const(True), X, Y),
    lambda: relay.If(relay.const(True), Y, X),
    lambda: let(lambda v: v + v),
    lambda: let(lambda v: v + X),
    lambda: function(lambda a: a),
    lambda: function(lambda a: a, "int32"),
    lambda: function(lambda a: X),
    lambda: function(lambda a: a, Primitive=1),
    lambda: clause("p", lambda v: v),
    lambda: clause("q", lambda v: X),
    lambda: relay.GlobalVar("f")(X),
    lambda: relay.GlobalVar("g")(X),
    lambda: relay.RefRead(relay.RefCreate(X)),
]


@pytest.mark.parametrize("i", range(len(PROGRAMS)))
def test_programs_compare_as_they_do_as_a_whole(i):
    for j, other in enumerate(PROGRAMS):
        left, right = PROGRAMS[i](), other()
        assert same_expression(left, right) == structural_equal(left, right) == (i == j)


def test_types_that_are_not_written_yet_do_not_count():
    a, b = relay.var("a"), relay.var("b", shape=(2,))
    assert same_expression(relay.Function([a], a), relay.Function([b], b))


def test_comparing_stops_at_what_is_the_same():
    # each comparison walks the new part only, or this would take minutes
    expr = X
    for _ in range(deep(50_000)):
        expr = nn.relu(expr)
    for _ in range(5_000):
        assert same_expression(relay.tanh(nn.relu(expr)), relay.tanh(nn.relu(expr)))
        assert not same_expression(nn.relu(expr), relay.tanh(expr))
