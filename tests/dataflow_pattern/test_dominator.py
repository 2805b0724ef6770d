"""Regions that begin at one expression and end in one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay import nn, tree
from relay.dataflow_pattern import (
    DFPatternCallback,
    dominates,
    is_constant,
    is_op,
    is_var,
    rewrite,
    wildcard,
)
from relay.dataflow_pattern.matcher import Matcher
from relay.dataflow_pattern.prepare import prepare
from relay.op.opdef import FusionKind
from tests.support.sampling import deep

X, W, B = relay.var("x"), relay.var("w"), relay.var("b")

CONV = is_op("nn.conv2d")(wildcard(), wildcard())
ADD = is_op("add")(wildcard(), wildcard())
ELEMENTWISE = wildcard().has_attr({"TOpPattern": FusionKind.ELEMWISE})(wildcard())
DIAMOND = dominates(CONV, ELEMENTWISE, ADD)


def conv(x=X, w=W):
    return nn.conv2d(x, w)


def diamond(start):
    return nn.relu(nn.relu(start)) + nn.leaky_relu(start)


def test_both_sides_of_a_diamond_may_be_any_chain():
    assert DIAMOND.match(diamond(conv()))
    start = conv()
    assert DIAMOND.match(relay.tanh(nn.relu(start)) + nn.leaky_relu(start))
    assert DIAMOND.match(start + nn.relu(start))
    assert DIAMOND.match(start + start)


def test_a_diamond_may_be_a_single_chain_that_splits_late():
    relu = nn.relu(nn.relu(conv()))
    assert DIAMOND.match(relu + relay.tanh(relu))


def test_a_path_may_itself_contain_diamonds():
    nested = dominates(CONV, ELEMENTWISE | ADD, ADD)
    start = conv()
    relu = nn.relu(start)
    assert nested.match(relay.tanh(relu + relu) + nn.leaky_relu(start))
    assert not DIAMOND.match(relay.tanh(relu + relu) + nn.leaky_relu(start))


def test_every_path_must_lead_to_the_same_parent():
    assert not DIAMOND.match(nn.relu(conv()) + nn.leaky_relu(conv()))
    assert not DIAMOND.match(nn.relu(X) + nn.leaky_relu(conv()))
    assert not DIAMOND.match(diamond(X))
    assert not DIAMOND.match(X + nn.relu(conv(W, X)) + conv())


def test_two_candidates_for_the_parent_are_one_too_many():
    first = conv()
    second = conv(relay.tanh(first))
    relus = dominates(CONV, is_op("nn.relu")(wildcard()), ADD)
    assert not relus.match(second + nn.relu(first))
    assert not relus.match(nn.relu(second) + nn.relu(first))


def test_a_parent_further_up_is_taken_when_the_nearest_does_not_do():
    first = conv()
    second = conv(first)
    # the second convolution is on one path only, so it must count as part of the path
    pattern = dominates(CONV, ELEMENTWISE | CONV, ADD)
    assert pattern.match(second + nn.relu(first))
    assert not DIAMOND.match(second + nn.relu(first))


def test_a_parent_that_does_not_fit_the_rest_is_passed_by():
    x = wildcard()
    pattern = dominates(
        is_op("nn.relu")(x), is_op("nn.relu")(wildcard()), is_op("tanh")(wildcard())
    )
    whole = pattern + x
    chain = nn.relu(nn.relu(nn.relu(X)))
    # only the outermost parent gives `x` the expression on the other side
    assert whole.match(relay.tanh(chain) + X)


def test_nothing_in_between_may_be_used_elsewhere():
    start = conv()
    out = diamond(start)
    pattern = is_op("add")(DIAMOND, wildcard())
    assert pattern.match(out + X)
    assert not pattern.match(out + start)
    relu = nn.relu(start)
    assert not pattern.match((relu + nn.leaky_relu(start)) + relu)


def test_variables_and_constants_beside_the_path_do_not_count():
    elementwise = wildcard().has_attr({"TOpPattern": FusionKind.ELEMWISE})(None)
    broadcast = wildcard().has_attr({"TOpPattern": FusionKind.BROADCAST})(None)
    injective = wildcard().has_attr({"TOpPattern": FusionKind.INJECTIVE})(wildcard())
    pattern = injective.dominates(CONV, elementwise | broadcast)
    assert pattern.match(relay.reshape(nn.relu(nn.bias_add(conv(), B)), [-1, 2, 8]))
    assert pattern.match(relay.reshape(conv() + relay.const(1.0), [-1]))
    assert pattern.match(relay.reshape(conv(), [-1]))
    assert not pattern.match(relay.reshape(nn.relu(X) + B, [-1]))
    # a computation beside the path is another beginning
    assert not pattern.match(relay.reshape(conv() + nn.relu(B), [-1]))


def test_the_path_may_be_anything():
    free = is_op("add")(wildcard(), wildcard()).dominates(CONV)
    start = conv()
    assert free.match(nn.softmax(start) + relay.reshape(start, [-1]))
    assert not free.match(nn.softmax(X) + nn.softmax(X))


def test_a_parent_may_be_a_variable():
    pattern = dominates(is_var("x"), ELEMENTWISE, ADD)
    assert pattern.match(nn.relu(X) + relay.tanh(X))
    assert pattern.match(nn.relu(X) + X)
    assert not pattern.match(nn.relu(B) + relay.tanh(B))
    assert not dominates(is_constant(), ELEMENTWISE, ADD).match(nn.relu(X) + relay.tanh(X))


def test_types_along_the_path():
    def typed(dtype, shape):
        path = ELEMENTWISE.has_dtype(dtype)
        return dominates(CONV, path, ADD.has_shape(shape))

    x = relay.var("x", shape=(1, 3, 12, 12))
    w = relay.var("w", shape=(3, 3, 3, 3))
    out = diamond(conv(x, w))
    assert typed("float32", (1, 3, 10, 10)).match(out)
    assert not typed("float32", (1, 1, 10, 10)).match(out)
    assert not typed("float16", (1, 3, 10, 10)).match(out)


def test_dominators_nest():
    inner = dominates(CONV, ELEMENTWISE, ADD)
    relus = is_op("nn.relu")(wildcard())
    outer = dominates(inner, relus, is_op("multiply")(wildcard(), wildcard()))
    middle = diamond(conv())
    assert outer.match(nn.relu(middle) * nn.relu(nn.relu(middle)))
    assert not outer.match(nn.relu(middle) * relay.tanh(middle))
    assert not outer.match(nn.relu(diamond(X)) * nn.relu(X))


def test_dominators_nest_in_paths_without_end():
    relu = is_op("nn.relu")(wildcard())
    path = relu
    for _ in range(1_000):
        path = dominates(is_op("exp")(wildcard()), path, relu) | is_op("tanh")(wildcard())
    pattern = dominates(CONV, path, ADD)
    start = conv()
    assert pattern.match(relay.tanh(start) + start)
    assert not pattern.match(nn.softmax(start) + start)


def test_programs_that_are_not_all_calls_have_regions_too():
    anything = dominates(wildcard(), wildcard(), wildcard())
    mod = relay.IRModule()
    relay.Prelude(mod)
    for function in mod.functions.values():
        anything.match(function)
        for expr in tree.postorder(function):
            if isinstance(expr, relay.Expr):
                anything.match(expr)
    start = nn.relu(X)
    pair = relay.TupleGetItem(relay.Tuple([relay.tanh(start), start]), 0)
    projected = is_op("exp")(wildcard()).dominates(is_op("nn.relu")(wildcard()))
    assert projected.match(relay.exp(pair))
    branches = relay.exp(relay.If(relay.const(True), relay.tanh(start), start))
    assert projected.match(branches)


def test_a_dominator_cannot_contain_itself():
    again = wildcard()
    again.redirect_to(dominates(CONV, again, ADD))
    with pytest.raises(relay.RelayError, match="cannot be redirected to itself"):
        again.match(X)


def test_the_nodes_of_the_path_are_listed_each_once():
    class Look(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.path = is_op("nn.relu")(wildcard()) | is_op("tanh")(wildcard())
            self.conv = CONV
            self.pattern = dominates(self.conv, self.path, ADD)

        def callback(self, pre, post, node_map):
            self.seen = node_map
            return post

    look, start = Look(), conv()
    relu = nn.relu(start)
    program = relay.tanh(relu) + relay.tanh(nn.relu(relu))
    assert rewrite(look, program) is program
    assert look.seen[look.conv] == [start]
    assert len(look.seen[look.path]) == 4
    assert all(any(e is found for e in tree.postorder(program)) for found in look.seen[look.path])


def test_a_long_path_takes_time_in_proportion():
    # every relu is a possible child of every convolution above it
    expr = conv()
    for _ in range(deep(10_000)):
        expr = nn.relu(expr)
    relu = is_op("nn.relu")(wildcard())
    pattern = dominates(is_op("nn.dense")(wildcard(), wildcard()), relu, relu)
    assert pattern.partition(expr) is expr
    found = dominates(CONV, relu, relu).partition(expr)
    assert found.op.attrs["PartitionedFromPattern"].startswith("nn.conv2d_nn.relu_nn.relu_")


# --- against the definition ----------------------------------------------------------------------


def is_dominated(child, parent, root, on_path, begins):
    """The definition, by walking every path: up from the child all meet the parent over nodes of
    the path; down from the parent all go through the child."""

    def inputs(e):
        return [a for a in e.args if isinstance(a, relay.Call)]

    def up(e):
        return bool(inputs(e)) and all(a is parent or (on_path(a) and up(a)) for a in inputs(e))

    def down(e):
        users = [u for u in tree.postorder(root) if isinstance(u, relay.Call) and e in u.args]
        return e is child or (e is not root and all(down(u) for u in users))

    return begins(parent) and up(child) and down(parent)


@st.composite
def graphs(draw):
    nodes = [X]
    for _ in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from(["tanh", "nn.relu", "add", "subtract"]))
        args = [nodes[draw(st.integers(max(0, len(nodes) - 4), len(nodes) - 1))] for _ in range(2)]
        nodes.append(
            relay.Call(relay.op.get(name), args[: 1 if name in ("tanh", "nn.relu") else 2])
        )
    return nodes[-1]


@settings(max_examples=300)
@given(graphs(), st.sampled_from([{"nn.relu"}, {"nn.relu", "add"}, {"tanh", "nn.relu", "add"}]))
def test_regions_are_those_of_the_definition(root, names):
    def on_path(e):
        return isinstance(e, relay.Call) and e.op.name in names

    pattern = dominates(
        is_op("tanh")(None), wildcard().where(on_path), is_op("add")(wildcard(), wildcard())
    )
    calls = [e for e in tree.postorder(root) if isinstance(e, relay.Call)]
    matcher = Matcher(prepare(pattern), root)
    for child in calls:
        expected = child.op.name == "add" and any(
            is_dominated(child, e, root, on_path, lambda e: e.op.name == "tanh") for e in calls
        )
        assert (matcher.match(child) is not None) == expected
