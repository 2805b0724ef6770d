"""Element types and constant data of tensors.

FLOAT32                  float32
INT4, two in a byte      int8
COMPLEX64                float32, with a trailing axis of 2
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import ml_dtypes
import numpy as np
import tflite

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted

CODES: Mapping[int, str] = {
    code: name for name, code in vars(tflite.TensorType).items() if not name.startswith("_")
}
ELEMENT_TYPES: Mapping[str, str] = {
    "FLOAT16": "float16",
    "BFLOAT16": "bfloat16",
    "FLOAT32": "float32",
    "FLOAT64": "float64",
    "INT4": "int8",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "COMPLEX64": "float32",
    "COMPLEX128": "float64",
}
COMPLEX = frozenset({"COMPLEX64", "COMPLEX128"})
RESOURCE = "RESOURCE"


def element_type(code: int, tensor: str) -> str:
    """The name of an element type, for complex numbers that of their parts."""
    kind = CODES.get(code, str(code))
    found = ELEMENT_TYPES.get(kind)
    if found is None:
        message = f"tensor {quoted(tensor)} has elements that Relay does not have"
        raise FrontendError.of(message, found=kind)
    return found


def numpy_type(code: int, tensor: str) -> np.dtype:
    """The type of the elements as they lie in a file."""
    name = element_type(code, tensor)
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def array_of(data: np.ndarray, code: int, shape: tuple[int, ...], tensor: str) -> np.ndarray:
    """The elements of a tensor that lie one after the other in a buffer of bytes."""
    kind, dtype = CODES.get(code, ""), numpy_type(code, tensor)
    if kind in COMPLEX:
        shape = (*shape, 2)
    count = prod(shape)
    size = (count + 1) // 2 if kind == "INT4" else count * dtype.itemsize
    if data.size != size:
        message = f"tensor {quoted(tensor)} has data of another size than its shape"
        expected, found = f"{size} bytes", f"{data.size} bytes"
        raise FrontendError.of(message, expected=expected, found=found)
    if kind == "INT4":
        return unpacked(data, count).reshape(shape)
    if kind == "BOOL":
        truth: np.ndarray = np.not_equal(data, 0)
        return truth.reshape(shape)
    return np.frombuffer(data.tobytes(), dtype).reshape(shape)


def unpacked(data: np.ndarray, count: int) -> np.ndarray:
    """Signed integers of 4 bits, the lower half of each byte first."""
    halves = np.stack([data & 15, data >> 4], axis=-1).reshape(-1)[:count].astype("int8")
    return np.where(halves > 7, halves - 16, halves).astype("int8")
