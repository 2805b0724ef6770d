"""Expressions without a place are found out."""

import pytest

import relay
from relay.transform import SpanCheck


def test_what_has_no_place_is_counted_by_function_and_kind():
    x = relay.var("x", shape=(2,))
    module = relay.IRModule.from_expr(relay.add(relay.add(x, x), x))
    with pytest.raises(relay.IllFormed) as caught:
        SpanCheck()(module)
    assert "in `@main`" in str(caught.value) and "2 of kind Call" in str(caught.value)
    assert "OpDef" not in str(caught.value)


def test_a_parsed_program_passes():
    module = relay.parse('#[version = "0.0.5"]\ndef @main(%x: float32) { (%x + 1f, %x).0 }')
    assert SpanCheck()(module)["main"] is module["main"]
