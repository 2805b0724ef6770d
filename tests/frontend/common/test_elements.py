"""What is known of shapes that graphs compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from relay.frontend.common.elements import propagate
from relay.frontend.onnx.importer import from_onnx
from relay.ir.types import ShapeVar
from tests.frontend.onnx.oracle import agree, main_type, of_graph, value

N, M = ShapeVar("n"), ShapeVar("m")


@pytest.mark.parametrize(
    ("operator", "inputs", "wanted"),
    [
        ("Concat", [(N,), (3, None)], (N, 3, None)),
        ("Mul", [(N, 2), (3,)], (3 * N, 6)),
        ("Div", [(N * 4, -7), (2, 2)], (2 * N, -3)),
        ("Sub", [(N,), (None,)], (None,)),
        ("Mod", [(N * 4, 7), (2, 4)], (0, 3)),
        ("Neg", [(N, 2)], (-N, -2)),
        ("Min", [(7, 3), (5, 5)], (5, 3)),
        ("Gather", [(N, M, 3), (-1, 0)], (3, N)),
        ("Gather", [(N, M, 3), (7,)], None),
        ("Slice", [(N, M, 3), (1,), (2**63 - 1,)], (M, 3)),
        ("Slice", [(N, M, 3), (-1,), (-(2**63),), (0,), (-1,)], (3, M, N)),
        ("ReduceProd", [(N, 3)], (3 * N,)),
        ("Reshape", [(N, 3), (-1,)], (N, 3)),
        ("Equal", [(N, N, 3, 4), (-1, N, 3, 5)], (0, 1, 1, 0)),
        ("Equal", [(N, N), (3, M)], (None, None)),
        ("Less", [(-1, 3), (N, N)], (1, None)),
        ("GreaterOrEqual", [(N, N), (0, 1)], (1, None)),
        ("Not", [(0, 1, None)], (1, 0, None)),
        ("Where", [(1, 0, None), (N, N, N), (M,)], (N, M, None)),
    ],
)
def test_elements_of_results(operator: str, inputs: list[Any], wanted: Any) -> None:
    assert propagate(operator, inputs, {}, None) == wanted


def test_extents_are_elements() -> None:
    assert propagate("Shape", [None], {"start": 1}, (N, 3, M)) == (3, M)
    assert propagate("Size", [None], {}, (N, 3)) == (3 * N,)


def test_pieces_of_a_shape_are_known() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Split", ["shape"], ["first", "second"], axis=0),
        helper.make_node("Concat", ["second", "first"], ["turned"], axis=0),
        helper.make_node("Reshape", ["x", "turned"], ["y"]),
    ]
    inputs, outputs = [value("x", "float32", ("n", "m"))], [onnx.ValueInfoProto(name="y")]
    given = of_graph(nodes, inputs, outputs, opset=17)
    assert main_type(from_onnx(given)[0]) == "Tensor[(m, n), float32]"
    agree(given, np.arange(6, dtype="float32").reshape(2, 3))


def test_an_extent_that_may_stay_is_written_with_minus_one_by_exporters() -> None:
    """Expand(x, Where(Equal(wanted, -1), 1, wanted)), with an extent of another tensor in it."""
    constants = {"minus": [-1], "one": [1], "zero": [0]}
    nodes = [
        helper.make_node("Shape", ["y"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "minus", "minus"], ["wanted"], axis=0),
        helper.make_node("Equal", ["wanted", "minus"], ["stays"]),
        helper.make_node("Where", ["stays", "one", "wanted"], ["extents"]),
        helper.make_node("Expand", ["x", "extents"], ["z"]),
    ]
    given = of_graph(
        nodes,
        [value("x", "float32", (1, "m", 4)), value("y", "float32", ("n", 2))],
        [onnx.ValueInfoProto(name="z")],
        [numpy_helper.from_array(np.array(v, "int64"), name) for name, v in constants.items()],
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, m, 4), float32]"
    agree(given, np.ones((1, 3, 4), "float32"), np.ones((5, 2), "float32"))
