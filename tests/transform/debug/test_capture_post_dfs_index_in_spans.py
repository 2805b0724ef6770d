"""Expressions are numbered in their spans."""

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Var
from relay.transform import CapturePostDfsIndexInSpans, InferType

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def numbered(text):
    before = parse(text)
    after = CapturePostDfsIndexInSpans()(before)
    assert_structural_equal(after, before)
    again = CapturePostDfsIndexInSpans()(after)
    assert again["main"] is after["main"]
    return after["main"]


def spans(function):
    found = {}
    for node in tree.postorder(function):
        if isinstance(node, Call):
            found[node.op.name] = str(node.span)
        elif isinstance(node, Var):
            found[node.name_hint] = str(node.span)
    return found


def test_a_chain_is_numbered_from_the_inside():
    function = numbered("def @main(%x: float32) { exp(negative(%x)) }")
    # %x is dominated by the function, which names it as a parameter
    assert spans(function) == {"x": "index:0:5", "negative": "index:3:4", "exp": "index:4:5"}
    assert str(function.span) == "index:5:5"


def test_a_diamond_is_dominated_by_where_it_closes():
    function = numbered("def @main(%x: float32) { %0 = exp(%x); add(sqrt(%0), negative(%0)) }")
    found = spans(function)
    index = {name: int(text.split(":")[1]) for name, text in found.items()}
    dominator = {name: int(text.split(":")[2]) for name, text in found.items()}
    assert dominator["exp"] == dominator["sqrt"] == dominator["negative"] == index["add"]


def test_branches_and_clauses_are_numbered():
    function = numbered(
        """
        type Box { Of(float32), Empty }
        def @main(%b: Box, %c: bool) {
          let %y = match (%b) { Of(%x) => exp(%x), Empty => 0f };
          if (%c) { sqrt(%y) } else { %y }
        }
        """
    )
    assert all(text.startswith("index:") for text in spans(function).values())
