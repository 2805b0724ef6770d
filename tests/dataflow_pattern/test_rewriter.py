"""Callbacks replace what they find, until nothing changes."""

import numpy as np
import pytest

import relay
from relay import nn, tree
from relay.dataflow_pattern import (
    DFPatternCallback,
    FunctionPattern,
    dominates,
    has_dtype,
    is_constant,
    is_expr,
    is_op,
    is_tuple,
    is_var,
    rewrite,
    wildcard,
)
from relay.ir.compare import assert_structural_equal
from tests.support.sampling import deep

X, Y, Z, W = (relay.var(name) for name in "xyzw")


class Replace(DFPatternCallback):
    """A callback from a pattern and a function of (pre, post, node_map)."""

    def __init__(self, pattern, make, **options):
        super().__init__(**options)
        self.pattern = pattern
        self.make = make
        self.calls = 0

    def callback(self, pre, post, node_map):
        self.calls += 1
        return self.make(pre, post, node_map)


def add_to_subtract(**options):
    add = is_op("add")(wildcard(), wildcard())
    return Replace(add, lambda pre, post, _: post.args[0] - post.args[1], **options)


def subtract_to_add():
    subtract = is_op("subtract")(wildcard(), wildcard())
    return Replace(subtract, lambda pre, post, _: post.args[0] + post.args[1])


def relu_once():
    x = wildcard()
    return Replace(
        is_op("nn.relu")(is_op("nn.relu")(x)), lambda pre, post, found: nn.relu(found[x][0])
    )


def count(expr, name):
    return sum(isinstance(e, relay.Call) and e.op.name == name for e in tree.postorder(expr))


# --- what a callback gets and gives --------------------------------------------------------------


def test_a_match_becomes_what_the_callback_returns():
    assert_structural_equal(rewrite(add_to_subtract(), X + Y), X - Y)
    assert_structural_equal(add_to_subtract().rewrite(nn.relu(X + Y)), nn.relu(X - Y))


def test_without_a_match_the_program_comes_back_itself():
    program = relay.Function([X], nn.relu(X))
    assert rewrite(add_to_subtract(), program) is program
    assert rewrite([], program) is program


def test_a_callback_that_returns_post_changes_nothing():
    same = Replace(wildcard(), lambda pre, post, _: post)
    program = nn.relu(X + Y)
    assert rewrite(same, program) is program
    assert same.calls > 0


def test_a_callback_that_builds_the_same_again_comes_to_rest():
    program = nn.relu(nn.relu(X) + Y)
    again = Replace(is_op("nn.relu")(wildcard()), lambda pre, post, _: nn.relu(post.args[0]))
    assert rewrite(again, program) is program
    function = relay.Function([X], nn.relu(X))
    renew = Replace(
        FunctionPattern(None, wildcard()),
        lambda pre, post, _: relay.bind(relay.Function([Y], nn.relu(Y)), {}),
    )
    assert rewrite(renew, function) is function


def test_pre_is_of_the_old_program_and_post_of_the_new():
    seen = {}
    x = wildcard()

    def make(pre, post, node_map):
        seen[pre] = (post, node_map[x][0])
        return relay.tanh(node_map[x][0])

    inner = nn.relu(X)
    outer = nn.relu(inner)
    result = rewrite(Replace(is_op("nn.relu")(x), make), outer)
    assert_structural_equal(result, relay.tanh(relay.tanh(X)))
    post, argument = seen[outer]
    assert post is not outer and post.args[0] is argument is result.args[0]
    assert seen[inner] == (inner, X)


def test_the_node_map_lists_what_each_pattern_stands_for():
    a, b = wildcard(), is_constant()
    bias = a + b
    pattern = is_op("nn.relu")(bias)
    one = relay.const(1.0)
    seen = []
    callback = Replace(pattern, lambda pre, post, found: seen.append(found) or post)
    inner = one + X
    program = nn.relu(inner)
    rewrite(callback, program)
    (found,) = seen
    assert found[a] == [X]
    assert found[b] == [one]
    assert found[bias] == [inner]
    assert found[pattern] == [program]
    assert found[pattern.op] == [relay.op.get("nn.relu")]


def test_only_the_alternative_that_fits_is_in_the_node_map():
    left, right = is_op("nn.relu")(wildcard()), is_op("tanh")(wildcard())
    either = left | right
    seen = []
    rewrite(Replace(either, lambda pre, post, found: seen.append(found) or post), relay.tanh(X))
    assert either in seen[0] and right in seen[0] and left not in seen[0]


def test_a_callback_may_return_a_tuple_of_results():
    split = Replace(
        is_op("nn.relu")(wildcard()), lambda pre, post, _: relay.split(post.args[0], 2, axis=0)
    )
    result = rewrite(split, nn.relu(X))
    assert result.op.name == "split"


def test_a_callback_that_returns_nothing_is_an_error():
    with pytest.raises(relay.RelayError, match="returned None; return `post`"):
        rewrite(Replace(is_op("add")(None), lambda *_: None), X + Y)


def test_an_incomplete_callback_is_an_error():
    class NoPattern(DFPatternCallback):
        pass

    class NoCallback(DFPatternCallback):
        pattern = wildcard()

    with pytest.raises(relay.RelayError, match="NoPattern must set `pattern`"):
        rewrite(NoPattern(), X)
    with pytest.raises(relay.RelayError, match="NoCallback must define callback"):
        rewrite(NoCallback(), X)


def test_new_expressions_say_where_they_come_from():
    span = relay.Span(relay.SourceName("net.onnx"), 3, 3, 1, 9)
    inner = nn.relu(X)
    program = relay.Call(relay.op.get("nn.relu"), [inner], span=span)
    two = Replace(
        is_op("nn.relu")(wildcard()).where(lambda e: e.span is not None),
        lambda pre, post, _: relay.tanh(relay.exp(post.args[0])),
    )
    result = rewrite(two, program)
    assert result.span == result.args[0].span == span
    assert result.args[0].args[0] is inner and inner.span is None


# --- fixed points --------------------------------------------------------------------------------


def test_rewriting_goes_on_until_nothing_changes():
    expr = X
    for _ in range(10):
        expr = nn.relu(expr)
    assert_structural_equal(rewrite(relu_once(), expr), nn.relu(X))


def test_callbacks_that_undo_each_other_are_named():
    class Onward(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("add")(wildcard(), wildcard())

        def callback(self, pre, post, node_map):
            return post.args[0] - post.args[1]

    class Back(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("subtract")(wildcard(), wildcard())

        def callback(self, pre, post, node_map):
            return post.args[0] + post.args[1]

    with pytest.raises(relay.RelayError, match=r"100 rounds: (Back|Onward) still changed"):
        rewrite([Onward(), Back()], X + Y)


def test_a_callback_that_makes_its_own_pattern_again_is_named():
    grow = Replace(is_op("nn.relu")(wildcard()), lambda pre, post, _: nn.relu(post))
    with pytest.raises(
        relay.RelayError, match=r"rounds: Replace still changed .*rewrite_once=True"
    ):
        rewrite(grow, nn.relu(X))


def shorten(**options):
    def make(pre, post, _):
        fields = post.args[0].fields
        return relay.concatenate(fields[:-1], axis=0) if len(fields) > 1 else fields[0]

    return Replace(is_op("concatenate")(None), make, **options)


def test_rewrite_once_stops_after_the_first_change():
    three = relay.concatenate([X, Y, Z], axis=0)
    assert rewrite(shorten(), three) is X
    once = rewrite(shorten(rewrite_once=True), three)
    assert_structural_equal(once, relay.concatenate([X, Y], axis=0))


def test_rewrite_once_beside_others_that_go_on():
    def more():
        softmax = is_op("nn.softmax")(None)
        return Replace(softmax, lambda pre, post, _: nn.relu(post), rewrite_once=True)

    program = nn.softmax(relay.concatenate([X, Y, Z], axis=0))
    once = rewrite([more(), shorten(rewrite_once=True)], program)
    assert_structural_equal(once, nn.relu(nn.softmax(relay.concatenate([X, Y], axis=0))))
    assert_structural_equal(rewrite([more(), shorten()], program), nn.relu(nn.softmax(X)))


def test_rewrite_once_waits_for_its_first_match():
    late = Replace(is_op("tanh")(wildcard()), lambda pre, post, _: nn.relu(post), rewrite_once=True)
    make_tanh = Replace(is_op("exp")(wildcard()), lambda pre, post, _: relay.tanh(post.args[0]))
    assert_structural_equal(rewrite([late, make_tanh], relay.exp(X)), nn.relu(relay.tanh(X)))
    # one that runs once sees what those before it did in the same round
    first = add_to_subtract(rewrite_once=True)
    second = Replace(
        is_op("subtract")(wildcard(), wildcard()),
        lambda pre, post, _: post.args[0] * post.args[1],
        rewrite_once=True,
    )
    assert_structural_equal(rewrite([first, second], X + Y), X * Y)


# --- several callbacks ---------------------------------------------------------------------------


def simplify(expr):
    zero = is_expr(relay.const(0)) | is_expr(relay.const(0.0))
    one = is_expr(relay.const(1)) | is_expr(relay.const(1.0))
    x = wildcard()

    def to(kept, pattern):
        return Replace(pattern, lambda pre, post, found: found[kept][0])

    return rewrite(
        [
            to(x, x + zero),
            to(x, x - zero),
            to(x, x * one),
            to(x, x / one),
            to(zero, zero * wildcard()),
            to(zero, zero / wildcard()),
        ],
        expr,
    )


def test_several_callbacks_together_reach_what_none_does_alone():
    for zero in (relay.const(0), relay.const(0.0)):
        assert simplify(X + zero) is X
        assert simplify(zero + X) is X
        assert simplify(X - zero) is X
        assert simplify(X * zero) is zero
        assert simplify(zero / X) is zero
    for one in (relay.const(1), relay.const(1.0)):
        assert simplify(one * X) is X
        assert simplify(X / one) is X
    zero, one = relay.const(0), relay.const(1)
    whole = (X + zero * Y) / one + (Y * one) - zero / X
    assert_structural_equal(simplify(whole), X + Y)


def test_where_matches_overlap_the_first_callback_has_precedence():
    inner = Replace(is_op("nn.relu")(wildcard()), lambda pre, post, _: relay.exp(post.args[0]))
    outer = Replace(
        is_op("tanh")(is_op("nn.relu")(wildcard())),
        lambda pre, post, _: relay.sigmoid(post.args[0].args[0]),
    )
    program = relay.tanh(nn.relu(X))
    assert_structural_equal(rewrite([inner, outer], program), relay.tanh(relay.exp(X)))
    assert_structural_equal(rewrite([outer, inner], program), relay.sigmoid(X))


class FuseBatchNorm(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x, self.var, self.mean, self.beta, self.gamma = (wildcard() for _ in range(5))
        self.eps = is_constant()
        scaled = self.gamma * (self.x - self.mean) / is_op("sqrt")(self.var + self.eps)
        self.pattern = scaled + self.beta

    def callback(self, pre, post, node_map):
        x, var, mean, beta, gamma, eps = (
            node_map[p][0] for p in (self.x, self.var, self.mean, self.beta, self.gamma, self.eps)
        )
        return nn.batch_norm(x, gamma, beta, mean, var, epsilon=eps.data.numpy().item())[0]


VAR, MEAN, BETA, GAMMA = (relay.var(name) for name in ("var", "mean", "beta", "gamma"))
EPSILON = relay.const(1e-5)


def deviation():
    return relay.sqrt(VAR + EPSILON)


def batch_norm(x):
    return nn.batch_norm(x, GAMMA, BETA, MEAN, VAR, epsilon=EPSILON.data.numpy().item())[0]


@pytest.mark.parametrize(
    "written",
    [
        lambda x: GAMMA * (x - MEAN) / deviation() + BETA,
        lambda x: BETA + GAMMA * (x - MEAN) / deviation(),
        lambda x: (x - MEAN) * GAMMA / deviation() + BETA,
        lambda x: GAMMA * ((x - MEAN) / deviation()) + BETA,
        lambda x: ((x - MEAN) / deviation()) * GAMMA + BETA,
        lambda x: GAMMA / deviation() * (x - MEAN) + BETA,
        lambda x: GAMMA * (x - MEAN) / relay.sqrt(EPSILON + VAR) + BETA,
    ],
)
def test_batch_normalization_is_found_however_it_is_written(written):
    assert_structural_equal(rewrite(FuseBatchNorm(), written(X)), batch_norm(X))
    twice = rewrite(FuseBatchNorm(), written(written(X)))
    assert_structural_equal(twice, batch_norm(batch_norm(X)))


def test_what_only_resembles_batch_normalization_stays():
    other = GAMMA * (X - MEAN) / deviation() - BETA
    assert rewrite(FuseBatchNorm(), other) is other
    outside = GAMMA * (other - MEAN) / deviation() + BETA
    assert_structural_equal(rewrite(FuseBatchNorm(), outside), batch_norm(other))


# --- sharing -------------------------------------------------------------------------------------


def test_what_is_shared_is_rewritten_once_and_stays_shared():
    shared = nn.relu(nn.relu(X))
    callback = relu_once()
    result = rewrite(callback, relay.tanh(shared) + relay.exp(shared))
    assert callback.calls == 1
    assert result.args[0].args[0] is result.args[1].args[0]


def test_a_match_with_an_inner_expression_that_is_used_elsewhere_is_left_alone():
    inner = nn.relu(X)
    program = nn.relu(inner) + inner
    assert rewrite(relu_once(), program) is program


def test_it_is_rewritten_when_the_callback_allows_and_the_inner_expression_stays():
    inner = nn.relu(X)
    callback = relu_once()
    callback.keep_shared = True
    result = rewrite(callback, nn.relu(inner) + inner)
    assert_structural_equal(result, nn.relu(X) + nn.relu(X))
    assert result.args[1] is inner


def test_an_outside_use_that_ends_in_the_match_does_not_count():
    inner = X + Y
    pattern = is_op("multiply")(is_op("add")(wildcard(), wildcard()), wildcard())
    callback = Replace(
        pattern, lambda pre, post, _: relay.maximum(post.args[0].args[0], post.args[1])
    )
    result = rewrite(callback, inner * relay.sigmoid(inner))
    assert_structural_equal(result, relay.maximum(X, relay.sigmoid(X + Y)))


def test_what_a_match_does_not_touch_keeps_its_identity():
    left, right = nn.relu(X), relay.exp(Y + Z)
    program = relay.Tuple([left, right])
    result = rewrite(add_to_subtract(), program)
    assert result[0] is left
    assert result[1] is not right


# --- functions, bindings, branches ---------------------------------------------------------------


def test_rewriting_reaches_into_functions_branches_and_clauses():
    mod = relay.IRModule()
    relay.Prelude(mod)
    length = mod["length"]
    result = rewrite(add_to_subtract(), length)
    assert count(length, "add") == count(result, "subtract") == 1
    assert_structural_equal(rewrite(subtract_to_add(), result), length)
    v = relay.var("v")
    program = relay.Let(v, X + Y, relay.If(v < X, relay.Function([Z], Z + v), X + v))
    assert count(rewrite(add_to_subtract(), program), "subtract") == 3


def test_a_called_function_is_found_by_its_attributes():
    f = relay.Function([X, Y], X + Y).with_attr("Composite", "add")
    a, b = relay.var("a"), relay.var("b")
    inline = Replace(
        wildcard().has_attr({"Composite": "add"})(wildcard(), wildcard()),
        lambda pre, post, _: post.args[0] + post.args[1],
    )
    assert_structural_equal(rewrite(inline, relay.abs(f(a, b))), relay.abs(a + b))


def test_a_called_function_is_found_by_its_body():
    x1, w1 = relay.var("x1"), relay.var("w1")
    f = relay.Function([x1, w1], nn.conv2d(x1, w1))
    p, q, b = wildcard(), wildcard(), wildcard()
    pattern = FunctionPattern([p, q], is_op("nn.conv2d")(p, q))(wildcard(), wildcard()) + b
    callback = Replace(pattern, lambda pre, post, _: X + W)
    assert_structural_equal(rewrite(callback, f(X, W) + Y + Y), X + W + Y)
    # both calls of one function are found: the function is looked at, not taken
    assert_structural_equal(
        rewrite(callback, relay.Tuple([f(X, W) + Y, f(Y, W) + Y])), relay.Tuple([X + W, X + W])
    )


def test_functions_that_partitioning_made_are_not_entered():
    program = is_op("add")(wildcard(), wildcard()).partition(nn.relu(X + Y))
    assert rewrite(add_to_subtract(), program) is program


def test_a_rewritten_variable_is_replaced_where_it_is_used():
    one = relay.const(1.0)
    constant = Replace(is_var("x"), lambda pre, post, _: one)
    result = rewrite(constant, relay.Function([X, Y], X + Y))
    assert result.params == (X, Y)
    assert_structural_equal(result.body, one + Y)
    same = rewrite(constant, relay.Function([X], X))
    assert same.params == (X,) and same.body is one
    bound = rewrite(constant, relay.Let(X, nn.relu(Y), X))
    assert bound.variable is X and bound.body is one
    unused = relay.Function([X], Y)
    assert rewrite(constant, unused) is unused
    x = relay.var("x", shape=(2,))
    renamed = Replace(is_expr(X), lambda pre, post, _: x)
    result = rewrite(renamed, relay.Function([X], nn.relu(X)))
    assert result.params == (x,)
    assert result.body.args == (x,)


def test_operators_can_be_exchanged():
    swap = Replace(is_op("add"), lambda pre, post, _: relay.op.get("subtract"))
    assert_structural_equal(rewrite(swap, nn.relu(X + Y) + Z), nn.relu(X - Y) - Z)


def test_regions_are_replaced_as_a_whole():
    x, w = wildcard(), wildcard()
    elementwise = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    add = is_op("add")(wildcard(), wildcard())
    pattern = dominates(is_op("nn.conv2d")(x, w), elementwise | add, add)
    callback = Replace(pattern, lambda pre, post, found: nn.conv2d(found[x][0], found[w][0]))

    out = X
    for make in (
        lambda c: nn.relu(nn.relu(c)) + nn.leaky_relu(c),
        lambda c: relay.tanh(nn.relu(c)) + nn.leaky_relu(c),
        lambda c: nn.relu(c) + c,
        lambda c: relay.tanh(nn.relu(c) + c) + nn.leaky_relu(c),
    ):
        out = make(nn.conv2d(out, W))
    expected = X
    for _ in range(4):
        expected = nn.conv2d(expected, W)
    assert_structural_equal(rewrite(callback, out), expected)


# --- types ---------------------------------------------------------------------------------------


def test_a_callback_may_ask_for_types():
    x = relay.var("x", shape=(2, 3))
    ranks = []

    def make(pre, post, _):
        ranks.append(len(pre.checked_type.shape))
        return relay.tanh(post.args[0])

    typed = Replace(is_op("nn.relu")(wildcard()), make, require_type=True)
    program = nn.relu(relay.sum(nn.relu(x), axis=[1]))
    result = rewrite(typed, program)
    assert sorted(ranks) == [1, 2]
    assert_structural_equal(result, relay.tanh(relay.sum(relay.tanh(x), axis=[1])))


def test_types_are_known_again_in_every_round():
    x = relay.var("x", shape=(2, 3))
    shrink = Replace(
        is_op("nn.relu")(is_op("nn.relu")(wildcard().has_shape((2, 3)))),
        lambda pre, post, _: post.args[0],
        require_type=True,
    )
    expr = x
    for _ in range(9):
        expr = nn.relu(expr)
    assert_structural_equal(rewrite(shrink, expr), nn.relu(x))


def test_a_program_that_nobody_changed_comes_back_itself_though_it_was_typed():
    f = relay.Function([relay.var("x", shape=(2,))], relay.const(1.0))
    callback = Replace(is_op("add")(None), lambda pre, post, _: X, require_type=True)
    assert rewrite(callback, f) is f


def test_a_type_in_a_pattern_is_inferred_without_being_asked_for():
    x = relay.var("x", shape=(2,), dtype="int32")
    narrow = Replace(
        has_dtype("int32", is_op("abs")(wildcard())), lambda pre, post, _: post.args[0]
    )
    assert rewrite(narrow, relay.abs(x) + x).args[0] is x


def test_types_come_from_the_module():
    mod = relay.parse(
        """
        #[version = "0.0.5"]
        def @f(%x: Tensor[(2, 3), float32]) -> Tensor[(6), float32] { reshape(%x, newshape=[6]) }
        def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(6), float32] { nn.relu(@f(%x)) }
        """
    )
    x = relay.var("x", shape=(2, 3))
    program = relay.Function([x], nn.relu(mod.get_global_var("f")(x)))
    flat = Replace(
        is_op("nn.relu")(wildcard().has_shape((6,))),
        lambda pre, post, _: relay.tanh(post.args[0]),
        require_type=True,
    )
    assert count(rewrite(flat, program, mod), "tanh") == 1


# --- size ----------------------------------------------------------------------------------------


def test_a_long_chain_is_rewritten_in_a_few_sweeps():
    expr = X
    for _ in range(deep(20_000)):
        expr = nn.relu(expr)
    x = wildcard()
    leaky = Replace(is_op("nn.relu")(x), lambda pre, post, found: nn.leaky_relu(found[x][0]))
    result = rewrite(leaky, expr)
    assert leaky.calls == deep(20_000)
    depth = 0
    while isinstance(result, relay.Call):
        assert result.op.name == "nn.leaky_relu"
        result, depth = result.args[0], depth + 1
    assert (result, depth) == (X, deep(20_000))


def test_a_long_chain_collapses():
    expr = X
    for _ in range(deep(20_000)):
        expr = nn.relu(expr)
    assert_structural_equal(rewrite(relu_once(), expr), nn.relu(X))


def test_rewriting_keeps_the_meaning():
    rng = np.random.default_rng(0)
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    a, b, c = wildcard(), wildcard(), wildcard()
    factor = Replace(
        (a * c) + (b * c),
        lambda pre, post, found: (found[a][0] + found[b][0]) * found[c][0],
    )
    program = relay.Function([x, y], (x * y) + (y * (x + y)) + nn.relu(x * y) * y)
    result = rewrite(factor, program)
    assert (count(program, "multiply"), count(result, "multiply")) == (4, 2)
    arguments = [rng.normal(size=4).astype("float32") for _ in range(2)]
    evaluate = relay.create_executor("debug").evaluate
    np.testing.assert_allclose(
        evaluate(result)(*arguments).numpy(), evaluate(program)(*arguments).numpy(), rtol=1e-5
    )


def test_a_pattern_over_tuples_is_rewritten():
    a, b = wildcard(), wildcard()
    swap = Replace(
        is_op("concatenate")(is_tuple([a, b])),
        lambda pre, post, found: relay.maximum(found[b][0], found[a][0]),
    )
    assert_structural_equal(rewrite(swap, relay.concatenate([X, Y], axis=0)), relay.maximum(Y, X))
