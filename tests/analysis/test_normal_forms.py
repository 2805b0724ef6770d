"""Basic-block normal form: nothing is shared between blocks. A-normal form: all has a name."""

import pytest

import relay
from relay.analysis import check_a_normal_form, check_basic_block_normal_form


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


# --- A-normal form -------------------------------------------------------------------------------


def a_normal(body):
    text = f"def @main(%x: float32, %c: bool) {{ {body} }}"
    return check_a_normal_form(relay.parse('#[version = "0.0.5"]\n' + text)["main"])


@pytest.mark.parametrize(
    "body",
    [
        "%x",
        "let %y = exp(%x); %y",
        "let %y = %x; let %k = 1f; let %z = add(%y, %k); %z",
        "let %y = if (%c) { let %z = exp(%x); %z } else { %x }; %y",
        "let %t = (%x, %c); let %y = match (%t) { (%a, %b) => %a }; %y",
        "let %f = fn (%y: float32) -> float32 { let %z = %f(%y); %z }; let %r = ref(%f); %r",
        "let %y = fn (%p: float32, Primitive=1) { sqrt(exp(%p)) }(%x); %y",
    ],
)
def test_a_chain_of_single_operations_is_a_normal_form(body):
    assert a_normal(body)


@pytest.mark.parametrize(
    "body",
    [
        "1f",
        "exp(%x)",
        "let %y = sqrt(exp(%x)); %y",
        "let %y = add(%x, 1f); %y",
        "let %y = { let %z = exp(%x); %z }; %y",
        "let %y = if (%c) { exp(%x) } else { %x }; %y",
        "let %y = if (less(%x, %x)) { %x } else { %x }; %y",
        "let %f = fn (%y: float32) { exp(%y) }; %f",
        "let %y = fn (%p: float32) { %p }(%x); %y",
        "%0 = exp(%x); let %y = %0; let %z = %0; %z",
        "if (%c) { %x } else { %x }",
    ],
)
def test_anything_nested_or_shared_is_none(body):
    assert not a_normal(body)
