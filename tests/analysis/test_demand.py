"""When shared computations are first needed."""

import pytest

import relay
from relay import tree
from relay.analysis.demand import Demand
from relay.ir.expr import Call

SIGNATURE = (
    "def @main(%x: float32, %y: Tensor[(?), float32], %c: bool, %d: bool, "
    "%r: ref(float32), %f: fn (float32) -> float32)"
)


def demand(body):
    module = relay.parse(f'#[version = "0.0.5"]\n{SIGNATURE} {{ {body} }}')
    function = module["main"]
    return function, Demand(function)


def late(body):
    function, found = demand(body)
    return [e for e in tree.postorder(function) if found.is_late(e)]


@pytest.mark.parametrize(
    "value",
    [
        "exp(%x)",
        "(%x, %f).0",
        "ref(%x)",
        "if (%d) { exp(%x) } else { %x }",
        "let %a = exp(%x); %a",
        "match ((%x, %d)) { (%a, _) => exp(%a) }",
        "fn (%p: float32, Primitive=1) { exp(%p) }(%x)",
        "fn (%p: float32) { %f(%p) }",
    ],
)
def test_what_is_harmless_never_has_to_wait(value):
    assert not late(f"%0 = {{ {value} }}; if (%c) {{ (%0, 1) }} else {{ (%0, 2) }}")


@pytest.mark.parametrize(
    "value",
    [
        "%f(%x)",
        "exp(%f(%x))",
        "ref_read(%r)",
        "ref_write(%r, %x)",
        "add(%y, %y)",
        "nn.dropout(%x)",
        "if (%d) { %f(%x) } else { %x }",
        "match? ((%x, %d)) { (%a, _) => %f(%a) }",
    ],
)
def test_what_has_effects_fails_or_never_ends_has_to_wait_for_a_branch(value):
    assert len(late(f"%0 = {value}; if (%c) {{ (%0, 1) }} else {{ (%0, 2) }}")) == 1
    assert (
        len(late(f"%0 = {value}; if (%c) {{ (1, fn () {{ %0 }}) }} else {{ (2, fn () {{ %0 }}) }}"))
        == 1
    )


@pytest.mark.parametrize(
    "body",
    [
        "%0 = %f(%x); (%0, if (%c) { %0 } else { %x })",
        "%0 = %f(%x); if (less(%0, %x)) { %0 } else { exp(%0) }",
        "%0 = %f(%x); let %a = %0; fn () { %0 }",
        "if (%c) { %0 = %f(%x); (%0, %0) } else { %1 = %f(%x); (%1, %1) }",
    ],
)
def test_what_is_first_needed_in_its_own_block_does_not_wait(body):
    assert not late(body)


def test_what_waits_has_a_block_of_its_own_with_its_parts():
    function, found = demand("%0 = exp(%f(%x)); if (%c) { %0 } else { sqrt(%0) }")
    (waiting,) = [e for e in tree.postorder(function) if found.is_late(e)]
    assert isinstance(waiting, Call) and waiting.op.name == "exp"
    assert found.home(waiting).parent is found.opened(function, "body")
    assert found.home(waiting.args[0]) is found.home(waiting)


def places(body):
    """Whether the branches and functions that use the same are entered once at most."""
    function, found = demand(f"%0 = %f(%x); {body}")
    (waiting,) = [e for e in tree.postorder(function) if found.is_late(e)]
    uses = []
    for parent in tree.postorder(function):
        uses += [scope for child, scope in found._edges(parent) if child is waiting]
    return found.is_once(uses, found.home(waiting).parent)


def test_branches_of_one_choice_exclude_each_other():
    assert places("if (%c) { %0 } else { if (%d) { %0 } else { exp(%0) } }")
    assert places("match ((%x, %c)) { (%a, _) => %0, _ => %0 }")


def test_branches_of_two_choices_do_not_and_functions_may_be_called_twice():
    assert not places("(if (%c) { %0 } else { %x }, if (%d) { %0 } else { %x })")
    assert not places("if (%c) { fn () { %0 } } else { fn () { exp(%0) } }")


def test_a_value_made_by_a_function_and_needed_in_it_is_a_knot():
    f, x = relay.var("f"), relay.var("x", shape=())
    again = relay.Call(f, [])
    body = relay.If(relay.less(x, x), again, x)
    let = relay.Let(f, relay.Function([], body, relay.scalar_type("float32")), again)
    found = Demand(relay.Function([x], let))
    assert found.knots(f) == [again]
    assert found.is_late(again)
    assert found.knots(x) == []
