"""Type inference as a pass (its rules are tested with relay.check)."""

import relay
from relay.transform import InferType, InferTypeLocal


def test_every_expression_gets_a_type():
    x = relay.var("x", shape=(2, 3))
    typed = InferType()(relay.IRModule.from_expr(relay.add(x, x)))
    assert typed["main"].body.checked_type == relay.TensorType((2, 3), "float32")


def test_functions_whose_types_hold_are_kept():
    x = relay.var("x", shape=(2, 3))
    typed = InferType()(relay.IRModule.from_expr(relay.add(x, x)))
    assert InferType()(typed)["main"] is typed["main"]


def test_the_type_of_one_expression_is_noted_on_it():
    x = relay.var("x", shape=(2, 3))
    main = InferType()(relay.IRModule.from_expr(relay.add(x, x)))["main"]
    product = relay.multiply(main.body, main.body)
    assert InferTypeLocal(product) == product.checked_type == relay.TensorType((2, 3), "float32")
