"""Softmax of narrow floats: rounded at every step, to the last bit what the reference gives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.frontend.onnx.oracle import agree, model, reference

RANDOM = np.random.default_rng(23)


@pytest.mark.parametrize(
    ("dtype", "axis"), [(np.float16, -1), (ml_dtypes.bfloat16, -1), (ml_dtypes.bfloat16, 0)]
)
def test_steps_are_rounded(dtype: type, axis: int) -> None:
    data = RANDOM.standard_normal((5, 6)).astype(dtype)
    agree(model("Softmax", data, opset=13, axis=axis), data, oracle=reference, rtol=0, atol=0)


def test_lengths_may_have_names() -> None:
    data = RANDOM.standard_normal((2, 5)).astype(ml_dtypes.bfloat16)
    given = model("Softmax", data, opset=13, shapes={0: (2, "n")})
    agree(given, data, oracle=reference, rtol=0, atol=0)
