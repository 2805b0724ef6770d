"""Operators on tensors that are known."""

from __future__ import annotations

from typing import Any

import numpy as np

import relay
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.transform.partial.known_tensors import computed
from relay.transform.partial.static_values import Fields, Value


def known(array: Any) -> Value:
    tensor = NDArray(np.asarray(array, "float32"))
    return Value(TensorType(tensor.shape, "float32"), tensor)


def result(name: str, *args: Value, **attrs: Any) -> Any:
    op: Any = relay.op.get(name)
    return computed(op, Call(op, (), op.make_attrs(attrs)), args)


def test_operators_on_known_tensors_are_evaluated() -> None:
    assert float(result("multiply", known(2.0), known(3.0)).numpy()) == 6
    both = Value(known(1.0).ty, Fields((known([1.0]), known([2.0]))))
    np.testing.assert_array_equal(result("concatenate", both, axis=0).numpy(), [1, 2])


def test_shapes_are_known_from_types() -> None:
    unknown = Value(TensorType((2, 3), "float32"))
    np.testing.assert_array_equal(result("shape_of", unknown).numpy(), [2, 3])
    assert result("shape_of", Value(TensorType((relay.Any(), 3), "float32"))) is None


def test_what_is_not_known_or_too_large_or_fails_is_left() -> None:
    assert result("add", known(1.0), Value(TensorType((), "float32"))) is None
    assert result("add", known(np.zeros(100_000)), known(1.0)) is None
    assert result("reshape", known([1.0, 2.0]), newshape=[3]) is None
