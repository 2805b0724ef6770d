"""What looks like a pattern moves into functions of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay import nn, tree
from relay.dataflow_pattern import (
    FunctionPattern,
    TupleGetItemPattern,
    dominates,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_var,
    partition,
    wildcard,
)
from relay.ir.compare import assert_structural_equal
from tests.support.sampling import deep

X, W, B, Y, Z = (relay.var(name) for name in ("x", "w", "b", "y", "z"))

CONV = is_op("nn.conv2d")(wildcard(), wildcard())
BIAS = is_op("nn.bias_add")(CONV, wildcard())
RELU = is_op("nn.relu")(BIAS)


def conv_bias_relu(x, w, b):
    return nn.relu(nn.bias_add(nn.conv2d(x, w), b))


def function(count, build, name, **attrs):
    params = [relay.var(f"p{i}") for i in range(count)]
    return relay.Function(params, build(*params), attrs={"PartitionedFromPattern": name, **attrs})


def test_a_match_becomes_a_call_of_a_function():
    expected = function(3, conv_bias_relu, "nn.conv2d_nn.bias_add_nn.relu_")
    made = RELU.partition(conv_bias_relu(X, W, B))
    assert_structural_equal(made, expected(X, W, B))
    assert_structural_equal(partition(RELU, conv_bias_relu(X, W, B)), made)


def test_the_function_carries_attributes():
    made = RELU.partition(conv_bias_relu(X, W, B), {"Composite": "conv_bias_relu"})
    assert dict(made.op.attrs) == {
        "PartitionedFromPattern": "nn.conv2d_nn.bias_add_nn.relu_",
        "Composite": "conv_bias_relu",
    }


def test_without_a_match_the_program_comes_back_itself():
    program = nn.relu(nn.dense(X, W))
    assert RELU.partition(program) is program


def test_one_partitioning_after_another():
    w2, b2 = relay.var("w2"), relay.var("b2")
    program = nn.bias_add(nn.conv2d(conv_bias_relu(X, W, B), w2), b2)
    for pattern, label in [(RELU, "first"), (BIAS, "second")]:
        program = pattern.partition(program, {"Composite": label})
    first = function(3, conv_bias_relu, "nn.conv2d_nn.bias_add_nn.relu_", Composite="first")
    second = function(
        3,
        lambda x, w, b: nn.bias_add(nn.conv2d(x, w), b),
        "nn.conv2d_nn.bias_add_",
        Composite="second",
    )
    assert_structural_equal(program, second(first(X, W, B), w2, b2))
    assert RELU.partition(program) is program


def test_check_decides():
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(is_var("x"), wildcard()))

    def is_nchw(pre):
        return pre.args[0].attrs.data_layout == "NCHW"

    made = pattern.partition(nn.relu(nn.conv2d(X, W)), check=is_nchw)
    expected = function(2, lambda x, w: nn.relu(nn.conv2d(x, w)), "nn.conv2d_nn.relu_")
    assert_structural_equal(made, expected(X, W))
    other = nn.relu(nn.conv2d(X, W, data_layout="NHWC"))
    assert pattern.partition(other, check=is_nchw) is other


def test_check_sees_types():
    pattern = is_op("nn.relu")(CONV)
    for batch, wanted in ((1, True), (2, False)):
        x = relay.var("x", shape=(batch, 10, 10, 10))
        w = relay.var("w", shape=(10, 10, 3, 3))
        typed = relay.transform.InferType()(relay.IRModule.from_expr(nn.relu(nn.conv2d(x, w))))[
            "main"
        ].body
        made = pattern.partition(typed, check=lambda pre: pre.args[0].checked_type.shape[0] == 1)
        assert (made is not typed) == wanted


def test_what_check_refuses_as_a_whole_may_be_accepted_in_part():
    either = CONV.optional(is_op("nn.relu"))
    made = either.partition(nn.relu(nn.conv2d(X, W)), check=lambda pre: pre.op.name == "nn.conv2d")
    assert made.op.name == "nn.relu"
    assert made.args[0].op.attrs["PartitionedFromPattern"] == "nn.conv2d_"


# --- inputs --------------------------------------------------------------------------------------


def batch_norm(x, var, mean, beta, gamma, epsilon):
    return gamma * (x - mean) / relay.sqrt(var + epsilon) + beta


def test_parameters_come_in_the_order_of_the_pattern():
    x, var, mean, beta, gamma = (wildcard() for _ in range(5))
    pattern = gamma * (x - mean) / is_op("sqrt")(var + is_constant()) + beta
    v, m, g = relay.var("v"), relay.var("m"), relay.var("g")
    epsilon = relay.const(1e-5)
    expected = function(
        5,
        lambda g, x, m, v, b: batch_norm(x, v, m, b, g, epsilon),
        "subtract_multiply_add_sqrt_divide_add_",
    )
    made = pattern.partition(batch_norm(X, v, m, B, g, epsilon))
    assert_structural_equal(made, expected(g, X, m, v, B))
    # also where the program has the operands the other way round
    other = pattern.partition(B + (X - m) * g / relay.sqrt(epsilon + v))
    assert other.args == (g, X, m, v, B)


def test_an_input_that_is_used_twice_is_one_parameter():
    pattern = is_op("add")(
        is_op("multiply")(wildcard(), wildcard()), is_op("add")(wildcard(), wildcard())
    )
    shared = nn.conv2d(X, W)
    expected = function(3, lambda a, b, c: (a * b) + (b + c), "multiply_add_add_")
    made = pattern.partition((Y * shared) + (shared + Z))
    assert_structural_equal(made, expected(Y, shared, Z))


def test_constants_stay_inside_where_the_pattern_asks_for_constants():
    constant = relay.const(1)
    lifted = function(3, conv_bias_relu, "nn.conv2d_nn.bias_add_nn.relu_")
    inside = function(
        2, lambda x, b: conv_bias_relu(x, constant, b), "nn.conv2d_nn.bias_add_nn.relu_"
    )

    def pattern(weight):
        conv = is_op("nn.conv2d")(wildcard(), weight)
        return is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()))

    with_var, with_constant = conv_bias_relu(X, W, B), conv_bias_relu(X, constant, B)
    for weight, of_var, of_constant in [
        (wildcard(), lifted(X, W, B), lifted(X, constant, B)),
        (is_var(), lifted(X, W, B), with_constant),
        (is_constant(), with_var, inside(X, B)),
        (is_expr(constant), with_var, inside(X, B)),
        (is_var() | is_constant(), lifted(X, W, B), inside(X, B)),
        (is_constant() | is_var(), lifted(X, W, B), inside(X, B)),
        (wildcard() | is_constant(), lifted(X, W, B), lifted(X, constant, B)),
    ]:
        assert_structural_equal(pattern(weight).partition(with_var), of_var)
        assert_structural_equal(pattern(weight).partition(with_constant), of_constant)
    both = is_op("maximum")(wildcard(), is_constant())
    assert both.partition(relay.maximum(constant, constant)).args == ()


def test_options_that_are_there_are_inside():
    bias = CONV.optional(lambda c: is_op("nn.bias_add")(c, wildcard()))
    for pattern in (is_op("nn.relu")(bias), BIAS.optional(is_op("nn.relu"))):
        expected = function(3, conv_bias_relu, "nn.conv2d_nn.bias_add_nn.relu_")
        assert_structural_equal(pattern.partition(conv_bias_relu(X, W, B)), expected(X, W, B))
    made = is_op("nn.relu")(bias).partition(nn.relu(nn.conv2d(X, W)))
    assert made.op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.relu_"


def test_any_fields_and_any_arguments_are_inputs():
    pattern = is_op("concatenate")(is_tuple(None))
    for fields in ([X], [X, Y], [X, Y, X + Y]):
        made = pattern.partition(relay.concatenate(fields, axis=0))
        assert list(made.args) == fields
        assert made.op.attrs["PartitionedFromPattern"] == "Tuple_concatenate_"
    made = is_op("add")(None).partition(X + nn.relu(Y))
    assert made.op.attrs["PartitionedFromPattern"] == "add_"
    assert len(made.args) == 2


# --- functions -----------------------------------------------------------------------------------


def test_a_called_function_goes_inside():
    a, b, x, w, y = (wildcard() for _ in range(5))
    f = relay.Function([Y, Z], nn.conv2d(Y, Z))
    for body in (is_op("nn.conv2d")(a, b), wildcard()):
        pattern = FunctionPattern([a, b], body)(x, w) + y
        expected = function(3, lambda x, w, b: f(x, w) + b, "nn.conv2d_FunctionCall_add_")
        made = pattern.partition(f(X, W) + B + B)
        assert_structural_equal(made, expected(X, W, B) + B)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_called_function_with_any_parameters(count):
    pattern = FunctionPattern(None, wildcard() + wildcard())(None) + wildcard()
    params = [relay.var(f"p{i}") for i in range(count)]
    body = params[0] + params[-1] if count < 3 else params[0] + params[1] + params[2]
    f = relay.Function(params, body)
    made = pattern.partition(f(*[X, Y, Z][:count]) + B)
    names = "add_" * (2 if count == 3 else 1)
    assert made.op.attrs["PartitionedFromPattern"] == f"{names}FunctionCall_add_"
    assert list(made.args) == [*[X, Y, Z][:count], B]


def test_one_of_two_functions():
    a, b, x, w = (wildcard() for _ in range(4))

    def described(name):
        return FunctionPattern([a, b], is_op(name)(is_op("nn.conv2d")(a, b)))

    pattern = described("sigmoid")(x, w) | described("nn.relu")(x, w)
    f = relay.Function([Y, Z], nn.relu(nn.conv2d(Y, Z)))
    expected = function(2, lambda x, w: f(x, w), "nn.conv2d_nn.relu_FunctionCall_")
    assert_structural_equal(pattern.partition(f(X, W) + B), expected(X, W) + B)


def test_a_function_that_is_not_called_is_no_computation():
    f = relay.Function([X], nn.relu(X))
    pattern = FunctionPattern(None, wildcard())
    assert pattern.partition(f) is f
    assert (pattern | is_var("no")).has_attr({}).partition(f) is f


# --- regions -------------------------------------------------------------------------------------

ELEMENTWISE = wildcard().has_attr({"TOpPattern": 0})(wildcard())
ADD = is_op("add")(wildcard(), wildcard())


def test_regions_are_cut_out_whole():
    def classic(x, w):
        conv = nn.conv2d(x, w)
        return nn.relu(nn.relu(conv)) + nn.leaky_relu(conv)

    def deeper(x, w):
        conv = nn.conv2d(x, w)
        return relay.tanh(nn.relu(nn.relu(conv))) + nn.leaky_relu(conv)

    def single(x, w):
        relu = nn.relu(nn.relu(nn.conv2d(x, w)))
        return relu + relay.tanh(relu)

    def nested(x, w):
        conv = nn.conv2d(x, w)
        relu = nn.relu(conv)
        return relay.tanh(relu + relu) + nn.leaky_relu(conv)

    names = {
        classic: "nn.conv2d_nn.relu_nn.relu_nn.leaky_relu_add_",
        deeper: "nn.conv2d_nn.relu_nn.relu_tanh_nn.leaky_relu_add_",
        single: "nn.conv2d_nn.relu_nn.relu_tanh_add_",
        nested: "nn.conv2d_nn.relu_add_tanh_nn.leaky_relu_add_",
    }
    program = expected = X * X
    for build, name in names.items():
        program = build(program, W)
        expected = function(2, build, name)(expected, W)
    pattern = dominates(CONV, ELEMENTWISE | ADD, ADD)
    assert_structural_equal(pattern.partition(program), expected)


def test_what_stands_beside_the_path_is_an_input():
    any_elementwise = wildcard().has_attr({"TOpPattern": 0})(None)
    broadcast = wildcard().has_attr({"TOpPattern": 1})(None)
    pattern = is_op("reshape")(wildcard()).dominates(CONV, any_elementwise | broadcast)
    made = pattern.partition(relay.reshape(conv_bias_relu(X, W, B), [-1]))
    assert list(made.args) == [X, W, B]
    name = "nn.conv2d_nn.bias_add_nn.relu_reshape_"
    assert made.op.attrs["PartitionedFromPattern"] == name


def test_a_wildcard_is_part_of_a_region_only_where_the_region_is():
    start = is_op("nn.relu")(wildcard()) | wildcard()
    region = is_op("add")(wildcard(), wildcard()).dominates(start)
    pattern = region | is_op("tanh")(start)
    made = pattern.partition(relay.tanh(X * Y))
    assert made.op.attrs["PartitionedFromPattern"] == "tanh_"
    assert [a.op.name for a in made.args] == ["multiply"]


def test_what_the_pattern_does_not_name_is_an_input_all_the_same():
    pattern = is_op("tanh")(wildcard()).dominates(wildcard().where(lambda e: e.op.name == "add"))
    made = pattern.partition(relay.tanh(nn.relu(X + Y) * B))
    assert list(made.args) == [X, Y, B]
    assert not relay.analysis.free_vars(made.op)
    matched = relay.Match(X + Y, [relay.Clause(relay.PatternVar(Z), Z)])
    program = relay.tanh(matched)
    assert is_op("tanh")(wildcard()).dominates(wildcard()).partition(program) is program


# --- what cannot be cut out ----------------------------------------------------------------------


def test_an_inner_result_that_is_used_elsewhere_prevents_it():
    conv = nn.conv2d(X, W)
    program = nn.relu(conv) + conv
    assert is_op("nn.relu")(CONV).partition(program) is program
    normed = nn.batch_norm(X, Y, B, Z, W)
    program = normed[0] + relay.TupleGetItem(normed.astuple(), 0)
    pattern = TupleGetItemPattern(is_op("nn.batch_norm")(None), 0)
    assert pattern.partition(program) is program


def test_a_use_that_comes_back_to_the_match_does_not():
    pattern = is_op("multiply")(is_op("add")(CONV, wildcard()), wildcard())
    total = nn.conv2d(X, W) + B
    made = pattern.partition(total * relay.sigmoid(total))
    expected = function(4, lambda x, w, b, s: (nn.conv2d(x, w) + b) * s, "nn.conv2d_add_multiply_")
    assert_structural_equal(made, expected(X, W, B, relay.sigmoid(total)))


def test_a_use_that_comes_back_prevents_it_where_computing_twice_matters():
    f = relay.GlobalVar("f")
    pattern = is_op("multiply")(wildcard()(wildcard()), wildcard())
    pure, unknown = nn.relu(X), f(X)
    assert pattern.partition(pure * relay.sigmoid(pure)).op is not relay.op.get("multiply")
    program = unknown * relay.sigmoid(unknown)
    assert pattern.partition(program) is program
    alone = unknown * relay.sigmoid(Y)
    assert pattern.partition(alone) is not alone


def test_matches_do_not_overlap():
    pattern = is_op("nn.relu")(is_op("nn.relu")(wildcard()))
    made = pattern.partition(nn.relu(nn.relu(nn.relu(X))))
    calls = [e for e in tree.postorder(made) if isinstance(e, relay.Function)]
    assert len(calls) == 1
    assert made.args[0].op.name == "nn.relu"


def test_branches_are_not_computed_ahead():
    c = relay.var("c")
    pattern = is_if(wildcard(), wildcard(), wildcard())
    program = relay.If(c, nn.relu(X), Y)
    assert pattern.partition(program) is program
    made = pattern.partition(relay.If(c, X, Y))
    assert list(made.args) == [c, X, Y]
    assert made.op.attrs["PartitionedFromPattern"] == "If_"
    # what is computed before the branch anyway can be handed over
    early = nn.relu(X)
    made = pattern.partition(relay.Tuple([early, relay.If(c, early, Y)]))
    assert made[1].args[1] is made[0]


def test_what_a_binding_binds_stays_under_it():
    v = relay.var("v")
    pattern = is_let(is_var(), is_op("nn.relu")(wildcard()), wildcard())
    program = relay.Let(v, nn.relu(X), relay.tanh(v))
    assert pattern.partition(program) is program
    same = is_var()
    whole = is_let(same, is_op("nn.relu")(wildcard()), is_op("tanh")(same))
    made = whole.partition(program)
    assert list(made.args) == [X]
    assert made.op.attrs["PartitionedFromPattern"] == "nn.relu_tanh_Let_"


def test_a_single_input_is_nothing_to_cut_out():
    program = nn.relu(X)
    assert wildcard().partition(program) is program
    assert is_var().partition(program) is program


# --- meaning and size ----------------------------------------------------------------------------


def test_the_meaning_stays():
    x, w = relay.var("x", shape=(1, 2, 6, 6)), relay.var("w", shape=(2, 2, 3, 3))
    conv = nn.conv2d(x, w, padding=1)
    body = nn.relu(nn.conv2d(nn.relu(conv) + relay.tanh(conv), w))
    pattern = dominates(CONV, ELEMENTWISE, ADD) | is_op("nn.relu")(CONV)
    program = relay.Function([x, w], body)
    made = pattern.partition(program)
    assert sum(isinstance(e, relay.Function) for e in tree.postorder(made)) == 3
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=s).astype("float32") for s in ((1, 2, 6, 6), (2, 2, 3, 3))]
    evaluate = relay.create_executor("debug").evaluate
    np.testing.assert_array_equal(
        evaluate(made)(*arguments).numpy(), evaluate(program)(*arguments).numpy()
    )


@st.composite
def programs(draw):
    """A random graph of scalar arithmetic over two variables and a constant."""
    nodes = [relay.var("x", shape=()), relay.var("y", shape=()), relay.const(0.5)]
    for _ in range(draw(st.integers(1, 9))):
        name = draw(st.sampled_from(["add", "multiply", "subtract", "nn.relu", "tanh"]))
        args = [nodes[draw(st.integers(max(0, len(nodes) - 5), len(nodes) - 1))] for _ in range(2)]
        unary = name in ("nn.relu", "tanh")
        nodes.append(relay.Call(relay.op.get(name), args[: 1 if unary else 2]))
    return relay.Function(nodes[:2], relay.Tuple(nodes[-2:]))


@st.composite
def random_patterns(draw):
    parts = [wildcard(), wildcard(), is_constant()]
    for _ in range(draw(st.integers(1, 5))):
        kinds = ["add", "multiply", "subtract", "nn.relu", "tanh", "or", "dominates"]
        kind = draw(st.sampled_from(kinds))
        some = [parts[draw(st.integers(0, len(parts) - 1))] for _ in range(2)]
        if kind == "or":
            parts.append(some[0] | some[1])
        elif kind == "dominates":
            parts.append(is_op("add")(wildcard(), wildcard()).dominates(parts[-1]))
        else:
            parts.append(is_op(kind)(*some[: 1 if kind in ("nn.relu", "tanh") else 2]))
    return parts[-1]


@settings(max_examples=150)
@given(random_patterns(), programs())
def test_whatever_is_cut_out_the_meaning_stays(pattern, program):
    made = pattern.partition(program)
    for cut in tree.postorder(made):
        if isinstance(cut, relay.Function) and "PartitionedFromPattern" in cut.attrs:
            assert not relay.analysis.free_vars(cut)
            assert pattern.match(cut.body)
    evaluate = relay.create_executor("debug").evaluate
    arguments = [np.float32(0.75), np.float32(-1.25)]
    before, after = (evaluate(f)(*arguments) for f in (program, made))
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_long_programs_are_partitioned():
    expr = X
    for _ in range(deep(10_000)):
        expr = nn.relu(expr + Y)
    made = is_op("nn.relu")(ADD).partition(expr)
    functions = [e for e in tree.postorder(made) if isinstance(e, relay.Function)]
    assert len(functions) == deep(10_000)
