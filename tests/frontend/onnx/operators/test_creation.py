"""Tensors that ONNX makes of shapes and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, of_graph, value

X = np.arange(12, dtype="float32").reshape(3, 4)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


@pytest.mark.parametrize("number", [None, np.array([7], "int32"), np.array([True])])
def test_one_value_everywhere(number: np.ndarray | None) -> None:
    more = {} if number is None else {"value": numpy_helper.from_array(number)}
    agree(model("ConstantOfShape", Fixed(ints(2, 3)), opset=9, **more))
    agree(model("ConstantOfShape", ints(2, 0), opset=9, **more), ints(2, 0))
    agree(model("ConstantOfShape", Fixed(ints()), opset=9, **more))


@pytest.mark.parametrize(
    ("start", "limit", "delta", "dtype"),
    [(1, 9, 3, "int64"), (9, 1, -3, "int32"), (0.5, 2, 0.25, "float32"), (3, 1, 1, "int64")],
)
def test_numbers_in_a_row(start: Any, limit: Any, delta: Any, dtype: str) -> None:
    numbers = [np.array(one, dtype) for one in (start, limit, delta)]
    agree(model("Range", *numbers, opset=11), *numbers)
    agree(model("Range", *map(Fixed, numbers), opset=11))


def _counted(operator: str, axis: str = "zero") -> onnx.ModelProto:
    """What is as long as an axis of x: its positions, or zeros."""
    constants = [
        numpy_helper.from_array(np.array(place, "int64"), name)
        for name, place in (("zero", 0), ("one", 1))
    ]
    nodes = [helper.make_node("Shape", ["x"], ["shape"])]
    if operator == "Range":
        nodes += [
            helper.make_node("Gather", ["shape", axis], ["n"]),
            helper.make_node("Range", ["zero", "n", "one"], ["y"]),
        ]
    else:
        nodes.append(helper.make_node("ConstantOfShape", ["shape"], ["y"]))
    return of_graph(
        nodes, [value("x", "float32", ("n", 4))], [onnx.ValueInfoProto(name="y")], constants
    )


def test_what_is_made_of_a_named_dimension_has_its_name() -> None:
    assert main_type(from_onnx(_counted("Range"))[0]) == "Tensor[(n), int64]"
    agree(_counted("Range"), X)
    assert main_type(from_onnx(_counted("ConstantOfShape"))[0]) == "Tensor[(n, 4), float32]"
    agree(_counted("ConstantOfShape"), X)


def test_positions_of_an_axis_whose_extent_is_a_number_are_as_many() -> None:
    assert main_type(from_onnx(_counted("Range", "one"))[0]) == "Tensor[(4), int64]"
    agree(_counted("Range", "one"), X)


@pytest.mark.parametrize("diagonal", [0, 1, -2, 9])
def test_a_diagonal_of_ones(diagonal: int) -> None:
    agree(model("EyeLike", X, opset=9, k=diagonal), X)


def test_a_diagonal_of_another_type_and_of_named_extents() -> None:
    agree(model("EyeLike", X, opset=9, dtype=TensorProto.INT64, shapes={0: ("n", "m")}), X)
    given = model("EyeLike", X, opset=9, dtype=TensorProto.BOOL)
    agree(given, X, wanted=[np.eye(3, 4, dtype="bool")])
