"""Calls that come from one place are told apart."""

import relay
from relay import tree
from relay.errors import SourceName, Span
from relay.ir.expr import Call, Function
from relay.transform import InferType, tag_suffixes


def at(name, call):
    return tree.replace(call, span=Span(SourceName(name)))


def network(*names):
    x = relay.var("x", shape=(2, 2))
    e = x
    for name in names:
        e = at(name, relay.op.exp(e)) if name else relay.op.exp(e)
    return InferType()(relay.IRModule.from_expr(Function([x], e)))


def names(mod):
    calls = (node for node in tree.postorder(mod["main"]) if isinstance(node, Call))
    return [call.span and call.span.source_name.name for call in calls]


def test_calls_of_one_name_are_numbered_in_the_order_of_evaluation():
    mod = network("conv", "relu", "conv", "conv")
    assert names(tag_suffixes(mod)) == ["conv_PART_0", "relu", "conv_PART_1", "conv_PART_2"]
    assert names(mod) == ["conv", "relu", "conv", "conv"]


def test_calls_without_a_name_or_of_their_own_stay():
    mod = network("a", None, "b")
    assert tag_suffixes(mod) is mod


def test_lines_of_a_text_are_places_of_their_own():
    text = '#[version = "0.0.5"]\ndef @main(%x: float32) { exp(exp(%x)) }'
    mod = relay.parse(text)
    assert tag_suffixes(mod) is mod


def test_the_result_is_typed():
    after = tag_suffixes(network("conv", "conv"))
    assert str(after["main"].checked_type.ret_type) == "Tensor[(2, 2), float32]"
