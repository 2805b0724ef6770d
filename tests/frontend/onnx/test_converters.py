"""Operators of the user's own, and which converter is whose."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from relay import op
from relay.driver import compile as compile_model
from relay.errors import FrontendError
from relay.frontend.onnx import Converters
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import call, function, with_functions
from tests.frontend.onnx.oracle import of_graph, value

X = np.array([[1.0, -2.0, 3.0]], "float32")


def using(
    operator: str, version: int = 1, domain: str = "own", outputs: int = 1
) -> onnx.ModelProto:
    names = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(operator, ["x"], names, domain=domain, name="here")
    results = [onnx.ValueInfoProto(name=name) for name in names]
    model = of_graph([node], [value("x", "float32", (1, 3))], results)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, version))
    return model


def results(model: onnx.ModelProto, *tables: Converters) -> list[np.ndarray]:
    mod, params = from_onnx(model, operators=tables)
    found = compile_model(mod, params)(X)
    return [np.asarray(one) for one in (found if len(model.graph.output) > 1 else [found])]


def test_the_newest_converter_that_is_not_too_new_is_taken() -> None:
    mine = Converters("own")
    mine("Op")(lambda node, data: op.negative(data))
    mine("Op", since=3)(lambda node, data: op.abs(data))
    for version, wanted in ((1, -X), (2, -X), (3, abs(X)), (9, abs(X))):
        np.testing.assert_array_equal(results(using("Op", version), mine)[0], wanted)


def test_a_table_of_the_user_comes_before_ours() -> None:
    mine = Converters()
    mine("Relu")(lambda node, data: op.negative(data))
    np.testing.assert_array_equal(results(using("Relu", domain=""), mine)[0], -X)
    np.testing.assert_array_equal(results(using("Relu", domain=""))[0], np.maximum(X, 0))


def test_a_function_of_the_model_comes_before_any_table() -> None:
    mine = Converters("own")
    mine("f")(lambda node, data: op.negative(data))
    model = with_functions(function("f", [helper.make_node("Abs", ["x"], ["y"])]))
    mod, _ = from_onnx(model, operators=[mine])
    assert "abs(" in str(mod) and "negative" not in str(mod)


def test_an_operator_in_a_function_of_the_model() -> None:
    mine = Converters("own")
    mine("Op")(lambda node, data: op.negative(data))
    mod, _ = from_onnx(with_functions(function("f", [call("Op")])), operators=[mine])
    assert "negative(" in str(mod)


def test_several_outputs_are_a_list_or_a_tuple_of_relay() -> None:
    mine = Converters("own")
    mine("List")(lambda node, data: [op.negative(data), data])
    mine("Split")(lambda node, data: op.split(data, 3, axis=1).astuple())
    both = results(using("List", outputs=2), mine)
    np.testing.assert_array_equal(both[0], -X)
    np.testing.assert_array_equal(both[1], X)
    np.testing.assert_array_equal(np.concatenate(results(using("Split", outputs=3), mine), 1), X)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda node, data: None, "no expression of Relay"),
        (lambda node, data: [data, 3], "no expression of Relay"),
        (lambda node, data: data, "fewer results"),
        (lambda node, data: [data], "fewer results"),
        (lambda node, data: _raise(node), "not today"),
        (lambda node, data: op.nn.dense(data, data, units=7), "Op: "),
    ],
)
def test_what_a_converter_does_wrong_is_said_with_the_node(made, message: str) -> None:
    mine = Converters("own")
    mine("Op")(made)
    with pytest.raises(FrontendError, match=message) as error:
        from_onnx(using("Op", outputs=2), operators=[mine])
    assert "node `here` (own.Op)" in str(error.value)


def _raise(node):
    raise node.refused("not today")
