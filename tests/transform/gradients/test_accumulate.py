"""Collecting gradients, and passing them on."""

from __future__ import annotations

import numpy as np
import pytest

from relay.check.infer import infer_expr
from relay.errors import GradientError
from relay.ir import expr as ir
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import get
from relay.transform.gradients.accumulate import Accumulation, backwards

F = TensorType((2,), "float64")


def everything(_: ir.Expr) -> bool:
    return True


def test_gradients_of_a_value_are_added_and_taken_once() -> None:
    x, a, b = ir.Var("x", F), ir.Var("a", F), ir.Var("b", F)
    gradients = Accumulation(lambda _: F, everything)
    gradients.add(x, a)
    gradients.add(x, b)
    total = gradients.take(x)
    assert isinstance(total, ir.Call)
    assert total.args == (a, b)
    assert gradients.take(x) is None


def test_gradients_of_fields_are_collected_by_their_places() -> None:
    pair, a, b, c = (ir.Var(name) for name in ("pair", "a", "b", "c"))
    gradients = Accumulation(lambda _: TupleType((F, TupleType((F, F)))), everything)
    gradients.add(pair, {1: {0: a}})
    gradients.add(pair, {0: b})
    gradients.add(pair, {1: {1: c}})
    assert gradients.take(pair) == {0: b, 1: {0: a, 1: c}}


def test_what_depends_on_nothing_of_interest_has_no_gradient() -> None:
    x = ir.Var("x", F)
    gradients = Accumulation(lambda _: F, lambda _: False)
    gradients.add(x, x)
    assert gradients.take(x) is None


def test_an_operator_without_a_rule_matters_only_where_a_gradient_arrives() -> None:
    x, g = ir.Var("x", TensorType((4,), "float64")), ir.Var("g")
    bits = get("reinterpret")
    call = ir.Call(bits, (x,), bits.make_attrs({"dtype": "float64"}))
    body = infer_expr(ir.Function((x,), call)).body
    constant = backwards(body, g, ())
    assert constant.take(x) is None
    with pytest.raises(GradientError, match="depends on the bits"):
        backwards(body, g, body.args)


def test_composed_rules_differentiate_what_the_operator_is_composed_of() -> None:
    x, c = ir.Var("x", TensorType((2, 3), "float64")), np.ones((3,))
    norm = get("nn.layer_norm")
    call = ir.Call(norm, (x, ir.const(c, "float64"), ir.const(c, "float64")), norm.make_attrs({}))
    function = infer_expr(ir.Function((x,), call))
    found = backwards(function.body, ir.Var("g", x.type_annotation), function.params)
    assert isinstance(found.take(function.params[0]), ir.Expr)
