"""Models that Relay has written, in the hands of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

# Element types that NumPy and ONNX Runtime both have.
KNOWN = {*range(1, 8), 9, 10, 11, 12, 13}
# What ONNX Runtime says when it lacks code for an operator in a type, or for tensors of nothing.
LACKING = (
    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)


class NoJudge(Exception):
    """Neither ONNX Runtime nor the reference of the standard runs a model; what they say of it."""


def run(model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime gives, or the reference of the standard where it has no code for that."""
    names = [one.name for one in model.graph.input]
    given = dict(zip(names, inputs, strict=True))
    types = [*model.graph.input, *model.graph.output]
    first = "ONNX Runtime, or NumPy, has no such elements"
    if all(one.type.tensor_type.elem_type in KNOWN for one in types):
        try:
            return in_runtime(model, given)
        except LACKING as error:
            first = str(error)
    try:
        found = ReferenceEvaluator(model).run(None, given)
    except (TypeError, RuntimeError, NotImplementedError, ValueError, AssertionError) as error:
        raise NoJudge(f"{first}; the reference: {error}") from error
    if any(one is None for one in found):
        raise NoJudge(f"{first}; the reference: nothing")
    return [np.asarray(one) for one in found]


def in_runtime(model: onnx.ModelProto | str, given: dict[str, Any]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # it should do what is written, and nothing clever
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    source = model if isinstance(model, str) else model.SerializeToString()
    return list(onnxruntime.InferenceSession(source, options).run(None, given))
