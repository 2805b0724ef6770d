"""Which parts of a pattern concern nobody else, and which recur."""

from relay.dataflow_pattern import is_op, wildcard
from relay.dataflow_pattern.prepare import prepare


def flags(pattern, name):
    """The patterns whose step has a flag set."""
    seen, pending = {}, [prepare(pattern).root]
    while pending:
        step = pending.pop()
        if step not in seen:
            seen[step] = getattr(step, name)
            pending.extend(step.parts())
    return {step.pattern for step, value in seen.items() if value}


def relu(x):
    return is_op("nn.relu")(x)


def test_in_a_tree_every_part_is_closed():
    a, b = wildcard(), wildcard()
    pattern = relu(a) - relu(b)
    assert flags(pattern, "closed") == set(prepare(pattern).order)


def test_a_part_that_binds_what_another_uses_is_open():
    a = wildcard()
    left, right = relu(a), relu(wildcard())
    pattern = left - relu(right) - a
    assert left not in flags(pattern, "closed")
    assert right in flags(pattern, "closed")
    assert pattern in flags(pattern, "closed")
    assert pattern.args[0] not in flags(pattern, "closed")


def test_a_part_is_closed_where_everything_shared_lies_below_it():
    a = wildcard()
    diamond = relu(a) - relu(a)
    pattern = relu(diamond) - wildcard()
    assert {diamond, pattern.args[0]} <= flags(pattern, "closed")
    assert diamond.args[0] not in flags(pattern, "closed")


def test_sharing_an_operator_shares_nothing():
    op = is_op("nn.relu")
    inner = op(wildcard())
    pattern = op(inner)
    assert {inner, pattern} <= flags(pattern, "closed")


def test_failures_are_remembered_for_closed_parts_with_alternatives():
    a = wildcard()
    plain, commutative = relu(wildcard()), relu(wildcard() + wildcard())
    option = a.optional(is_op("tanh"))
    pattern = (plain - commutative) - (relu(option) - a)
    guarded = flags(pattern, "guarded")
    assert {commutative, commutative.args[0]} <= guarded
    assert plain not in guarded
    assert option not in guarded
    assert pattern not in guarded


def test_what_lies_on_a_cycle_recurs():
    again, leaf = wildcard(), wildcard()
    pattern = relu(again | leaf)
    again.redirect_to(pattern)
    outer = is_op("tanh")(pattern)
    assert flags(outer, "cyclic") == {pattern, pattern.args[0], again}
    assert not flags(outer, "closed") & {pattern, again, outer}
    assert leaf in flags(outer, "closed")
