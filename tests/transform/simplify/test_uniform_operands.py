"""Operands of one value everywhere."""

import numpy as np
import pytest

import relay
from relay.nd import Weight
from relay.transform import SimplifyExpr, SimplifyExprPostAlterOp
from relay.transform.simplify.rule_window import Window
from relay.transform.simplify.uniform_operands import uniform
from tests.transform.rewriting import assert_rewrites, assert_stays, parse

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("add(%x, 0f)", "%x"),
        ("add(0f, %x)", "%x"),
        ("subtract(%x, 0f)", "%x"),
        ("multiply(%x, 1f)", "%x"),
        ("multiply(1f, %x)", "%x"),
        ("divide(%x, 1f)", "%x"),
        ("power(%x, 1f)", "%x"),
        ("add(%x, zeros(shape=[2, 3]))", "%x"),
        ("add(%x, zeros_like(exp(%y)))", "%x"),
        ("multiply(%x, ones(shape=[3]))", "%x"),
        ("multiply(full(1f, shape=[2, 3]), %x)", "%x"),
        ("bitwise_or(%k, 0)", "%k"),
        ("bitwise_and(-1, %k)", "%k"),
        ("bitwise_xor(%k, 0)", "%k"),
        ("left_shift(%k, 0)", "%k"),
        ("logical_and(%c, True)", "%c"),
        ("logical_or(False, %c)", "%c"),
        ("maximum(%k, -2147483648)", "%k"),
        ("minimum(%k, 2147483647)", "%k"),
    ],
)
def test_an_operand_that_changes_nothing_goes(before, after):
    assert_rewrites(PASS, before, after)
    if "_like" not in before:
        assert_rewrites(SimplifyExprPostAlterOp(), before, after)


@pytest.mark.parametrize(
    "body",
    [
        "subtract(0f, %x)",
        "divide(1f, %x)",
        "multiply(%x, 0f)",  # %x may be NaN
        "add(%t, zeros(shape=[2, 3]))",  # which gives the shape
        "add(%v, zeros(shape=[2, 3]))",
        "maximum(%k, -2147483647)",
        "maximum(%x, 0f)",
        "left_shift(0, %k)",
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


def test_an_unknown_extent_may_have_to_be_stretched():
    params = "%x: Tensor[(?), float32], %y: Tensor[(?), float32]"
    assert_rewrites(PASS, "add(%x, 0f)", "%x", params)
    assert_stays(PASS, "add(%x, zeros(shape=[3]))", params)
    assert_stays(PASS, "add(%x, zeros_like(%y))", params)


def test_a_minus_zero_is_nothing_to_add():
    assert_rewrites(PASS, "add(%x, -0f)", "%x")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("multiply(%x, full(2f, shape=[2, 3]))", "multiply(%x, 2f)"),
        ("multiply(full(%t, shape=[2, 3]), %x)", "multiply(%t, %x)"),
        ("less(%x, ones(shape=[3]))", "less(%x, 1f)"),
        ("where(less(%x, %y), zeros(shape=[2, 3]), %x)", "where(less(%x, %y), 0f, %x)"),
    ],
)
def test_one_number_does_for_a_tensor_of_it(before, after):
    assert_rewrites(PASS, before, after)


def test_a_constant_of_one_number_is_that_number():
    n = relay.var("n", shape=(4, 6))
    module = relay.IRModule.from_expr(n + relay.const(np.full((4, 6), 3, "float32")))
    (_, constant) = PASS(module)["main"].body.args
    assert constant.data.shape == () and constant.data.array == 3


def test_a_value_of_another_type_is_converted():
    assert_rewrites(PASS, 'multiply(%k, full(2.7f, shape=[4], dtype="int32"))', "multiply(%k, 2)")
    assert_stays(PASS, 'multiply(%k, full(%t, shape=[4], dtype="int32"))')


def test_what_gives_the_shape_stays():
    assert_stays(PASS, "multiply(%v, full(2f, shape=[2, 3]))")


def found(e):
    function = relay.Function([], e)
    return uniform(e, Window(function))


def test_tensors_of_one_value_are_recognized():
    assert found(relay.const(np.full((2, 2), 7, "int8"))) == 7
    assert found(relay.const(np.array([7, 8, 7], "int8"))) is None
    assert found(relay.const(np.array([0.0, -0.0, 0.0]), "float32")) is None  # 1 / x differs
    assert found(relay.const(np.array([np.nan, np.nan]), "float32")) is None
    assert found(relay.const(np.zeros((0, 3), "float32"))) is None


def test_the_value_of_a_weight_may_change():
    zeros = np.zeros(3, "float32")
    x = relay.var("x", shape=(2, 3))
    for data, stays in ((relay.nd.array(zeros), False), (Weight("w", zeros), True)):
        module = relay.IRModule.from_expr(relay.add(x, relay.Constant(data)))
        before = relay.transform.InferType()(module)
        assert (PASS(before)["main"] is before["main"]) == stays


def test_parameters_named_as_weights_are_not_looked_at():
    module = parse("add(%x, %y)")
    main = module["main"].with_attr("Weights", ("y",))
    module["main"] = main
    before = relay.transform.InferType()(module)
    assert PASS(before)["main"] is before["main"]
