"""Import a model with custom operators: a converter function builds the Relay for each of them."""

import numpy as np
import onnx
from onnx import TensorProto, helper

import relay
from relay.errors import FrontendError
from relay.frontend.onnx import Converters

mine = Converters("my.domain")


@mine("Snake")
def snake(node, data):
    """x + sin(frequency x)^2 / frequency"""
    frequency = node.number(node.attribute("frequency", 1.0), data)
    wave = relay.sin(relay.multiply(frequency, data))
    return relay.add(data, relay.divide(relay.multiply(wave, wave), frequency))


@mine("MinMax")
def min_max(node, data):
    """Minimum and maximum along an axis."""
    axis = node.required("axis")
    if not -node.rank(data) <= axis < node.rank(data):
        raise node.refused("there is no such axis", f"one of {node.rank(data)}", str(axis))
    return [relay.min(data, axis), relay.max(data, axis)]


def model(axis):
    graph = helper.make_graph(
        [
            helper.make_node("Snake", ["x"], ["wave"], domain="my.domain", frequency=2.0),
            helper.make_node("MinMax", ["wave"], ["low", "high"], domain="my.domain", axis=axis),
        ],
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [onnx.ValueInfoProto(name="low"), onnx.ValueInfoProto(name="high")],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)]
    return helper.make_model(graph, opset_imports=imports)


mod, params = relay.frontend.from_onnx(model(axis=1), operators=[mine])
print(mod["main"])
x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
low, high = relay.compile(mod, params)(x)
wave = x + np.sin(2 * x) ** 2 / 2
assert np.allclose(low, wave.min(1), rtol=1e-5) and np.allclose(high, wave.max(1), rtol=1e-5)

for given, operators in ((model(axis=1), []), (model(axis=7), [mine])):
    try:
        relay.frontend.from_onnx(given, operators=operators)
    except FrontendError as error:
        print(error)
