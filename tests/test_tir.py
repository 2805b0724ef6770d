"""Symbolic dimensions under their older names."""

import pytest

import relay
from relay import tir


def test_a_variable_is_a_symbolic_dimension():
    n = tir.Var("n", "int32")
    assert n.kind is relay.TypeKind.ShapeVar and n.name == "n"
    assert relay.TensorType((n, 3)).shape[0] is n


def test_an_integer_remembers_its_type_and_is_an_int():
    three = tir.IntImm("int64", 3)
    assert three == 3 and hash(three) == hash(3) and three + 1 == 4
    assert (three.value, three.dtype) == (3, "int64") and type(three.value) is int
    assert relay.TensorType((three,)) == relay.TensorType((3,))


def test_any_is_the_unknown_dimension():
    assert tir.Any is relay.Any


def test_dimensions_are_integers():
    with pytest.raises(relay.RelayError, match="float32"):
        tir.Var("n", "float32")
    with pytest.raises(relay.RelayError, match="float32"):
        tir.IntImm("float32", 1)
