"""What fits a pattern and what does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay import nn, tree
from relay.dataflow_pattern import (
    AltPattern,
    CallPattern,
    ExprPattern,
    FunctionPattern,
    VarPattern,
    WildcardPattern,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    wildcard,
)
from relay.dataflow_pattern.matcher import Matcher
from relay.dataflow_pattern.prepare import prepare
from relay.op.opdef import FusionKind
from tests.support.sampling import deep

X, Y, Z, W = (relay.var(name) for name in "xyzw")


def conv(x=X, w=W, **attrs):
    return nn.conv2d(x, w, **attrs)


IS_CONV = is_op("nn.conv2d")(wildcard(), wildcard())


# --- leaves --------------------------------------------------------------------------------------


def test_a_wildcard_fits_anything():
    for expr in (X, relay.const(1), X + Y, relay.Tuple([X]), relay.op.get("add")):
        assert wildcard().match(expr)


def test_a_variable_fits_by_name_or_whatever_its_name():
    assert is_var().match(X)
    assert is_var("x").match(X)
    assert not is_var("x").match(Y)
    assert not is_var().match(relay.const(1))
    assert not is_var("f").match(relay.GlobalVar("f"))


def test_a_constant_fits_whatever_its_value():
    assert is_constant().match(relay.const(1.0))
    assert not is_constant().match(X)


def test_an_operator_fits_itself():
    assert is_op("add").match(relay.op.get("add"))
    assert not is_op("add").match(relay.op.get("subtract"))
    either = is_op("add") | is_op("subtract")
    assert either.match(relay.op.get("add"))
    assert either.match(relay.op.get("subtract"))
    assert not either.match(relay.op.get("divide"))


def test_an_expression_fits_by_structure():
    assert is_expr(X).match(X)
    assert not is_expr(X).match(relay.var("x"))
    assert is_expr(relay.const(0.0)).match(relay.const(0.0))
    assert not is_expr(relay.const(0.0)).match(relay.const(0))
    assert not is_expr(relay.const(0.0)).match(relay.const(1.0))
    assert is_expr(X + relay.const(1)).match(X + relay.const(1))
    assert not is_expr(X + relay.const(1)).match(X + relay.const(2))
    assert is_expr(relay.GlobalVar("f")).match(relay.GlobalVar("f"))
    a, b = relay.var("a"), relay.var("b")
    assert is_expr(relay.Function([a], a + X)).match(relay.Function([b], b + X))


# --- calls ---------------------------------------------------------------------------------------


def test_a_call_fits_with_its_operator_and_arguments():
    pattern = is_op("add")(wildcard(), wildcard())
    assert pattern.match(X + Y)
    assert not pattern.match(X - Y)
    assert not pattern.match(X)
    assert not is_op("add")(wildcard()).match(X + Y)


def test_a_call_of_none_has_any_arguments():
    assert wildcard()(None).match(nn.relu(X))
    assert wildcard()(None).match(X + Y)
    assert is_op("add")(None).match(X + Y)
    assert not is_op("add")(None).match(nn.relu(X))
    assert not wildcard()(None).match(X)


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_commutative_operands_come_in_either_order(name):
    op = relay.op.get(name)
    pattern = is_op(name)(is_var("x"), is_var("y"))
    assert pattern.match(op(X, Y))
    assert pattern.match(op(Y, X))
    assert not pattern.match(op(X, X))


@pytest.mark.parametrize("name", ["subtract", "divide"])
def test_other_operands_do_not(name):
    op = relay.op.get(name)
    pattern = is_op(name)(is_var("x"), is_var("y"))
    assert pattern.match(op(X, Y))
    assert not pattern.match(op(Y, X))


def test_an_alternative_of_operators_commutes_where_the_operator_does():
    pattern = (is_op("add") | is_op("subtract"))(is_var("x"), is_var("y"))
    assert pattern.match(Y + X)
    assert not pattern.match(Y - X)


def test_products_and_quotients_are_found_however_they_are_bracketed():
    a, b, c = is_var("x"), is_var("y"), is_var("z")
    for pattern in ((a * b) / c, a * (b / c), (b / c) * a):
        assert pattern.match((X * Y) / Z)
        assert pattern.match((Y * X) / Z)
        assert pattern.match(X * (Y / Z))
        assert pattern.match((Y / Z) * X)
        assert not pattern.match((X * Z) / Y)
        assert not pattern.match(X / (Y * Z))
    assert ((a * b) / c).match(Y * (X / Z))


def test_calls_of_closures_and_globals_fit():
    f = relay.GlobalVar("f")
    assert is_expr(f)(wildcard()).match(f(X))
    assert wildcard()(is_var("x")).match(f(X))
    assert not is_expr(relay.GlobalVar("g"))(wildcard()).match(f(X))
    assert is_var("x")(is_var("y")).match(X(Y))


# --- the other kinds of expression ---------------------------------------------------------------


def test_tuples_fit_field_by_field():
    pattern = is_tuple([is_var("x"), wildcard(), is_op("add")])
    add = relay.op.get("add")
    assert pattern.match(relay.Tuple([X, Y, add]))
    assert not pattern.match(relay.Tuple([Y, Y, add]))
    assert not pattern.match(relay.Tuple([X, Y]))
    assert not pattern.match(X)
    assert is_tuple().match(relay.Tuple([]))
    assert is_op("concatenate")(is_tuple(None)).match(relay.concatenate([X, Y, Z], axis=0))


def test_a_projection_fits_by_index_or_whatever_its_index():
    pair = relay.Tuple([X, Y])
    first = is_tuple_get_item(is_tuple([wildcard(), wildcard()]), 0)
    assert first.match(relay.TupleGetItem(pair, 0))
    assert not first.match(relay.TupleGetItem(pair, 1))
    anywhere = is_tuple_get_item(wildcard())
    assert anywhere.match(relay.TupleGetItem(pair, 0))
    assert anywhere.match(relay.TupleGetItem(X, 7))


def test_a_conditional_fits_part_by_part():
    x, y = is_var("x"), is_var("y")
    pattern = is_if(is_op("less")(x, y), x, y)
    assert pattern.match(relay.If(X < Y, X, Y))
    assert not pattern.match(relay.If(X > Y, X, Y))
    assert not pattern.match(relay.If(X < Y, Y, X))
    assert not pattern.match(X)


def test_a_binding_fits_part_by_part():
    v = is_var("v")
    pattern = is_let(v, is_op("less")(is_var("x"), is_var("y")), v)
    bound = relay.var("v")
    assert pattern.match(relay.Let(bound, X < Y, bound))
    assert not pattern.match(relay.Let(bound, X > Y, bound))
    assert not pattern.match(relay.Let(bound, X < Y, bound + X))


def test_a_function_fits_by_parameters_and_body():
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], a + b)
    assert pattern.match(relay.Function([X, Y], X + Y))
    assert pattern.match(relay.Function([X, Y], Y + X))
    assert not pattern.match(relay.Function([X, Y], X - Y))
    assert not pattern.match(relay.Function([X], X + X))
    assert FunctionPattern(None, wildcard()).match(relay.Function([X], X))
    assert is_function().match(relay.Function([X, Y], X + Y))
    assert not is_function().match(X)


# --- one pattern, one expression -----------------------------------------------------------------


def test_a_pattern_used_twice_stands_for_one_expression():
    a = wildcard()
    assert (a + a).match(X + X)
    assert not (a + a).match(X + Y)
    assert (wildcard() + wildcard()).match(X + Y)


def test_a_diamond_needs_a_shared_expression():
    diamond = is_op("nn.relu")(IS_CONV) + is_op("tanh")(IS_CONV)
    shared = conv()
    assert diamond.match(nn.relu(shared) + relay.tanh(shared))
    assert diamond.match(relay.tanh(shared) + nn.relu(shared))
    assert not diamond.match(nn.relu(conv()) + relay.tanh(conv()))
    assert not diamond.match(nn.relu(shared))


# --- alternatives and backtracking ---------------------------------------------------------------


def test_an_option_is_there_or_not():
    pattern = is_op("nn.relu")(IS_CONV.optional(lambda c: is_op("nn.bias_add")(c, wildcard())))
    assert pattern.match(nn.relu(conv()))
    assert pattern.match(nn.relu(nn.bias_add(conv(), Y)))
    assert not pattern.match(relay.tanh(conv()))
    assert not pattern.match(nn.relu(nn.bias_add(nn.dense(X, W), Y)))
    assert not pattern.match(nn.relu(conv() + Y))


def test_options_chain():
    pattern = IS_CONV.optional(is_op("nn.relu")).optional(is_op("tanh"))
    relu, tanh = nn.relu(conv()), relay.tanh(conv())
    for expr in (conv(), relu, tanh, relay.tanh(relu)):
        assert pattern.match(expr)
    assert not pattern.match(nn.relu(tanh))


def test_a_failed_alternative_leaves_no_binding_behind():
    a = wildcard()
    # the left alternative binds `a` to %x before it fails
    pattern = is_tuple([is_tuple([a, is_constant()]) | is_tuple([wildcard(), a]), a])
    assert pattern.match(relay.Tuple([relay.Tuple([X, Y]), Y]))
    assert not pattern.match(relay.Tuple([relay.Tuple([X, Y]), X]))


def test_a_choice_that_fits_is_taken_back_when_something_later_does_not():
    a, b = wildcard(), wildcard()
    # either order of the addition fits by itself; what follows decides
    pattern = is_tuple([a + b, a, b])
    assert pattern.match(relay.Tuple([X + Y, X, Y]))
    assert pattern.match(relay.Tuple([X + Y, Y, X]))
    assert not pattern.match(relay.Tuple([X + Y, X, X]))
    either = is_tuple([is_tuple([a, wildcard()]) | is_tuple([wildcard(), a]), a])
    assert either.match(relay.Tuple([relay.Tuple([X, Y]), X]))
    assert either.match(relay.Tuple([relay.Tuple([X, Y]), Y]))
    assert not either.match(relay.Tuple([relay.Tuple([X, Y]), Z]))


def test_many_commutative_calls_do_not_multiply_the_attempts():
    # without remembering failures this takes 2**60 attempts
    pattern, expr = is_constant(), X
    for _ in range(60):
        pattern, expr = (pattern + wildcard()), expr + Y
    assert not pattern.match(expr)
    tree_pattern, tree_expr = is_constant(), X
    for _ in range(60):
        tree_pattern = tree_pattern * tree_pattern
        tree_expr = tree_expr * tree_expr
    assert not tree_pattern.match(tree_expr)


# --- conditions ----------------------------------------------------------------------------------


def test_attributes_of_a_call():
    assert IS_CONV.has_attr({"data_layout": "NCHW"}).match(conv())
    assert not IS_CONV.has_attr({"data_layout": "NHWC"}).match(conv())
    assert not IS_CONV.has_attr({"no_such": "NCHW"}).match(conv())
    assert IS_CONV.has_attr({"kernel_size": [3, 3]}).match(conv(kernel_size=(3, 3)))
    assert not IS_CONV.has_attr({"kernel_size": [3, 3]}).match(conv(kernel_size=(2, 1)))
    assert is_op("cast")(wildcard()).has_attr({"dtype": "int8"}).match(relay.cast(X, "int8"))


def test_attributes_of_a_call_that_is_not_an_operator():
    named = wildcard()(wildcard()).has_attr({"kind": "a"})
    attrs = relay.DictAttrs
    assert named.match(relay.Call(X, [Y], attrs({"kind": "a", "more": 1})))
    assert not named.match(relay.Call(X, [Y], attrs({"kind": "b"})))
    assert not named.match(relay.Call(X, [Y], attrs({})))
    assert not named.match(relay.Call(X, [Y]))
    assert wildcard()(wildcard()).has_attr({}).match(relay.Call(X, [Y]))


def test_attributes_of_an_operator():
    broadcast = is_op("add").has_attr({"TOpPattern": FusionKind.BROADCAST})
    assert broadcast(wildcard(), wildcard()).match(X + Y)
    assert not broadcast(wildcard(), wildcard()).match(X - Y)
    assert not broadcast.match(relay.Let(Z, X + Y, Z))
    elementwise = wildcard().has_attr({"TOpPattern": 0})(None)
    assert elementwise.match(nn.relu(X))
    assert not elementwise.match(conv())
    assert not elementwise.match(X(Y))
    assert not has_attr({"no.such.fact": 1}).match(relay.op.get("add"))


def test_attributes_of_a_function():
    pattern = wildcard().has_attr({"Composite": "add"})
    f = relay.Function([X, Y], X + Y)
    assert pattern.match(f.with_attr("Composite", "add"))
    assert not pattern.match(f.with_attr("Composite", "other"))
    assert not pattern.match(f)
    assert not pattern.match(X)


def test_types_of_variables_and_constants_are_known_at_once():
    x = relay.var("x", shape=(10, 10))
    assert has_type(relay.TensorType((10, 10), "float32")).match(x)
    assert not has_type(relay.TensorType((10, 10), "int32")).match(x)
    assert has_dtype("float32").match(x)
    assert not has_dtype("int32").match(x)
    assert has_shape((10, 10)).match(x)
    assert not has_shape((10, 5)).match(x)
    assert has_shape((3,)).match(relay.const(np.zeros(3, "float32")))
    assert has_dtype("int8").match(relay.const(1, "int8"))


def test_types_of_other_expressions_are_inferred_when_a_pattern_asks():
    x = relay.var("x", shape=(1, 3, 12, 12))
    w = relay.var("w", shape=(4, 3, 3, 3))
    expr = nn.relu(conv(x, w))
    assert is_op("nn.relu")(IS_CONV.has_shape((1, 4, 10, 10))).match(expr)
    assert not is_op("nn.relu")(IS_CONV.has_shape((1, 4, 12, 12))).match(expr)
    pair = relay.Tuple([x, nn.relu(x)])
    assert has_type(relay.TupleType([x.type_annotation] * 2)).match(pair)
    assert not has_shape((1, 3, 12, 12)).match(pair)


def test_symbolic_dimensions_are_compared_too():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, 3))
    assert has_shape((n, 3)).match(nn.relu(x))
    assert not has_shape((relay.ShapeVar("n"), 3)).match(nn.relu(x))
    assert has_shape((relay.Any(),)).match(relay.var("y", shape=(relay.Any(),)))


def test_an_expression_without_a_type_fits_no_type():
    assert not has_dtype("float32").match(X)
    assert not has_shape(()).match(X + Y)
    assert not has_type(relay.TensorType(())).match(nn.relu(X))


def test_a_predicate_is_asked_when_the_rest_fits():
    asked = []

    def is_wide(call):
        asked.append(call)
        return call.attrs.kernel_size == (3, 3)

    pattern = is_op("nn.relu")(IS_CONV.where(is_wide))
    wide, narrow = conv(kernel_size=(3, 3)), conv(kernel_size=(1, 1))
    assert pattern.match(nn.relu(wide))
    assert not pattern.match(nn.relu(narrow))
    assert not pattern.match(nn.relu(X))
    assert asked == [wide, narrow]


def test_a_predicate_that_refuses_makes_the_search_go_on():
    small = wildcard().where(lambda e: isinstance(e, relay.Var))
    assert (small - wildcard() | wildcard() - small).match(nn.relu(X) - Y)
    assert (small + wildcard()).match(nn.relu(X) + Y)
    assert not (small + wildcard()).match(nn.relu(X) + nn.relu(X))


# --- recursive patterns and depth ----------------------------------------------------------------


def test_a_redirected_wildcard_stands_for_its_target():
    a = wildcard()
    pattern = is_op("nn.relu")(a)
    a.redirect_to(is_var("x"))
    assert pattern.match(nn.relu(X))
    assert not pattern.match(nn.relu(Y))


def casts(count, expr):
    for _ in range(count):
        expr = relay.cast(expr, "float32")
    return expr


@pytest.mark.parametrize("order", ["inside", "left", "right"])
def test_a_recursive_pattern_fits_any_number_of_turns(order):
    again, dense = wildcard(), is_op("nn.dense")(wildcard(), wildcard())
    if order == "inside":
        pattern = is_op("cast")(again)
        again.redirect_to(pattern | dense)
    else:
        pattern = is_op("cast")(again | dense if order == "left" else dense | again)
        again.redirect_to(pattern)
    for count in (1, 2, 7):
        assert pattern.match(casts(count, nn.dense(X, W)))
    assert not pattern.match(nn.dense(X, W))
    assert not pattern.match(casts(3, nn.relu(X)))


def test_a_pattern_that_was_used_before_can_still_be_redirected():
    a = wildcard()
    pattern = is_op("nn.relu")(a)
    assert pattern.match(nn.relu(Y))
    a.redirect_to(is_var("x"))
    assert not pattern.match(nn.relu(Y))
    a.redirect_to(is_var("y"))
    assert pattern.match(nn.relu(Y))


def test_a_recursive_pattern_follows_a_long_chain():
    again = wildcard()
    pattern = is_op("nn.relu")(again | is_var("x"))
    again.redirect_to(pattern)
    expr = X
    for _ in range(deep(20_000)):
        expr = nn.relu(expr)
    assert pattern.match(expr)


@pytest.mark.parametrize(
    "target",
    [lambda w: w, lambda w: w | is_var(), lambda w: w.has_attr({}), lambda w: is_var() | w],
)
def test_a_recursion_that_goes_nowhere_is_refused(target):
    again = wildcard()
    again.redirect_to(target(again))
    with pytest.raises(relay.RelayError, match="at least one expression per iteration"):
        is_op("nn.relu")(again).match(nn.relu(X))


def test_deep_patterns_match_deep_programs():
    pattern, expr = wildcard(), X
    for _ in range(deep(10_000)):
        pattern, expr = is_op("nn.relu")(pattern), nn.relu(expr)
    assert pattern.match(expr)
    assert not is_op("tanh")(pattern).match(expr)
    same = wildcard()
    pattern, expr = same, X
    for _ in range(3_000):
        pattern, expr = pattern + same, expr + X
    assert pattern.match(expr)


def test_matching_looks_at_the_root_only_and_costs_as_much_as_the_pattern():
    expr = X
    for _ in range(deep(20_000)):
        expr = nn.relu(expr)
    pattern = is_op("nn.relu")(is_op("nn.relu")(wildcard()))
    for _ in range(deep(10_000)):
        assert match(pattern, expr)


# --- against a matcher that is too simple to be wrong --------------------------------------------


def ways(pattern, expr, bound):
    """Every way `pattern` fits `expr`, by plain recursion over all possibilities."""
    if pattern in bound:
        if bound[pattern] is expr:
            yield bound
        return

    def several(pairs, bound):
        if not pairs:
            yield bound
            return
        for found in ways(*pairs[0], bound):
            yield from several(pairs[1:], found)

    found = []
    match pattern:
        case WildcardPattern():
            found = [bound]
        case VarPattern():
            found = (
                [bound] if isinstance(expr, relay.Var) and expr.name_hint == pattern.name else []
            )
        case ExprPattern():
            found = [bound] if expr is pattern.expr else []
        case AltPattern():
            found = [*ways(pattern.left, expr, bound), *ways(pattern.right, expr, bound)]
        case CallPattern() if isinstance(expr, relay.Call):
            orders = [expr.args]
            if expr.op.name in ("add", "multiply"):
                orders.append(expr.args[::-1])
            for callee in ways(pattern.op, expr.op, bound):
                for args in orders:
                    if len(args) == len(pattern.args):
                        found += several(list(zip(pattern.args, args, strict=True)), callee)
    for way in found:
        yield {**way, pattern: expr}


@st.composite
def programs(draw):
    """A random graph of calls over two variables, the patterns over it being as random."""
    nodes = [X, Y]
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(["add", "subtract", "nn.relu"]))
        arity = 1 if name == "nn.relu" else 2
        args = [nodes[draw(st.integers(0, len(nodes) - 1))] for _ in range(arity)]
        nodes.append(relay.Call(relay.op.get(name), args))
    return nodes[-1]


@st.composite
def random_patterns(draw):
    parts = [wildcard(), wildcard(), is_var("x"), is_var("y")]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["add", "subtract", "nn.relu", "or"]))
        some = [parts[draw(st.integers(0, len(parts) - 1))] for _ in range(2)]
        if kind == "or":
            parts.append(some[0] | some[1])
        else:
            parts.append(is_op(kind)(*some[: 1 if kind == "nn.relu" else 2]))
    return parts[-1]


@settings(max_examples=300)
@given(random_patterns(), programs())
def test_the_search_finds_what_trying_everything_finds(pattern, program):
    for expr in tree.postorder(program):
        expected = list(ways(pattern, expr, {}))
        bindings = Matcher(prepare(pattern), expr).match(expr)
        assert (bindings is not None) == bool(expected)
        if bindings is not None:
            found = {step.pattern: e for step, e in bindings if step.pattern is not None}
            assert any(all(way[p] is e for p, e in found.items() if p in way) for way in expected)
