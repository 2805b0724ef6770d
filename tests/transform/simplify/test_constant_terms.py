"""Constants meet each other before they meet data."""

import numpy as np
import pytest

import relay
from relay.nd import Weight
from relay.testing import count_ops
from relay.transform import InferType, SimplifyExpr
from tests.support.sampling import deep
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("add(add(%x, 1f), 2f)", "add(%x, 3f)"),
        ("add(2f, add(1f, %x))", "add(%x, 3f)"),
        ("subtract(add(%x, 1f), 2f)", "add(%x, -1f)"),
        ("add(subtract(%x, 1f), 2f)", "add(%x, 1f)"),
        ("subtract(subtract(%x, 1f), 2f)", "subtract(%x, 3f)"),
        ("subtract(3f, add(%x, 1f))", "subtract(2f, %x)"),
        ("subtract(3f, subtract(1f, %x))", "add(%x, 2f)"),
        ("add(subtract(3f, %x), 1f)", "subtract(4f, %x)"),
        ("subtract(subtract(3f, %x), 1f)", "subtract(2f, %x)"),
        ("multiply(multiply(%x, 3f), 2f)", "multiply(%x, 6f)"),
        ("divide(multiply(%x, 3f), 2f)", "multiply(%x, 1.5f)"),
        ("multiply(divide(%x, 2f), 3f)", "multiply(%x, 1.5f)"),
        ("divide(divide(%x, 2f), 4f)", "divide(%x, 8f)"),
        ("add(add(add(add(%x, 1f), 2f), 3f), 4f)", "add(%x, 10f)"),
        ("add(add(%i, 100i8), 100i8)", "add(%i, -56i8)"),
        ("multiply(multiply(%i, 100i8), 3i8)", "multiply(%i, 44i8)"),
        (
            "let %a = add(%x, 1f); let %b = add(%a, 2f); %b",
            "let %a = add(%x, 1f); let %b = add(%x, 3f); %b",
        ),
    ],
)
def test_constants_are_taken_together(before, after):
    assert_rewrites(PASS, before, after)


@pytest.mark.parametrize(
    "body",
    [
        "%0 = add(%x, 1f); (%0, add(%0, 2f))",  # the first sum is needed anyway
        "multiply(multiply(%x, 1e30f), 1e30f)",  # there is no such constant
        "multiply(multiply(%x, 1e-30f), 1e-30f)",
        "divide(multiply(%x, 2f), 0f)",
        "add(add(%x, 3e38f), 3e38f)",
        "divide(multiply(%k, 6), 2)",  # integers wrap before they are divided
        "subtract(%t, subtract(%x, 3f))",
        "multiply(add(%x, 1f), 2f)",  # nothing is won
    ],
)
def test_others_stay(body):
    assert_stays(PASS, body)


def test_shapes_that_would_grow_stay():
    x = relay.var("x", shape=(4, 8, 16))
    row = relay.const(np.arange(8, dtype="float32").reshape(8, 1))
    column = relay.const(np.arange(16, dtype="float32"))
    module = InferType()(relay.IRModule.from_expr(relay.add(relay.add(x, row), column)))
    assert PASS(module)["main"] is module["main"]
    # one of the two has the shape of both
    whole = relay.const(np.arange(128, dtype="float32").reshape(8, 16))
    module = relay.IRModule.from_expr(relay.add(relay.add(x, row), whole))
    after = PASS(module)
    assert count_ops(after["main"]) == {"add": 1}
    assert_means_the_same(after, module)


# --- weights -------------------------------------------------------------------------------------


def weight(name, *shape):
    return relay.Constant(
        Weight(name, np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape))
    )


def test_weights_are_computed_with_in_the_program():
    x = relay.var("x", shape=(4, 3))
    product = relay.multiply(relay.multiply(x, weight("a", 3)), weight("b", 3))
    after = PASS(relay.IRModule.from_expr(product))["main"].body
    assert isinstance(after.args[0], relay.Var) and count_ops(after.args[1]) == {"multiply": 1}


def test_by_weights_nothing_is_divided():
    x = relay.var("x", shape=(4, 3))
    quotient = relay.divide(relay.multiply(x, relay.const(2.0)), weight("a", 3))
    module = InferType()(relay.IRModule.from_expr(quotient))
    assert PASS(module)["main"] is module["main"]


def test_parameters_named_as_weights_are_constants_too():
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(3,))
    x = relay.var("x", shape=(4, 3))
    main = relay.Function([x, a, b], relay.add(relay.add(x, a), b))
    module = InferType()(relay.IRModule.from_expr(main))
    assert PASS(module)["main"] is module["main"]
    module = relay.IRModule.from_expr(main.with_attr("Weights", ("a", "b")))
    body = PASS(module)["main"].body
    assert body.args[0].name_hint == "x" and body.args[1].op.name == "add"


# --- factors that a product with weights can take in -------------------------------------------


def convolution(scaled, data=None):
    x = relay.var("x", shape=(1, 2, 5, 5))
    w = relay.const(np.ones((3, 2, 3, 3), "float32"))
    return relay.IRModule.from_expr(scaled(relay.nn.conv2d(x if data is None else data, w)))


def channels(*values):
    return relay.const(np.array(values, "float32").reshape(3, 1, 1))


def test_a_factor_goes_to_the_convolution():
    module = convolution(lambda y: (y + channels(1, 2, 3)) * channels(2, 3, 4))
    after = PASS(module)
    body = after["main"].body
    assert (body.op.name, body.args[0].op.name, body.args[0].args[0].op.name) == (
        "add",
        "multiply",
        "nn.conv2d",
    )
    np.testing.assert_array_equal(body.args[1].data.numpy().reshape(-1), [2, 6, 12])
    assert_means_the_same(after, module)
    assert PASS(after)["main"] is after["main"]


def test_not_where_others_need_what_it_is_multiplied_with():
    def several(y):
        shifted = y + channels(1, 2, 3)
        return relay.Tuple([shifted * channels(2, 3, 4), shifted])

    module = InferType()(convolution(several))
    assert PASS(module)["main"] is module["main"]


def test_an_infinite_constant_is_not_computed_with():
    x = relay.var("x", shape=(2,))
    module = relay.add(
        relay.add(x, relay.const(np.inf, "float32")), relay.const(-np.inf, "float32")
    )
    module = InferType()(relay.IRModule.from_expr(module))
    assert PASS(module)["main"] is module["main"]


def test_a_long_chain_collapses():
    x = relay.var("x", shape=(2,), dtype="int32")
    e = x
    for i in range(deep(10_000)):
        e = relay.add(e, relay.const(i))
    body = PASS(relay.IRModule.from_expr(relay.Function([x], e)))["main"].body
    assert body.args[0].name_hint == "x" and int(body.args[1].data.array) == sum(
        range(deep(10_000))
    )
