"""A network as ONNX Runtime's quantizer writes it, beside ONNX Runtime."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

from relay.analysis import list_op_freqs
from relay.frontend.onnx.importer import from_onnx
from relay.pipeline import optimize
from tests.frontend.onnx.oracle import ours, runtime

SHAPE = (1, 3, 16, 16)


def network() -> onnx.ModelProto:
    """Convolutions with and without groups, a sum of two branches, pools, a gate, a classifier."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.normal(size=shape) * 0.2).astype("float32"), name)

    round_ = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], strides=[2, 2], **round_),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "wd", "bd"], ["cd"], group=8, **round_),
        helper.make_node("Clip", ["cd", "low", "high"], ["rd"]),
        helper.make_node("Conv", ["rd", "w2", "b2"], ["c2"]),
        helper.make_node("Add", ["c2", "p1"], ["a"]),
        helper.make_node("Relu", ["a"], ["ra"]),
        helper.make_node("Sigmoid", ["ra"], ["s"]),
        helper.make_node("Mul", ["s", "ra"], ["m"]),
        helper.make_node("Concat", ["m", "ra"], ["j"], axis=1),
        helper.make_node("GlobalAveragePool", ["j"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "wg", "bg"], ["y"], transB=1),
    ]
    weights = [
        weight("w1", 8, 3, 3, 3),
        weight("b1", 8),
        weight("wd", 8, 1, 3, 3),
        weight("bd", 8),
        weight("w2", 8, 8, 1, 1),
        weight("b2", 8),
        weight("wg", 5, 16),
        weight("bg", 5),
        numpy_helper.from_array(np.float32(0), "low"),
        numpy_helper.from_array(np.float32(6), "high"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5))],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Samples(quantization.CalibrationDataReader):
    """What the quantizer looks at to find ranges."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.left: Iterator[Any] = iter(
            [{"x": rng.normal(size=SHAPE).astype("float32")} for _ in range(4)]
        )

    def get_next(self) -> Any:
        return next(self.left, None)


def quantized(folder: Path, form: str, activation: str, weight: str) -> onnx.ModelProto:
    plain, result = folder / "plain.onnx", folder / "quantized.onnx"
    onnx.save(network(), plain)
    logging.disable(logging.WARNING)
    try:
        quantization.quantize_static(
            plain,
            result,
            Samples(),
            quant_format=getattr(quantization.QuantFormat, form),
            activation_type=getattr(quantization.QuantType, activation),
            weight_type=getattr(quantization.QuantType, weight),
            per_channel=activation == "QInt8",
            # without VNNI the oracle makes others unsigned, for which it has no matrix product
            reduce_range=form == "QOperator" and activation == "QInt8",
        )
    finally:
        logging.disable(logging.NOTSET)
    return onnx.load(result)


@pytest.mark.parametrize(
    ("form", "activation", "weight", "steps"),
    [
        ("QOperator", "QUInt8", "QInt8", 0),
        ("QDQ", "QInt8", "QInt8", 1),
        pytest.param("QOperator", "QInt8", "QInt8", 0, marks=pytest.mark.full),
        pytest.param("QOperator", "QUInt8", "QUInt8", 0, marks=pytest.mark.full),
        pytest.param("QDQ", "QUInt8", "QInt8", 1, marks=pytest.mark.full),
        pytest.param("QDQ", "QUInt8", "QUInt8", 1, marks=pytest.mark.full),
    ],
)
def test_results_are_those_of_onnx_runtime(
    tmp_path: Path, form: str, activation: str, weight: str, steps: int
) -> None:
    given = quantized(tmp_path, form, activation, weight)
    scales = {one.name: numpy_helper.to_array(one) for one in given.graph.initializer}
    step = float(scales["y_scale"])
    rng = np.random.default_rng(2)
    x = rng.normal(size=SHAPE).astype("float32")
    (mine,), (theirs,) = ours(given, x), runtime(given, x)
    assert np.abs(np.asarray(mine) - theirs).max() <= steps * step * 1.01


def test_nothing_is_left_on_floats(tmp_path: Path) -> None:
    module, _ = from_onnx(quantized(tmp_path, "QDQ", "QUInt8", "QInt8"))
    found = list_op_freqs(optimize(module)[0])
    # at the beginning and at the end there are numbers
    assert found["qnn.quantize"] == found["qnn.dequantize"] == 1
    assert not {"sigmoid", "mean", "nn.relu", "qnn.conv2d", "qnn.dense"} & found.keys()
