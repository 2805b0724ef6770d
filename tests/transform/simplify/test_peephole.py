"""Rules are applied from the inside out, until none fits."""

import pytest

import relay
from relay.errors import PassError
from relay.op import abs as absolute
from relay.op import negative
from relay.op.facts import Trait
from relay.transform import FuseOps, InferType
from relay.transform.simplify.peephole import having, rewritten
from tests.support.sampling import deep
from tests.transform.rewriting import assert_types_hold, parse


def double_negation(call, window):
    inner = window.call_of(call.args[0], "negative")
    return inner.args[0] if inner else None


NEGATION = {"negative": (double_negation,)}


def apply(body, *rules, **options):
    module = parse(body, **options)
    return rewritten(module["main"], *(rules or (NEGATION,)))


def test_a_rule_is_applied_in_one_walk_along_a_chain():
    x = relay.var("x", shape=(2,))
    e = x
    for _ in range(deep(10_000)):
        e = negative(e)
    main = InferType()(relay.IRModule.from_expr(relay.Function([x], e)))["main"]
    assert rewritten(main, NEGATION).body.name_hint == "x"


def test_what_a_rule_makes_is_looked_at_again():
    # abs(x)  ->  negative(negative(negative(x))), of which one negation is left
    rules = {"abs": (lambda call, _: negative(negative(negative(call.args[0]))),)}
    body = apply("abs(%x)", rules, NEGATION).body
    assert body.op is negative and body.args[0].name_hint == "x"


def test_of_several_rules_the_first_that_fits_is_taken():
    def never(call, window):
        return None

    def first(call, window):
        return absolute(call.args[0])

    rules = {"exp": (never, first)}, {"exp": (double_negation,)}
    assert apply("exp(%x)", *rules).body.op is absolute


def test_rules_begin_with_operators_that_have_a_trait():
    rules = {having(Trait.INVOLUTION): (double_negation,)}
    assert apply("negative(negative(%x))", rules).body.name_hint == "x"
    body = "exp(exp(%x))"
    assert apply(body, rules).body.op.name == "exp"


def test_rules_that_undo_each_other_are_an_error():
    rules = {
        "abs": (lambda call, _: negative(call.args[0]),),
        "negative": (lambda call, _: absolute(call.args[0]),),
    }
    with pytest.raises(PassError, match="undo each other"):
        apply("abs(%x)", rules)


def test_a_rewriting_that_changes_the_type_is_not_made():
    rules = {"exp": (lambda call, _: relay.reshape(call.args[0], (3, 2)),)}
    main = parse("exp(%x)")["main"]
    assert rewritten(main, rules) is main
    rules = {"exp": (lambda call, _: relay.reshape(call.args[0], (7,)),)}  # has no type
    assert rewritten(main, rules) is main


def test_types_need_not_be_inferred_again():
    after = apply("(exp(negative(negative(%x))), if (%c) { negative(negative(%y)) } else { %x })")
    module = relay.IRModule({"main": after})
    assert after.ty is not None
    assert_types_hold(module)
    assert InferType()(module)["main"] is after


def test_what_is_made_stands_where_it_was_made_from():
    module = relay.parse('#[version = "0.0.5"]\ndef @main(%x: int32) {\n  abs(%x)\n}')
    rules = {"abs": (lambda call, _: negative(call.args[0]),)}
    before, after = module["main"].body, rewritten(module["main"], rules).body
    assert after.span is not None and after.span == before.span


def test_names_are_looked_through_where_nothing_moves():
    body = apply("let %a = negative(%x); let %b = negative(%a); %b").body
    assert body.body.value.name_hint == "x"
    main = parse("let %a = negative(exp(%x)); let %b = negative(%a); %b")["main"]
    assert rewritten(main, NEGATION) is main


def test_inside_branches_clauses_and_functions():
    before = "type L { C(Tensor[(2, 3), float32], L), N }"
    params = "%l: L, %c: bool, %x: Tensor[(2, 3), float32]"
    after = apply(
        """
        let %f = fn (%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
          if (%c) { negative(negative(%y)) } else { %f(negative(negative(%y))) }
        };
        match (%l) { C(%h, _) => negative(negative(%h)), N => %f(%x) }
        """,
        params=params,
        before=before,
    )
    assert "negative" not in after.astext()


def test_functions_that_belong_to_somebody_are_not_entered():
    module = FuseOps(fuse_opt_level=2)(parse("negative(negative(%x))"))
    assert rewritten(module["main"], NEGATION) is module["main"]
    primitive = module["main"].body.op
    assert rewritten(primitive, NEGATION) is primitive


def test_what_a_function_shares_with_the_code_around_it_stays_there():
    # without the use outside, the inner negation would be computed in every call
    x = relay.var("x", shape=(2, 3))
    shared = negative(relay.exp(x))
    inside = relay.Function([], negative(shared))
    main = relay.Function([x], relay.Tuple([negative(shared), inside]))
    main = InferType()(relay.IRModule.from_expr(main))["main"]
    assert rewritten(main, NEGATION) is main


def test_a_rule_makes_calls_and_tuples_only():
    x = relay.var("x", shape=(2, 3))
    rules = {"exp": (lambda call, _: relay.Let(x, call.args[0], x),)}
    main = parse("exp(%x)")["main"]
    assert rewritten(main, rules) is main


def test_readers_that_are_gone_hold_up_nobody():
    def alone(call, window):
        inner = window.call_of(call.args[0], "abs")
        return inner.args[0] if inner and window.is_used_once(call.args[0]) else None

    def dropped(call, window):
        return call.args[1]

    # the maximum reads abs(%x) as well, until it is left out
    body = "%0 = abs(%x); add(negative(%0), maximum(%0, %y))"
    result = apply(body, {"negative": (alone,), "maximum": (dropped,)})
    assert [e.name_hint for e in result.body.args] == ["x", "y"]
