"""Models that nobody has written, through the compiler and through ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.frontend.onnx.judge import ours, reference, runtime
from tests.frontend.onnx.random_models.models import random_model

T = TypeVar("T")

# Relative to the largest number of a result: what is lost in a dozen steps.
TOLERANCES = {"float16": 2e-2, "float32": 5e-4, "float64": 1e-5}


class Drawn:
    """Decisions of hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def choice(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def number(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))


# Where the reference of the standard is not what the standard says: the operator, the first version
# of which it is right (None: none), and what is wrong. Such a model has no judge where ONNX Runtime
# has no code for it; it has to run all the same.
EXPLAINED = {
    "Loop": (None, "rows that are scalars get an axis too many, or cannot be put together"),
    "Softmax": (13, "axes after the one that is named are not taken together"),
    "LogSoftmax": (13, "axes after the one that is named are not taken together"),
    "Softsign": (None, "scalars are not written to"),
}


def judged(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any] | None:
    """What ONNX Runtime says; the reference of the standard where it has no code for a type."""
    lacks = onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented
    try:
        return runtime(model, *inputs)
    except lacks:
        pass
    version = model.opset_import[0].version
    for node in model.graph.node:
        right_since, _ = EXPLAINED.get(node.op_type, (0, ""))
        if right_since is None or version < right_since:
            return None
    return reference(model, *inputs)


def check(model: onnx.ModelProto, inputs: Sequence[Any]) -> None:
    onnx.checker.check_model(model)
    theirs = judged(model, inputs)
    mine = ours(model, *inputs)
    if theirs is None:
        return
    for one, other in zip(mine, theirs, strict=True):
        left, right = np.asarray(one), np.asarray(other)
        assert (left.shape, left.dtype) == (right.shape, right.dtype)
        if left.dtype.kind in "biu":
            np.testing.assert_array_equal(left, right)
            continue
        near = TOLERANCES[left.dtype.name]
        most = max(1.0, float(np.abs(right.astype("float64")).max(initial=0)))
        np.testing.assert_allclose(
            left.astype("float64"), right.astype("float64"), rtol=near, atol=near * most
        )


FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@given(st.data())
@FEW
def test_a_few_agree_with_onnx_runtime(data: st.DataObject) -> None:
    check(*random_model(Drawn(data)))


@pytest.mark.full
@given(st.data())
@settings(FEW, max_examples=500, phases=[Phase.generate, Phase.shrink])
def test_five_hundred_agree_with_onnx_runtime(data: st.DataObject) -> None:
    check(*random_model(Drawn(data)))
