"""Element types, shapes and constant tensors.

DT_FLOAT              float32
DT_FLOAT_REF          float32
DT_COMPLEX64          float32, with a trailing axis of 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import ml_dtypes
import numpy as np

from relay.errors import FrontendError
from relay.frontend.tensorflow.wire import Message, broken

NAMES: Mapping[int, str] = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    11: "int8",
    12: "uint8",
    13: "int32",
    14: "bfloat16",
    15: "int16",
    16: "uint16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
}
REFERENCE = 100  # is added to the code of a type for a reference to such a tensor
PARTS: Mapping[str, str] = {"complex64": "float32", "complex128": "float64"}
HANDLES = frozenset({"resource", "variant"})
MOST_BYTES = 1 << 28  # of a constant that is written as one number
MOST_AXES = 64

Shape = tuple[int, ...]  # -1 for a dynamic extent


def type_name(code: int) -> str:
    """The name of an element type."""
    return NAMES.get(code - REFERENCE if code > REFERENCE else code, f"type {code}")


def element_type(name: str) -> str:
    """The type of the elements of tensors of Relay, for complex numbers that of their parts."""
    name = PARTS.get(name, name)
    if name in HANDLES or name == "string" or name.startswith("type "):
        raise FrontendError.of("there are elements that Relay does not have", found=name)
    return name


def shape_of(message: Message | None) -> Shape | None:
    """A shape; None if the rank is unknown."""
    if message is None or message.integer(3):
        return None
    found = tuple(one.integer(1) for one in message.messages(2))
    if len(found) > MOST_AXES or min(found, default=0) < -1:
        raise broken(f"there is an impossible shape, {str(found)[:80]}")
    return found


# the fields of a tensor that hold numbers of fixed size, and the integers of variable size
_FIXED = {"float32": (5, "<f4"), "float64": (6, "<f8"), "complex64": (9, "<f4")}
_FIXED |= {"complex128": (12, "<f8")}
_INTEGERS = {"int64": 10, "bool": 11, "uint32": 16, "uint64": 17, "float16": 13, "bfloat16": 13}
_OTHERS = 7
_BITS = ("float16", "bfloat16")


def tensor_of(message: Message) -> np.ndarray:
    """The elements of a tensor; complex ones as pairs."""
    name = type_name(message.integer(1))
    shape = shape_of(message.message(2))
    if shape is None or min(shape, default=0) < 0:
        raise broken("a constant has no shape")
    dtype = numpy_type(name)
    whole = (*shape, 2) if name in PARTS else shape
    count = prod(whole)
    content = message.raw(4)
    if len(content):
        if len(content) != count * dtype.itemsize:
            sizes = f"{len(content)} bytes for {whole}"
            raise broken(f"a constant has data of another size than its shape, {sizes}")
        found = np.frombuffer(content, dtype)
        return found.reshape(whole)
    given = _listed(message, name).astype(dtype, copy=False)
    return _filled(given, whole, count, 2 if name in PARTS else 1)


def _listed(message: Message, name: str) -> np.ndarray:
    """The elements that are listed."""
    if name in _FIXED:
        number, kind = _FIXED[name]
        return message.numbers(number, kind)
    listed = message.integers(_INTEGERS.get(name, _OTHERS))
    if name in _BITS:
        bits = np.array([one & 0xFFFF for one in listed], "uint16")
        return bits.view(numpy_type(name))
    wide = np.array([one & (1 << 64) - 1 for one in listed], "uint64")
    return wide.view("int64")


def _filled(given: np.ndarray, shape: Sequence[int], count: int, unit: int) -> np.ndarray:
    """The listed elements, the last one repeated to the full size."""
    if given.size > count:
        raise broken("a constant has more elements than its shape")
    if given.size < count and count * given.dtype.itemsize > MOST_BYTES:
        message = f"a constant of {tuple(shape)} is too large"
        raise FrontendError.of(message, expected=f"{MOST_BYTES} bytes at most")
    if given.size % unit:
        raise broken("a complex constant ends inside of a number")
    if not given.size:
        return np.zeros(tuple(shape), given.dtype)
    last = given[-unit:]
    rest = np.tile(last, (count - given.size) // unit)
    return np.concatenate([given, rest]).reshape(tuple(shape))


def numpy_type(name: str) -> np.dtype:
    """The type of elements in a file."""
    name = element_type(name)
    special = getattr(ml_dtypes, name, None) if name.startswith(("bfloat", "float8")) else None
    return np.dtype(name if special is None else special)
