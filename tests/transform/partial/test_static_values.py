"""Environments, and how large known data is."""

from __future__ import annotations

import pytest

import relay
from relay.ir.types import TensorType
from relay.transform.partial.static_values import Environment, Fields, Value

SCALAR = TensorType((), "float32")


def test_an_inner_environment_sees_the_outer_one() -> None:
    x, y = relay.var("x"), relay.var("y")
    outer = Environment()
    inner = Environment(outer)
    outer[x] = value = Value(SCALAR)
    inner[y] = Value(SCALAR)
    assert inner[x] is value
    with pytest.raises(KeyError):
        outer[y]


def test_the_values_of_type_variables_are_inherited() -> None:
    a, b = relay.TypeVar("A"), relay.TypeVar("B")
    outer = Environment(None, {a: SCALAR})
    assert dict(Environment(outer, {b: SCALAR}).types) == {a: SCALAR, b: SCALAR}


def test_the_size_of_data_counts_what_is_known_inside() -> None:
    inside = Fields((Value(SCALAR), Value(SCALAR)))
    assert inside.size == 1
    assert Fields((Value(SCALAR, inside), Value(SCALAR, inside))).size == 3
