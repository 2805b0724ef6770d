"""Duals as expressions."""

from __future__ import annotations

from relay import tree
from relay.ir import expr as ir
from relay.ir.types import FuncType, TensorType, TupleType
from relay.transform.gradients.dual_values import (
    Leaf,
    Opaque,
    Parts,
    expanded,
    expression,
    leaves,
    value_of,
)

FLOAT, INTEGER = TensorType((), "float64"), TensorType((), "int32")
TYPE = TupleType((FLOAT, TupleType((INTEGER, FLOAT)), FuncType((), FLOAT)))


def test_a_tuple_is_taken_apart_by_its_type() -> None:
    dual = tree.run(expanded(ir.Var("x"), TYPE))
    assert isinstance(dual, Parts)
    assert isinstance(dual.fields[2], Opaque)
    found = leaves(dual)
    assert [leaf.ty for leaf in found] == [FLOAT, INTEGER, FLOAT]
    assert [leaf.cell is not None for leaf in found] == [True, False, True]


def test_the_value_of_a_tuple_has_no_cells() -> None:
    x, y = ir.Var("x"), ir.Var("y")
    dual = Parts([Leaf(FLOAT, x, ir.Var("cell")), Parts([Leaf(INTEGER, y)])])
    value = tree.run(value_of(dual))
    assert isinstance(value, ir.Tuple)
    assert value.fields[0] is x
    assert isinstance(value.fields[1], ir.Tuple)
    assert value.fields[1].fields == (y,)


def test_a_known_expression_is_used_again() -> None:
    x = ir.Var("x")
    assert tree.run(expression(tree.run(expanded(x, TYPE)))) is x
    made = tree.run(expression(Parts([Opaque(x), Opaque(x)])))
    assert isinstance(made, ir.Tuple)
    assert made.fields == (x, x)
