"""Expressions that are values already."""

import relay
from relay.analysis import check_constant


def test_constants_and_tuples_of_constants():
    one = relay.const(1)
    assert check_constant(one)
    assert check_constant(relay.Tuple([]))
    assert check_constant(relay.Tuple([one, relay.Tuple([one])]))


def test_everything_else_is_not():
    one = relay.const(1)
    assert not check_constant(relay.var("x"))
    assert not check_constant(relay.Tuple([one, relay.add(one, one)]))
