"""Steps of learning, and derivatives, in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, model, of_graph, reference, value

DOMAIN = "ai.onnx.preview.training"
RANDOM = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.random(shape).astype("float32") + 0.1


RATE, START, LATER = np.float32(0.1), np.array(0), np.array(7)


@pytest.mark.parametrize("step", [START, LATER], ids=["start", "later"])
@pytest.mark.parametrize(
    ("name", "kinds", "attributes"),
    [
        ("Adagrad", 3, {"norm_coefficient": 0.01, "epsilon": 1e-5, "decay_factor": 0.1}),
        ("Adam", 4, {"norm_coefficient": 0.01, "alpha": 0.95, "beta": 0.1, "epsilon": 1e-7}),
        ("Momentum", 3, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.7, "mode": "standard"}),
        ("Momentum", 3, {"norm_coefficient": 0.0, "alpha": 0.9, "beta": 0.7, "mode": "nesterov"}),
    ],
)
def test_a_step(name: str, kinds: int, attributes: dict[str, Any], step: np.ndarray) -> None:
    for shapes in ([(3,)], [(2,), (2, 2)]):
        values = [floats(*shape) for _ in range(kinds) for shape in shapes]
        rate = np.array(RATE)
        given = model(
            name,
            rate,
            step,
            *values,
            opset=21,
            domain=DOMAIN,
            outputs=(kinds - 1) * len(shapes),
            **attributes,
        )
        # the reference computes some of it in 64 bits
        wanted = [one.astype("float32") for one in reference(given, rate, step, *values)]
        agree(given, rate, step, *values, wanted=wanted)


def test_the_numbers_of_tensors_must_fit() -> None:
    values = [floats(2) for _ in range(4)]
    given = model("Adam", np.array(RATE), START, *values[:3], opset=21, domain=DOMAIN, outputs=3)
    with pytest.raises(FrontendError, match="equal numbers"):
        from_onnx(given)


# --- derivatives


def of_nodes(nodes: Any, inputs: dict[str, np.ndarray], xs: list[str], at: Any = None) -> Any:
    """A model that computes `y`, and the derivatives of it by some inputs."""
    outputs = [f"d{name}" for name in xs]
    last = helper.make_node("Gradient", at or xs, outputs, domain=DOMAIN, xs=xs, y="y")
    described = [value(name, array.dtype, array.shape) for name, array in inputs.items()]
    wanted = [value(name, "float32", inputs[x].shape) for name, x in zip(outputs, xs, strict=True)]
    return of_graph([*nodes, last], described, wanted, domain=DOMAIN)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


A, B, C = floats(2, 3), floats(3), floats(3, 4)


@pytest.mark.parametrize(
    ("nodes", "function"),
    [
        ([node("Add", "a b", "y")], lambda a, b, c: a + b),
        ([node("Mul", "a b", "t"), node("Mul", "t a", "y")], lambda a, b, c: a * b * a),
        ([node("Div", "a b", "t"), node("Exp", "t", "y")], lambda a, b, c: torch.exp(a / b)),
        ([node("Sub", "a b", "t"), node("Tanh", "t", "y")], lambda a, b, c: torch.tanh(a - b)),
        (
            [node("MatMul", "a c", "t"), node("Sigmoid", "t", "y")],
            lambda a, b, c: (a @ c).sigmoid(),
        ),
        (
            [
                node("Constant", "", "k", value_ints=[2, 1, 3]),
                node("Reshape", "a k", "t"),
                node("MatMul", "t c", "y"),
            ],
            lambda a, b, c: a.reshape(2, 1, 3) @ c,
        ),
        ([node("Pow", "a b", "y")], lambda a, b, c: a**b),
        ([node("Transpose", "a", "t"), node("Log", "t", "y")], lambda a, b, c: a.T.log()),
        (
            [
                node("Relu", "a", "t"),
                node("ReduceSum", "t", "s", keepdims=0),
                node("Sqrt", "s", "y"),
            ],
            lambda a, b, c: a.relu().sum().sqrt(),
        ),
        ([node("Softmax", "a", "t"), node("Mul", "t t", "y")], lambda a, b, c: a.softmax(1) ** 2),
    ],
    ids=["add", "mul", "div", "sub", "matmul", "batches", "pow", "transpose", "sum", "softmax"],
)
def test_derivatives_are_those_of_pytorch(nodes: Any, function: Any) -> None:
    tensors = [torch.tensor(one, requires_grad=True) for one in (A, B, C)]
    function(*tensors).sum().backward()
    wanted = [
        np.zeros_like(one.detach()) if one.grad is None else one.grad.numpy() for one in tensors
    ]
    given = of_nodes(nodes, {"a": A, "b": B, "c": C}, ["a", "b", "c"])
    agree(given, A, B, C, wanted=wanted, rtol=1e-4)


def test_derivatives_at_another_place() -> None:
    nodes = [node("Mul", "a a", "y")]
    other = floats(2, 3)
    given = of_nodes(nodes, {"a": A, "z": other}, ["a"], at=["z"])
    agree(given, A, other, wanted=[2 * other])


def test_what_has_no_rule_is_refused_by_name() -> None:
    with pytest.raises(FrontendError, match=r"`qnn\.dequantize` has no gradient"):
        pair = [node("QuantizeLinear", "a s", "q"), node("DequantizeLinear", "q s", "y")]
        from_onnx(of_nodes(pair, {"a": A, "s": np.float32(0.1)}, ["a"]))
    with pytest.raises(FrontendError, match="no `y`"):
        from_onnx(of_nodes([node("Exp", "a", "t")], {"a": A}, ["a"]))
