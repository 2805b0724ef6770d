"""The interface through which ONNX tries backends."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay.onnx_backend as backend
from relay.errors import RelayError

X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
GRAPH = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", [X], [Y])
MODEL = helper.make_model(GRAPH, opset_imports=[helper.make_opsetid("", 21)])


def test_a_model_runs_on_the_cpu_only():
    (found,) = backend.prepare(MODEL).run([np.array([-1, 2], "float32")])
    assert found.tolist() == [0, 2]
    assert not backend.supports_device("CUDA")
    with pytest.raises(RelayError, match="not for CUDA"):
        backend.prepare(MODEL, "CUDA")


def test_options_of_a_run_are_refused_by_name():
    with pytest.raises(RelayError, match="threads"):
        backend.prepare(MODEL).run([np.zeros(2, "float32")], threads=1)


def test_a_model_without_a_translation_is_not_compatible():
    node = helper.make_node("Unknown", ["x"], ["y"])
    graph = helper.make_graph([node], "graph", [X], [Y])
    assert backend.is_compatible(MODEL)
    assert not backend.is_compatible(helper.make_model(graph))
    assert not backend.is_compatible(onnx.ModelProto.FromString(MODEL.SerializeToString()), "CUDA")
