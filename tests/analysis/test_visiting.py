"""Visiting every expression once."""

import relay
from relay.analysis import post_order_visit
from tests.support.sampling import deep


def test_parts_come_before_the_whole_and_shared_ones_once():
    x = relay.var("x")
    y = relay.add(x, x)
    z = relay.multiply(y, y)
    seen = []
    post_order_visit(relay.Function([x], z), seen.append)
    assert seen.index(x) < seen.index(y) < seen.index(z) == len(seen) - 2
    assert len(seen) == len(set(seen)) == 6  # the function, two calls, two operators, a variable


def test_patterns_and_clauses_are_no_expressions():
    x = relay.var("x")
    match = relay.Match(relay.const(1), [relay.Clause(relay.PatternVar(x), x)])
    seen = []
    post_order_visit(match, seen.append)
    assert [type(e).__name__ for e in seen] == ["Constant", "Var", "Match"]


def test_deep_programs():
    x = relay.var("x")
    for _ in range(deep(20_000)):
        x = relay.TupleGetItem(x, 0)
    count = 0

    def visit(expr):
        nonlocal count
        count += 1

    post_order_visit(x, visit)
    assert count == deep(20_000) + 1
