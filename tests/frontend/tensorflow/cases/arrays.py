"""Arrays to make test cases of: random elements, and constants."""

from typing import Any

import numpy as np

from tests.frontend.tensorflow.models import held

RANDOM = np.random.default_rng(17)


def reals(*shape: int, low: float = -3.0, high: float = 3.0, dtype: str = "float32") -> Any:
    return RANDOM.uniform(low, high, shape).astype(dtype)


def whole(*shape: int, dtype: str = "int32", low: int = -9, high: int = 10) -> Any:
    return RANDOM.integers(low, high, shape).astype(dtype)


def truth(*shape: int) -> Any:
    return RANDOM.integers(0, 2, shape).astype("bool")


def numbers(*values: int, dtype: str = "int32") -> Any:
    return held(np.array(values, dtype))


def scalar(value: Any, dtype: str = "int32") -> Any:
    return held(np.array(value, dtype))
