"""Rules: one expression becomes another."""

import pytest

import relay
from relay import nn, tree
from relay.dataflow_pattern import Hole, Rule, apply_rules, loosely
from relay.ir.compare import assert_structural_equal

X, Y, Z, W = (relay.var(name) for name in "xyzw")
x, y, z = Hole("x"), Hole("y"), Hole("z")


def is_constant(expr):
    return isinstance(expr, relay.Constant)


NEGATIONS = Rule("double negation", relay.negative(relay.negative(x)), x)
RELUS = Rule("relu twice is relu once", nn.relu(nn.relu(x)), nn.relu(x))


def test_the_left_side_becomes_the_right_side():
    program = relay.negative(relay.negative(nn.relu(nn.relu(X)) + Y))
    assert_structural_equal(apply_rules(program, (NEGATIONS, RELUS)), nn.relu(X) + Y)


def test_a_rule_that_does_not_fit_leaves_the_program_itself():
    program = relay.negative(nn.relu(X))
    assert apply_rules(program, [NEGATIONS, RELUS]) is program


def test_a_hole_used_twice_is_one_expression():
    rule = Rule("twice", x + x, x * relay.const(2.0))
    assert_structural_equal(apply_rules(X + X, [rule]), X * relay.const(2.0))
    program = X + Y
    assert apply_rules(program, [rule]) is program


def test_a_hole_may_have_a_condition():
    constant = Hole("c", where=is_constant)
    rule = Rule("drop constants", relay.subtract(x, constant), x)
    assert apply_rules(X - relay.const(1.0), [rule]) is X
    program = X - Y
    assert apply_rules(program, [rule]) is program


def test_constants_on_the_left_are_compared_by_value():
    rule = Rule("plus zero", x + relay.const(0.0), x)
    assert apply_rules(relay.const(0.0) + X, [rule]) is X
    program = X + relay.const(0)
    assert apply_rules(program, [rule]) is program


def test_parts_of_the_left_side_may_be_used_on_the_right():
    inner = nn.relu(x)
    rule = Rule("outer relu goes", nn.relu(inner), inner)
    kept = nn.relu(X)
    assert apply_rules(nn.relu(kept), [rule]) is kept


def test_a_part_shared_on_the_left_must_be_shared_in_the_program():
    inner = nn.relu(x)
    rule = Rule("square", inner * inner, relay.power(inner, relay.const(2.0)))
    shared = nn.relu(X)
    assert apply_rules(shared * shared, [rule]).op.name == "power"
    program = nn.relu(X) * nn.relu(X)
    assert apply_rules(program, [rule]) is program


def test_the_right_side_may_be_a_function_of_the_match():
    inner = loosely("transpose", x)
    outer = loosely("transpose", inner)

    def merged(match):
        first, second = match[inner].attrs.axes, match.post.attrs.axes
        if first is None or second is None:
            return None
        axes = tuple(first[i] for i in second)
        return match["x"] if axes == tuple(range(len(axes))) else relay.transpose(match["x"], axes)

    rule = Rule("transpose of transpose", outer, merged)
    program = relay.transpose(relay.transpose(X, (1, 2, 0)), (2, 0, 1))
    assert apply_rules(program, [rule]) is X
    program = relay.transpose(relay.transpose(X, (1, 2, 0)), (1, 0, 2))
    assert_structural_equal(apply_rules(program, [rule]), relay.transpose(X, (2, 1, 0)))
    program = relay.transpose(relay.transpose(X), (1, 0))
    assert apply_rules(program, [rule]) is program


def test_types_are_read_from_the_old_program():
    a = relay.var("a", shape=(2, 3))
    seen = []

    def flatten(match):
        seen.append(match.original("x").checked_type.shape)
        return relay.reshape(match["x"], (6,))

    rule = Rule("flatten", nn.batch_flatten(x), flatten, require_type=True)
    result = apply_rules(nn.batch_flatten(nn.relu(a)), [rule])
    assert seen == [(2, 3)]
    assert_structural_equal(result, relay.reshape(nn.relu(a), (6,)))


def test_what_is_not_on_the_left_side_cannot_be_asked_for():
    rule = Rule("wrong", nn.relu(x), lambda match: match["y"])
    with pytest.raises(relay.RelayError, match="'y' stands for nothing on the left side"):
        apply_rules(nn.relu(X), [rule])


# --- attributes ----------------------------------------------------------------------------------


def test_attributes_on_the_left_must_be_equal_all_of_them():
    rule = Rule("softmax over rows", nn.softmax(x, axis=1), nn.relu(x))
    assert apply_rules(nn.softmax(X, axis=1), [rule]).op.name == "nn.relu"
    program = nn.softmax(X, axis=0)
    assert apply_rules(program, [rule]) is program
    plain = Rule("plain convolution", nn.conv2d(x, y), nn.relu(x))
    assert apply_rules(nn.conv2d(X, W), [plain]).op.name == "nn.relu"
    program = nn.conv2d(X, W, strides=2)
    assert apply_rules(program, [plain]) is program


def test_none_is_a_value_like_any_other():
    rule = Rule("sum of all", relay.sum(x, axis=None), nn.relu(x))
    assert apply_rules(relay.sum(X), [rule]).op.name == "nn.relu"
    program = relay.sum(X, axis=1)
    assert apply_rules(program, [rule]) is program


def test_loosely_only_the_attributes_named_count():
    rule = Rule("nchw", loosely("nn.conv2d", x, y, data_layout="NCHW"), nn.relu(x))
    assert apply_rules(nn.conv2d(X, W, strides=2), [rule]).op.name == "nn.relu"
    program = nn.conv2d(X, W, data_layout="NHWC")
    assert apply_rules(program, [rule]) is program
    whatever = Rule("any", relay.Call(relay.op.get("nn.conv2d"), [x, y]), nn.relu(x))
    assert apply_rules(program, [whatever]).op.name == "nn.relu"


def test_defaults_are_filled_in_on_the_right():
    rule = Rule("to softmax", nn.relu(x), loosely("nn.softmax", x))
    assert_structural_equal(apply_rules(nn.relu(X), [rule]), nn.softmax(X))
    named = Rule("to softmax", nn.relu(x), loosely("nn.softmax", x, axis=0))
    assert_structural_equal(apply_rules(nn.relu(X), [named]), nn.softmax(X, axis=0))


# --- other expressions ---------------------------------------------------------------------------


def test_tuples_projections_and_conditionals_can_stand_on_the_left():
    first = Rule("first of a pair", relay.TupleGetItem(relay.Tuple([x, y]), 0), x)
    assert apply_rules(relay.TupleGetItem(relay.Tuple([X, Y]), 0), [first]) is X
    program = relay.TupleGetItem(relay.Tuple([X, Y]), 1)
    assert apply_rules(program, [first]) is program
    same = Rule("same branches", relay.If(x, y, y), y)
    assert apply_rules(relay.If(Z, X, X), [same]) is X


def test_products_are_found_however_they_are_bracketed():
    rule = Rule("divide by itself", (x * y) / y, x)
    assert apply_rules(X * (Y / Y), [rule]) is X
    product = x * y
    using = Rule("a part that may be missing", product / z, product)
    assert_structural_equal(apply_rules((X * Y) / Z, [using]), X * Y)
    program = X * (Y / Z)
    assert apply_rules(program, [using]) is program


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Rule("bare", x, nn.relu(x)), "must not be a bare hole"),
        (lambda: Rule("names", Hole("a") + Hole("a"), X), "two holes are called `a`"),
        (lambda: Rule("free", nn.relu(x), nn.relu(y)), "hole `y` is not on the left side"),
        (
            lambda: Rule("function", relay.Function([X], nn.relu(X)), X),
            "must not contain a Function",
        ),
        (lambda: Rule("right", nn.relu(x), 1), "expected a Relay expression"),
        (lambda: Rule("right", nn.relu(x), loosely("reshape", x)), "needs the attribute"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(build, message):
    with pytest.raises(relay.RelayError, match=message):
        build()


# --- rounds and sharing --------------------------------------------------------------------------


def test_rules_are_applied_so_many_times_over_and_no_more():
    more = Rule("one more", nn.relu(x), relay.tanh(relay.exp(x)))
    program = nn.relu(nn.relu(X))
    assert_structural_equal(
        apply_rules(program, [more]), relay.tanh(relay.exp(relay.tanh(relay.exp(X))))
    )
    swap = Rule("swap", relay.subtract(x, y), relay.subtract(y, x))
    assert_structural_equal(apply_rules(X - Y, [swap], rounds=3), Y - X)
    assert_structural_equal(apply_rules(X - Y, [swap], rounds=4), X - Y)
    assert apply_rules(program, [RELUS], rounds=0) is program


def test_a_part_used_elsewhere_keeps_a_rule_away_unless_it_says_so():
    inner = relay.negative(X)
    program = relay.Tuple([relay.negative(inner), inner])
    assert apply_rules(program, [NEGATIONS]) is program
    anyway = Rule("double negation", NEGATIONS.before, NEGATIONS.after, keep_shared=True)
    result = apply_rules(program, [anyway])
    assert result[0] is X and result[1] is inner


def test_a_hole_does_not_get_into_a_program():
    with pytest.raises(relay.RelayError):
        relay.transform.InferType()(relay.IRModule.from_expr(nn.relu(x)))


def test_rules_work_on_long_programs():
    expr = X
    for _ in range(5_000):
        expr = relay.negative(relay.negative(nn.relu(nn.relu(expr))))
    result = apply_rules(expr, (NEGATIONS, RELUS), rounds=100)
    assert_structural_equal(result, nn.relu(X))
    assert not any(isinstance(e, Hole) for e in tree.postorder(result))
