"""Attention with graphs in it, and attention that functions of the standard define."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, model, of_graph, reference, value

RANDOM = np.random.default_rng(17)
PREVIEW = "ai.onnx.preview"


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


Q, K, V = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)


def flex(*, dtype: str = "float32", names: Any = None, **attributes: Any) -> Any:
    node = helper.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain=PREVIEW, **attributes)
    shapes = names or [one.shape for one in (Q, K, V)]
    described = [value(n, dtype, shape) for n, shape in zip("qkv", shapes, strict=True)]
    return of_graph([node], described, [value("y", dtype, [None] * 4)], opset=26, domain=PREVIEW)


def changing(operator: str, number: float) -> Any:
    """A graph that does something with scores and a number."""
    kinds = [value(name, "float32", ["b", "h", "l", "s"]) for name in ("x", "z")]
    constant = numpy_helper.from_array(np.array(number, "float32"), "n")
    node = helper.make_node(operator, ["x", "n"], ["z"])
    return helper.make_graph([node], operator, kinds[:1], kinds[1:], [constant])


def test_plain() -> None:
    agree(flex(), Q, K, V, oracle=reference)
    agree(flex(scale=0.2), Q, K, V, oracle=reference)


def test_scores_and_shares_are_changed() -> None:
    given = flex(score_mod=changing("Mul", 2.0), prob_mod=changing("Add", 0.25))
    agree(given, Q, K, V, oracle=reference)


def test_half_precision_goes_through_float32() -> None:
    half = [one.astype("float16") for one in (Q, K, V)]
    agree(flex(dtype="float16"), *half, oracle=reference, atol=2e-3)


def test_names_stay() -> None:
    names = [("b", 4, "n", 8), ("b", 2, "m", 8), ("b", 2, "m", 6)]
    given = flex(names=names, score_mod=changing("Add", 1.0))
    assert main_type(from_onnx(given)[0]) == "Tensor[(b, 4, n, 6), float32]"
    agree(given, Q, K, V, oracle=reference)


def test_graphs_make_one_tensor_of_one() -> None:
    graph = changing("Add", 1.0)
    graph.output.append(graph.output[0])
    with pytest.raises(FrontendError, match="one tensor"):
        from_onnx(flex(score_mod=graph))


# --- what functions of the standard define


@pytest.mark.parametrize("named", [False, True])
def test_linear_attention(named: bool) -> None:
    inputs = [floats(2, 5, 16), floats(2, 5, 8), floats(2, 5, 12)]
    decay, rate = -np.abs(floats(2, 5, 2)), np.abs(floats(2, 5, 2))
    widths = {0: 16, 1: 8, 2: 12, 4: 2, 5: 2}
    shapes = {place: ("b", "t", width) for place, width in widths.items()} if named else None
    given = model(
        "LinearAttention",
        *inputs,
        None,
        decay,
        rate,
        opset=27,
        outputs=2,
        shapes=shapes,
        q_num_heads=4,
        kv_num_heads=2,
    )
    if named:
        found = main_type(from_onnx(given)[0])
        assert found == "(Tensor[(b, t, 24), float32], Tensor[(b, 2, 4, 6), float32])"
    agree(given, *inputs, decay, rate, oracle=reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("named", [False, True])
def test_convolutions_that_only_look_back(named: bool) -> None:
    inputs = [floats(2, 4, 6), floats(4, 1, 3), floats(4), floats(2, 4, 2)]
    shapes: Any = {0: ("b", 4, "t"), 3: ("b", 4, 2)} if named else None
    given = model(
        "CausalConvWithState", *inputs, opset=27, outputs=2, shapes=shapes, activation="silu"
    )
    agree(given, *inputs, oracle=reference)
