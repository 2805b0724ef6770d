"""Functions that nodes stand for."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import call, function, named, node, with_functions
from tests.frontend.onnx.oracle import agree

X = np.array([[1.0, -2.0, 3.0], [-0.5, 0.0, 4.0]], "float32")


def reference(operator: str, attribute: str, kind: int, name: str) -> onnx.NodeProto:
    """A node with an attribute that the call of its function gives."""
    made = helper.make_node(operator, ["x"], ["y"])
    made.attribute.add(name=attribute, ref_attr_name=name, type=kind)
    return made


def outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [2, 3]))
    return model


def test_functions_call_functions() -> None:
    inner = function("inner", [node("Abs", "x")])
    outer = function("outer", [call("inner", to="m"), node("Neg", "m")])
    agree(outputs(with_functions(outer, inner)), X)


def test_attributes_of_a_call_are_those_of_nodes() -> None:
    body = [reference("Elu", "alpha", onnx.AttributeProto.FLOAT, "a")]
    agree(outputs(with_functions(function("f", body, ["a"]), a=3.0)), X)


def test_an_attribute_that_a_call_leaves_out_is_what_the_operator_says() -> None:
    body = [reference("Elu", "alpha", onnx.AttributeProto.FLOAT, "a")]
    agree(outputs(with_functions(function("f", body, ["a"]))), X)


def test_an_attribute_of_a_call_in_a_subgraph() -> None:
    inner = reference("Elu", "alpha", onnx.AttributeProto.FLOAT, "a")
    inner.output[0] = "z"
    branch = helper.make_graph([inner], "g", [], named("z"))
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["c"], to=onnx.TensorProto.BOOL),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    agree(outputs(with_functions(function("f", nodes, ["a"]), a=0.5)), X)


def test_functions_that_grow_beyond_measure_are_refused_before_they_are_written_out() -> None:
    levels = [
        function(f"f{n}", [call(f"f{n + 1}", to="m"), call(f"f{n + 1}", "m")]) for n in range(40)
    ]
    model = with_functions(*levels, function("f40", [node("Relu", "x")]))
    with pytest.raises(FrontendError, match="too many nodes"):
        from_onnx(model)


def test_the_way_around_a_circle_of_functions_is_shown() -> None:
    others = [function(f"f{n}", [call(f"f{(n + 1) % 3}")]) for n in range(3)]
    with pytest.raises(FrontendError, match="calls itself") as error:
        from_onnx(with_functions(*others))
    assert all(f"`f{n}`" in str(error.value) for n in range(3))


def test_names_in_a_subgraph_may_be_those_around_it() -> None:
    branch = helper.make_graph([node("Neg", "x", to="y")], "g", [], named("y"))
    condition = helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    decision = node("If", "c", then_branch=branch, else_branch=branch)
    graph = helper.make_graph([decision], "m", [condition, given], named("y"))
    mod, _ = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    assert "negative" in str(mod)
