"""Programs built in Python get a place in a text."""

import relay
from relay.ir import assert_structural_equal
from relay.transform import AnnotateSpans, InferType, SpanCheck


def test_every_expression_gets_a_place_and_nothing_else_changes():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], relay.add(x, relay.const([1.0, 2.0])), attrs={"Inline": 1})
    module = InferType()(relay.IRModule.from_expr(f)).with_attr("version", 3)
    made = AnnotateSpans()(module)
    SpanCheck()(made)
    assert_structural_equal(made, module)
    span = made["main"].body.span
    line = span.source_name.line(span.line)
    assert span.source_name.name == "GeneratedSource"
    assert line[span.column - 1 :].startswith("add(%x, meta[relay.Constant][0]")
