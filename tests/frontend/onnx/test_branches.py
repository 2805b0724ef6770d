"""An `If` whose ways give tensors of another number of axes: what comes after goes both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from relay.errors import EvaluationError, FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.judge import agree, of_graph, ours, value

NODE = helper.make_node
ROWS = np.arange(6, dtype="float32").reshape(2, 3)


def squeezed(*rest: onnx.NodeProto, output: onnx.ValueInfoProto) -> onnx.ModelProto:
    """`squeezed` is `x` without its last axis if that has one element, as PyTorch exports it."""
    size = [
        NODE("Shape", ["x"], ["shape"], start=-1),
        NODE("Constant", [], ["one"], value_ints=[1]),
        NODE("Equal", ["shape", "one"], ["is_one"]),
    ]
    ways: dict[str, Any] = {
        "then_branch": helper.make_graph(
            [
                NODE("Constant", [], ["last"], value_ints=[-1]),
                NODE("Squeeze", ["x", "last"], ["a"]),
            ],
            "then", [], [onnx.ValueInfoProto(name="a")],
        ),
        "else_branch": helper.make_graph(
            [NODE("Identity", ["x"], ["b"])], "else", [], [onnx.ValueInfoProto(name="b")]
        ),
    }  # fmt: skip
    chosen = NODE("If", ["is_one"], ["squeezed"], name="choice", **ways)
    given = value("x", "float32", ["n", 3, "last"])
    return of_graph([*size, chosen, *rest], [given], [output])


def test_what_comes_after_is_computed_on_both_ways() -> None:
    made = squeezed(
        NODE("Relu", ["squeezed"], ["positive"]),
        NODE("ReduceSum", ["positive"], ["y"], keepdims=0),
        output=value("y", "float32", []),
    )
    for last in (1, 4):
        agree(made, np.ones((2, 3, last), "float32") * ROWS[:, :, None])


def test_a_way_on_which_the_rest_means_nothing_ends_the_run_with_the_reason() -> None:
    made = squeezed(
        NODE("Gemm", ["squeezed", "squeezed"], ["y"], transB=1, name="product"),
        output=value("y", "float32", ["n", "n"]),
    )
    agree(made, ROWS[:, :, None])
    with pytest.raises(EvaluationError, match="Gemm: ") as found:
        ours(made, np.ones((2, 3, 4), "float32"))
    assert "product" in str(found.value)


def test_the_declared_axes_of_an_output_decide() -> None:
    made = squeezed(NODE("Relu", ["squeezed"], ["y"]), output=value("y", "float32", ["n", 3]))
    agree(made, ROWS[:, :, None])
    with pytest.raises(EvaluationError, match="output `y` has another number of axes"):
        ours(made, np.ones((2, 3, 4), "float32"))


def test_results_that_have_no_type_in_common_are_refused() -> None:
    made = squeezed(NODE("Relu", ["squeezed"], ["y"]), output=onnx.ValueInfoProto(name="y"))
    with pytest.raises(FrontendError, match="the branches give values of different types"):
        from_onnx(made)
