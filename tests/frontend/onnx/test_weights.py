"""The weights of a model keep their names, and can be changed by them."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import relay
from relay.errors import EvaluationError
from relay.frontend import from_onnx
from relay.frontend.onnx.weights import weights_of

CHANCE = np.random.default_rng(0)


def tensor(name, *shape):
    return numpy_helper.from_array(CHANCE.standard_normal(shape).astype("float32"), name)


def model(nodes, initializers, shape, output_rank):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * output_rank)],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def network(batch=2):
    """A layer of each kind, and initializers that are none of their weights."""
    return model(
        [
            helper.make_node("Conv", ["x", "conv.w", "conv.b"], ["c"]),
            helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]),
            helper.make_node("Resize", ["n", "", "scales"], ["r"], mode="nearest"),
            helper.make_node("Mul", ["r", "one"], ["s"]),
            helper.make_node("GlobalAveragePool", ["s"], ["p"]),
            helper.make_node("Flatten", ["p"], ["f"]),
            helper.make_node("Transpose", ["fc.w"], ["t"]),
            helper.make_node("Identity", ["t"], ["u"]),
            helper.make_node("MatMul", ["f", "u"], ["z"]),
            helper.make_node("Add", ["z", "fc.b"], ["y"]),
        ],
        [
            tensor("conv.w", 4, 3, 2, 2),
            *(tensor(name, 4) for name in ("conv.b", "g", "b", "m")),
            numpy_helper.from_array(np.full(4, 1.5, "float32"), "v"),
            numpy_helper.from_array(np.array([1, 1, 2, 2], "float32"), "scales"),
            numpy_helper.from_array(np.array([2], "float32"), "one"),
            tensor("fc.w", 5, 4),
            tensor("fc.b", 5),
        ],
        [batch, 3, 6, 6],
        2,
    )


WEIGHTS = {"conv.w", "conv.b", "g", "b", "m", "v", "fc.w", "fc.b"}


def expected(proto, x):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def test_weights_are_what_layers_compute_with():
    assert weights_of(network().graph) == WEIGHTS


@pytest.mark.parametrize("batch", [2, "batch"])
def test_a_compiled_model_has_the_names_of_its_weights_and_takes_new_ones(batch, tmp_path):
    proto = network(batch)
    exe = relay.compile(proto)
    assert exe.params.keys() >= WEIGHTS
    x = CHANCE.standard_normal((2, 3, 6, 6)).astype("float32")
    np.testing.assert_allclose(exe(x), expected(proto, x), rtol=1e-4, atol=1e-5)
    changed = {"g": np.arange(1, 5, dtype="float32"), "fc.w": -exe.params["fc.w"].numpy()}
    exe.set_params(changed)
    for one in proto.graph.initializer:
        if one.name in changed:
            one.CopyFrom(numpy_helper.from_array(changed[one.name], one.name))
    np.testing.assert_allclose(exe(x), expected(proto, x), rtol=1e-4, atol=1e-5)
    exe.save(tmp_path / "net.relayx", params=True)
    loaded = relay.load(tmp_path / "net.relayx")
    assert loaded.params.keys() >= WEIGHTS
    assert 'constant "conv.w": float32[4, 3, 2, 2]' in str(loaded.program)
    with pytest.raises(EvaluationError, match=r"did you mean `fc.w`"):
        loaded.set_params({"fc.weight": changed["fc.w"]})


def test_weights_can_be_given_in_place_of_those_of_the_model():
    proto = network()
    x = CHANCE.standard_normal((2, 3, 6, 6)).astype("float32")
    exe = relay.compile(proto, {"fc.w": np.zeros((5, 4), "float32")})
    bias = exe.params["fc.b"].numpy()
    np.testing.assert_allclose(exe(x), np.broadcast_to(bias, (2, 5)), rtol=1e-6)


def inner(name, value):
    return helper.make_graph(
        [helper.make_node("Add", ["x", value], [name])],
        name,
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
    )


@pytest.mark.parametrize(
    "nodes",
    [
        # read by something that wants to know it, directly or on a way around
        [
            helper.make_node("Add", ["x", "w"], ["a"]),
            helper.make_node("Where", ["c", "a", "w"], "y"),
        ],
        [helper.make_node("Identity", ["w"], ["v"]), helper.make_node("Max", ["x", "v"], ["y"])],
        [helper.make_node("Sqrt", ["w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])],
        [helper.make_node("Add", ["x", "w"], ["z"]), helper.make_node("Identity", ["w"], ["y"])],
        [
            helper.make_node("Add", ["x", "w"], ["z"]),
            helper.make_node(
                "If", ["c"], ["y"], then_branch=inner("t", "w"), else_branch=inner("e", "x")
            ),
        ],
        [helper.make_node("Add", ["x", "w"], ["y"], domain="somebody.else")],
    ],
)
def test_what_may_have_to_be_known_is_no_weight(nodes):
    assert weights_of(model(nodes, [tensor("w", 3)], [3], 1).graph) == set()


def test_frozen_weights_are_constants_as_before():
    mod, params = from_onnx(network())
    assert not params
    assert [param.name_hint for param in mod["main"].params] == ["x"]
