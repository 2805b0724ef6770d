"""A model as a module: what it calls its inputs and its results stays known."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import relay

SIZES = [pytest.param(("rows", 3), id="symbolic"), pytest.param((2, 3), id="known")]


def model(shape: tuple[str | int, ...]) -> onnx.ModelProto:
    """Two results, in an order and by names of their own."""
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["features"], ["positive part"]),
            helper.make_node("Neg", ["features"], ["mirrored"]),
        ],
        "two",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("mirrored", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("positive part", TensorProto.FLOAT, shape),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("shape", SIZES)
def test_an_executable_names_the_results_as_the_model_does(shape: tuple[str | int, ...]) -> None:
    exe = relay.compile(model(shape))
    assert [one.name for one in exe.inputs] == ["features"]
    assert [one.name for one in exe.outputs] == ["mirrored", "positive part"]


@pytest.mark.parametrize("shape", SIZES)
def test_the_names_are_saved_with_an_executable(
    shape: tuple[str | int, ...], tmp_path: Path
) -> None:
    relay.compile(model(shape)).save(tmp_path / "two.relayx")
    loaded = relay.load(tmp_path / "two.relayx")
    assert [one.name for one in loaded.outputs] == ["mirrored", "positive part"]


def test_a_model_that_is_written_back_has_the_names_it_came_with() -> None:
    module, params = relay.frontend.from_onnx(model((2, 3)))
    session = onnxruntime.InferenceSession(relay.to_onnx(module, params).SerializeToString())
    assert [one.name for one in session.get_outputs()] == ["mirrored", "positive part"]
    data = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
    mirrored, positive = session.run(None, {"features": data})
    np.testing.assert_array_equal(mirrored, -data)
    np.testing.assert_array_equal(positive, np.maximum(data, 0))


def test_the_names_are_part_of_the_text() -> None:
    module, _ = relay.frontend.from_onnx(model((2, 3)))
    again = relay.parse(str(module))
    assert again["main"].result_names == ("mirrored", "positive part")
