"""Basic-block normal form: nothing is shared between blocks."""

import relay
from relay.analysis import check_basic_block_normal_form


def shared_in_branches():
    c, x = relay.var("c", "bool"), relay.var("x", shape=())
    y = relay.add(x, x)
    return y, relay.If(c, relay.multiply(y, y), y)


def test_sharing_in_one_block_is_allowed():
    x = relay.var("x", shape=())
    y = relay.add(x, x)
    assert check_basic_block_normal_form(relay.add(x, y))
    assert check_basic_block_normal_form(relay.Function([x], relay.multiply(y, y)))


def test_a_chain_of_lets_is_one_block():
    x, a, b = (relay.var(n, shape=()) for n in "xab")
    y = relay.add(x, x)
    chain = relay.Let(a, y, relay.Let(b, relay.add(y, a), relay.add(y, b)))
    assert check_basic_block_normal_form(chain)


def test_sharing_between_branches_is_not():
    _, branches = shared_in_branches()
    assert not check_basic_block_normal_form(branches)


def test_unless_it_is_bound_around_them():
    y, branches = shared_in_branches()
    v = relay.var("v", shape=())
    bound = relay.Let(v, y, relay.bind(relay.If(v, v, v), {}))
    assert check_basic_block_normal_form(bound)
    assert not check_basic_block_normal_form(relay.Let(v, y, branches))


def test_sharing_between_a_function_and_its_surroundings_is_not():
    x, z = relay.var("x", shape=()), relay.var("z", shape=())
    y = relay.add(x, x)
    closure = relay.Function([z], relay.add(y, z))
    assert check_basic_block_normal_form(closure(x))
    assert not check_basic_block_normal_form(closure(y))


def test_variables_and_constants_may_be_used_anywhere():
    c, x, one = relay.var("c", "bool"), relay.var("x", shape=()), relay.const(1.0)
    assert check_basic_block_normal_form(relay.If(c, relay.add(x, one), relay.multiply(x, one)))
