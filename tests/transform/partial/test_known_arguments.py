"""What is known of arguments with functions in them."""

from __future__ import annotations

import relay
from relay.ir.types import FuncType, TensorType, TupleType
from relay.transform.partial.known_arguments import (
    Enclosing,
    KnownAtom,
    KnownClosure,
    KnownFields,
    Leaf,
    arguments_of,
)
from relay.transform.partial.static_values import Closure, Environment, Fields, Value

SCALAR = TensorType((), "float32")
X, Y, F = relay.var("x", SCALAR), relay.var("y", SCALAR), relay.var("f")
TYPE = FuncType((SCALAR,), SCALAR)


def closure(environment: Environment, body: relay.Expr) -> Value:
    return Value(TYPE, Closure(relay.Function([X], body), environment, "here"))


def test_captured_values_are_leaves() -> None:
    environment = Environment()
    environment[Y] = captured = Value(SCALAR)
    other = Value(SCALAR)
    found = arguments_of([closure(environment, relay.add(X, Y)), other])
    assert found is not None
    assert found.leaves == [captured, other]
    assert [type(shape) for shape in found.shapes] == [KnownClosure, Leaf]


def test_a_closure_may_capture_itself() -> None:
    environment = Environment()
    environment[F] = value = closure(environment, relay.Call(F, [X]))
    found = arguments_of([value])
    assert found is not None
    (shape,) = found.shapes
    assert isinstance(shape, KnownClosure)
    assert shape.captured == ((F, Enclosing(0)),)


def test_functions_are_found_in_tuples() -> None:
    op = Value(TYPE, relay.op.get("exp"))
    whole = Value(TupleType((TYPE, SCALAR)), Fields((op, Value(SCALAR))))
    found = arguments_of([whole])
    assert found is not None
    (shape,) = found.shapes
    assert isinstance(shape, KnownFields)
    assert [type(part) for part in shape.fields] == [KnownAtom, Leaf]


def test_without_a_function_there_is_nothing_to_copy_for() -> None:
    assert arguments_of([Value(SCALAR)]) is None


def test_types_with_variables_are_left() -> None:
    generic = Value(relay.TypeVar("A"))
    assert arguments_of([Value(TYPE, relay.op.get("exp")), generic]) is None
