"""Shapes of a length that a run finds, where the graph says how many axes there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import relay
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, of_graph, value

X = np.arange(12, dtype="float32").reshape(3, 4)
OPEN = ("k",)
CONSTANTS = {"bias": np.ones(4, "float32"), "weight": np.ones((2, 3, 1), "float32")}

node = helper.make_node


def ints(*values: int) -> np.ndarray:
    return np.array(values, "int64")


def of_rank(name: str, count: int | None) -> onnx.ValueInfoProto:
    shape = None if count is None else [None] * count
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def subject(
    operator: str,
    inputs: Any,
    rank: int | None = None,
    after: Any = (),
    inside: int | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """`operator` on data of known sizes and lists of open length; `rank` is that of the last
    result, `inside` that of the result of the operator."""
    names = [f"x{place}" for place in range(len(inputs))]
    first = node(operator, names, ["y"], name="subject", **attributes)
    described = [
        value(name, one.dtype, OPEN if one.ndim == 1 else one.shape)
        for name, one in zip(names, inputs, strict=True)
    ]
    last = after[-1].output[0] if after else "y"
    constants = [numpy_helper.from_array(one, name) for name, one in CONSTANTS.items()]
    made = of_graph([first, *after], described, [of_rank(last, rank)], constants, 17)
    if inside is not None:
        made.graph.value_info.append(of_rank("y", inside))
    return made


@pytest.mark.parametrize(
    ("operator", "inputs", "rank", "attributes"),
    [
        ("Reshape", [X, ints(2, -1, 3)], 3, {}),
        ("ConstantOfShape", [ints(2, 3)], 2, {}),
        ("Expand", [X[:, :1], ints(5)], 2, {}),
        ("Expand", [X[:, :1], ints(2, 3, 5)], 3, {}),
        ("Unsqueeze", [X, ints(0, 2)], 4, {}),
        ("Squeeze", [X.reshape(1, 3, 1, 4), ints(0, 2)], 2, {}),
        ("ReduceSum", [X, ints(1)], 1, {"keepdims": 0}),
        # the number of axes does not depend on the length
        ("Tile", [X, ints(2, 1)], None, {}),
        ("Slice", [X, ints(1), ints(3)], None, {}),
        ("Slice", [X, ints(-1, 3), ints(-9, 0), ints(1, 0), ints(-2, -1)], None, {}),
    ],
)
def test_the_declared_rank_says_how_long_a_list_is(
    operator: str, inputs: Any, rank: int | None, attributes: Any
) -> None:
    agree(subject(operator, inputs, rank, **attributes), *inputs)


@pytest.mark.parametrize(
    ("after", "rank", "inside", "shape"),
    [
        ([node("Relu", ["y"], ["r"]), node("Add", ["r", "bias"], ["z"])], 3, None, ints(1, 3, 4)),
        ([node("Transpose", ["y"], ["z"], perm=[2, 1, 0])], None, None, ints(2, -1, 3)),
        ([node("Conv", ["y", "weight"], ["z"])], None, None, ints(1, 3, 4)),
        ([node("ReduceSum", ["y"], ["z"])], None, 3, ints(2, -1, 3)),
    ],
)
def test_who_reads_a_value_says_how_many_axes_it_has(
    after: Any, rank: int | None, inside: int | None, shape: np.ndarray
) -> None:
    agree(subject("Reshape", [X, shape], rank, after, inside), X, shape)


def test_a_rank_that_another_operand_may_have_brought_says_nothing() -> None:
    """`y` may have any number of axes up to one."""
    made = subject("Reshape", [X, ints(12)], 1, [node("Add", ["y", "bias"], ["z"])])
    with pytest.raises(FrontendError, match="the shape must be a list of so many elements") as told:
        from_onnx(made)
    assert "subject" in str(told.value)


@pytest.mark.parametrize(
    ("operator", "inputs", "rank", "wrong"),
    [
        ("Reshape", [X, ints(2, 6)], 2, "so many elements.*subject.*\n.*2\n.*3"),
        ("Expand", [X[:, :1], ints(3, 4)], 2, "more elements than the result has axes.*subject"),
        ("Tile", [X, ints(3, 4)], None, "so many elements.*subject.*\n.*2\n.*3"),
        ("Slice", [X, ints(0, 0), ints(1, 1)], None, "an axis is out of range.*subject"),
    ],
)
def test_another_length_ends_the_run(operator: str, inputs: Any, rank: Any, wrong: str) -> None:
    exe = relay.compile(subject(operator, inputs, rank))
    exe(*inputs)
    longer = [one if one.ndim > 1 else np.append(one, 1) for one in inputs]
    with pytest.raises(relay.RelayError, match=wrong):
        exe(*longer)
