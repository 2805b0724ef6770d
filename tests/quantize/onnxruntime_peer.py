"""ONNX Runtime's own quantizer, as the peer: static, QDQ, a scale for each output channel."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

import relay


class _Reader:
    def __init__(self, batches):
        self._batches = iter(batches)

    def get_next(self):
        return next(self._batches, None)


def quantized_by_onnxruntime(mod, batches, folder: Path, **options) -> Path:
    """The path of the model that ONNX Runtime makes of a program."""
    from onnxruntime import quantization

    plain, prepared, made = (folder / f"{name}.onnx" for name in ("plain", "prepared", "int8"))
    import onnx

    onnx.save(relay.to_onnx(mod), plain)
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        quantization.shape_inference.quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            str(prepared),
            str(made),
            _Reader([{"data": batch} for batch in batches]),
            **{"per_channel": True, "weight_type": quantization.QuantType.QInt8, **options},
        )
    finally:
        root.setLevel(before)
    return made


def outputs(path: Path, batches) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # its optimizer makes models that it refuses, of average pools for one
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return [session.run(None, {"data": batch})[0] for batch in batches]
