"""Programs without a source are quoted from their own text."""

import relay
from relay.check.locate import locate


def quoted(about, root):
    span = locate(about, root)
    return span.source_name.text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


def test_a_call_is_quoted_with_its_line():
    x = relay.var("x", shape=(2,))
    inner = relay.exp(x)
    assert quoted(inner, relay.Function([x], relay.sqrt(inner))) == "%0 = exp(%x)"


def test_what_takes_several_lines_is_quoted_where_it_begins():
    x, c = relay.var("x", shape=(2,)), relay.var("c", shape=(), dtype="bool")
    outer = relay.If(c, relay.If(c, x, relay.exp(x)), x)
    function = relay.Function([x, c], relay.sqrt(outer))
    assert quoted(outer, function) == "%0 = if (%c) {"
    closure = relay.Function([x], relay.exp(x))
    assert quoted(closure, relay.Function([c], closure)) == "fn (%x: Tensor[(2), float32]) {"


def test_what_is_not_there_has_no_place():
    x = relay.var("x", shape=(2,))
    assert locate(relay.exp(x), relay.Function([x], x)) is None
    assert locate(x, None) is None
