"""An index outside of its axis is an error, as ONNX says: it names the node and the index."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

from relay.driver import compile as compile_model
from relay.errors import EvaluationError
from relay.executors import create_executor
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, model, of_graph, ours, runtime, value

REFUSED = (state.InvalidArgument, state.Fail)


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def integers(given: Any, dtype: str = "int64") -> np.ndarray:
    return np.array(given, dtype)


X = floats(3, 4)
WORDS = [floats(5, 8), floats(4, 8), floats(2, 8), floats(8), floats(8)]
PLACES = integers([[[[0, 2], [90, 10]]]])
# operator, inputs, the index that is wrong, and attributes
WRONG: list[tuple[str, list[np.ndarray], int, dict[str, Any]]] = [
    ("Gather", [X, integers([0, 3])], 3, {}),
    ("Gather", [X, integers([-4, 1], "int32")], -4, {}),
    ("Gather", [X, integers(4)], 4, {"axis": 1}),
    ("GatherElements", [X, integers([[5, 0, 0, 0]])], 5, {}),
    ("GatherND", [X, integers([[0, 4]])], 4, {}),
    ("GatherND", [X, integers([[-4]])], -4, {}),
    ("ScatterElements", [X, integers([[5, 0, 0, 0]]), floats(1, 4)], 5, {}),
    ("ScatterND", [X, integers([[2, -5]]), floats(1)], -5, {}),
    (
        "RoiAlign",
        [floats(1, 1, 4, 4), floats(1, 4), integers([7])],
        7,
        {"output_height": 2, "output_width": 2},
    ),
    ("MaxUnpool", [floats(1, 1, 2, 2), PLACES], 90, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("NegativeLogLikelihoodLoss", [floats(2, 3), integers([7, 0])], 7, {}),
    ("ArrayFeatureExtractor", [X, integers([-1])], -1, {"domain": "ai.onnx.ml", "version": 3}),
    (
        "EmbedLayerNormalization",
        [integers([[1, 0]], "int32"), integers([[0, 7]], "int32"), *WORDS],
        7,
        {"domain": "com.microsoft", "outputs": ["y", "mask"]},
    ),
    (
        "RotaryEmbedding",
        [floats(1, 2, 8), integers([[9, 1]]), floats(4, 4), floats(4, 4)],
        9,
        {"domain": "com.microsoft"},
    ),
]


@pytest.mark.parametrize(("operator", "inputs", "index", "attributes"), WRONG)
def test_an_index_outside_of_its_axis_is_refused(
    operator: str, inputs: list[np.ndarray], index: int, attributes: dict[str, Any]
) -> None:
    given = model(operator, *inputs, opset=18, name="chooser", **attributes)
    with pytest.raises(REFUSED):
        runtime(given, *inputs)
    with pytest.raises(EvaluationError, match=rf"node `chooser` (?s:.*)found: +{index}\Z"):
        ours(given, *inputs)


def test_an_embedding_knows_its_words_in_every_engine() -> None:
    table, words = floats(50, 4), integers([[3, 9999]])
    for shapes in ({}, {1: ("batch", "length")}):
        given = model("Gather", Fixed(table), words, opset=18, name="embedding", shapes=shapes)
        module, params = from_onnx(given)
        runs = [compile_model(module, params)]
        runs += [create_executor(kind, module).evaluate() for kind in ("debug", "vm")]
        for run in runs:
            with pytest.raises(EvaluationError) as caught:
                run(words)
            assert "node `embedding` (Gather)" in str(caught.value)
            assert "-50 to 49" in str(caught.value)
            assert "9999" in str(caught.value)
            found = run(integers([[3, -50]]))
            np.testing.assert_array_equal(np.asarray(found), table[[[3, 0]]])


def test_of_two_models_that_differ_in_names_alone_each_names_its_own() -> None:
    words = integers([7])
    for name in ("first", "second"):
        with pytest.raises(EvaluationError, match=f"node `{name}`"):
            ours(model("Gather", X, words, opset=18, name=name), X, words)


def test_one_hot_has_nothing_on_for_an_index_outside() -> None:
    places = integers([0, 9, -9, -1])
    given = model("OneHot", places, Fixed(integers(3)), Fixed(floats(2)), opset=18)
    agree(given, places)


def test_a_constant_index_outside_matters_where_a_run_comes_to_it() -> None:
    weights = {"rows": X, "bad": integers([9]), "good": integers([0])}
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]

    def branch(index: str) -> onnx.GraphProto:
        node = helper.make_node("Gather", ["rows", index], [f"by_{index}"], name=f"the_{index}")
        return helper.make_graph([node], index, [], [value(f"by_{index}", "float32", (1, 4))])

    branches = {"then_branch": branch("bad"), "else_branch": branch("good")}
    nodes = [helper.make_node("If", ["which"], ["y"], **branches)]
    which, result = value("which", "bool", ()), value("y", "float32", (1, 4))
    given = of_graph(nodes, [which], [result], constants, opset=18)
    agree(given, np.array(False))
    with pytest.raises(EvaluationError, match="node `the_bad`"):
        ours(given, np.array(True))


@pytest.mark.parametrize("is_constant", [False, True])
def test_an_axis_without_elements_is_refused_by_name_and_no_index_is_fine(
    is_constant: bool,
) -> None:
    nodes = [
        helper.make_node("Compress", ["x", "mask"], ["some"], axis=0),
        helper.make_node("Gather", ["some", "at"], ["row"], name="first_row"),
        helper.make_node("Relu", ["row"], ["y"], name="other"),
    ]
    first = integers([0])
    inputs = [value("x", "float32", ("n", 4)), value("mask", "bool", ("n",))]
    inputs += [] if is_constant else [value("at", "int64", ("k",))]
    constants = [numpy_helper.from_array(first, "at")] if is_constant else []
    given = of_graph(nodes, inputs, [onnx.ValueInfoProto(name="y")], constants, opset=18)
    none, at = np.zeros(3, bool), [] if is_constant else [first]
    agree(given, X, ~none, *at)
    if not is_constant:
        agree(given, X, none, integers([]))
    with pytest.raises(REFUSED):
        runtime(given, X, none, *at)
    module, params = from_onnx(given)
    runs = [compile_model(module, params)]
    runs += [create_executor(kind, module).evaluate() for kind in ("debug", "vm")]
    for run in runs:
        with pytest.raises(EvaluationError, match="no elements") as caught:
            run(X, none, *at)
        assert "node `first_row` (Gather)" in str(caught.value)


def test_elements_of_an_axis_without_elements_are_not_read() -> None:
    x = floats(1, 1, 0, 4)
    sizes = integers([1, 1, 2, 2])
    given = model(
        "Resize", x, None, None, Fixed(sizes), opset=18, shapes={0: (1, 1, "h", "w")}, name="larger"
    )
    with pytest.raises(EvaluationError, match="has no elements"):
        ours(given, x)
