"""Edges of a program lead elsewhere."""

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.ir.redirect import redirect
from tests.support.sampling import deep


def relus(x, count):
    for _ in range(count):
        x = relay.nn.relu(x)
    return x


def test_every_use_leads_to_the_replacement():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    a, b = relay.exp(x), relay.exp(y)
    result = redirect(relay.Tuple([a, relay.add(a, b)]), {a: b})
    assert result.fields[0] is b
    assert result.fields[1].args == (b, b)


def test_replacements_are_redirected_too_and_ways_are_followed_to_the_end():
    x, y, z = (relay.var(name, shape=(3,)) for name in "xyz")
    a = relay.exp(x)
    assert redirect(a, {x: y, y: z}).args == (z,)
    inlined = redirect(relay.sqrt(y), {y: a, x: z})
    assert_structural_equal(inlined, relay.sqrt(relay.exp(z)))


def test_a_let_is_dropped_by_redirecting_it_to_its_body():
    x, y = relay.var("x", shape=(3,)), relay.var("y")
    let = relay.Let(y, relay.exp(x), relay.sqrt(y))
    assert_structural_equal(
        redirect(relay.nn.relu(let), {let: let.body, y: let.value}),
        relay.nn.relu(relay.sqrt(relay.exp(x))),
    )


def test_what_does_not_change_is_the_same_object():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    kept = relay.exp(x)
    whole = relay.Tuple([kept, relay.sqrt(y)])
    assert redirect(whole, {}) is whole
    assert redirect(whole, {y: x}).fields[0] is kept


def test_sharing_stays():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    shared = relay.exp(x)
    result = redirect(relay.add(shared, shared), {x: y})
    assert result.args[0] is result.args[1]
    assert result.args[0].args == (y,)


def test_programs_and_ways_may_be_deep():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    result = redirect(relus(x, deep(20_000)), {x: y})
    assert sum(1 for _ in tree.postorder(result)) == deep(20_000) + 2
    lets = y
    replacements = {}
    for _ in range(deep(20_000)):
        lets = relay.Let(relay.var("v"), x, lets)
        replacements[lets] = lets.body
    assert redirect(relay.nn.relu(lets), replacements).args == (y,)
