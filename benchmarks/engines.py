"""ONNX Runtime and OpenVINO with the usual settings for latency on a number of threads.

session = onnx_session(model, threads)              an ONNX model
run = onnx_runtime(module, inputs, threads)         a PyTorch module; run() gives all results
run = openvino(module, inputs, threads)
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch


def onnx_session(model: bytes | str, threads: int) -> Any:
    """A session for the bytes or the file of a model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 4  # fatal errors only
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def in_onnx_runtime(
    module: torch.nn.Module, inputs: Sequence[torch.Tensor], threads: int
) -> Callable[[], Any]:
    names = [f"input_{i}" for i in range(len(inputs))]
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter without further dependencies is deprecated
        torch.onnx.export(module, tuple(inputs), file, dynamo=False, input_names=names)
    session = onnx_session(file.getvalue(), threads)
    feed = {name: x.numpy() for name, x in zip(names, inputs, strict=True)}
    return lambda: session.run(None, feed)


def in_openvino(
    module: torch.nn.Module, inputs: Sequence[torch.Tensor], threads: int
) -> Callable[[], Any]:
    import openvino

    logging.getLogger("openvino").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = openvino.convert_model(module, example_input=tuple(inputs))
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": "1",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = openvino.compile_model(model, "CPU", settings).create_infer_request()
    given = {i: x.numpy() for i, x in enumerate(inputs)}
    return lambda: request.infer(given, share_inputs=True)
