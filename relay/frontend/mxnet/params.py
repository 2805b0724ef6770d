"""Files of parameters of MXNet: named arrays, read from their format.

list marker, reserved, number of arrays; per array: marker, storage, shape, device, element type,
elements; then the names.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import ml_dtypes
import numpy as np

from relay.errors import FrontendError

LIST = 0x112
FIRST, SECOND, THIRD = 0xF993FAC8, 0xF993FAC9, 0xF993FACA  # markers of arrays by version
MOST_AXES = 32
MOST_ARRAYS = 1 << 20
LONGEST_NAME = 1 << 16
TYPES: Final[dict[int, np.dtype]] = {
    0: np.dtype("float32"), 1: np.dtype("float64"), 2: np.dtype("float16"), 3: np.dtype("uint8"),
    4: np.dtype("int32"), 5: np.dtype("int8"), 6: np.dtype("int64"), 7: np.dtype("bool"),
    8: np.dtype("int16"), 9: np.dtype("uint16"), 10: np.dtype("uint32"), 11: np.dtype("uint64"),
    12: np.dtype(ml_dtypes.bfloat16),
}  # fmt: skip


def broken(message: str, found: object = None) -> FrontendError:
    shown = None if found is None else str(found)[:80]
    return FrontendError.of(f"the file of parameters is broken: {message}", found=shown)


@dataclass
class Bytes:
    """The bytes of a file, read from the front; nothing is read beyond its end."""

    data: bytes
    place: int = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.place + count > len(self.data):
            raise broken("it ends too early")
        self.place += count
        return self.data[self.place - count : self.place]

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0])


def read(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of a file by name, which says their kind: `arg:` or `aux:`."""
    given = Bytes(data)
    if given.number("Q") != LIST:
        raise broken("it does not begin as one", data[:8])
    given.take(8)
    count = given.number("Q")
    if count > MOST_ARRAYS:
        raise broken("it has too many arrays", count)
    arrays = [_array(given) for _ in range(count)]
    names = given.number("Q")
    if names not in (0, count):
        raise broken("it has other names than arrays", names)
    found: dict[str, np.ndarray] = {}
    for place in range(count):
        name = _name(given) if names else str(place)
        if name in found:
            raise broken("a name occurs twice", name)
        found[name] = arrays[place]
    return found


def _name(given: Bytes) -> str:
    length = given.number("Q")
    if length > LONGEST_NAME:
        raise broken("a name is too long")
    try:
        return given.take(length).decode()
    except UnicodeDecodeError:
        raise broken("a name is no text") from None


def _array(given: Bytes) -> np.ndarray:
    marker = given.number("I")
    if marker in (SECOND, THIRD):
        storage = given.number("i")
        if storage not in (0, -1):
            raise broken("an array is sparse, not dense")
        shape = _shape(given, given.number("i" if marker == THIRD else "I"), "q")
    elif marker == FIRST:
        shape = _shape(given, given.number("I"), "q")
    else:  # the oldest form, which has no marker
        shape = _shape(given, marker, "I")
    if not shape and marker != THIRD:
        raise broken("an array has no shape")
    given.take(8)  # the device
    kind = given.number("i")
    if kind not in TYPES:
        raise broken("an array has elements that Relay does not have", kind)
    dtype, count = TYPES[kind], prod(shape)
    elements = given.take(count * dtype.itemsize)
    return np.frombuffer(elements, dtype).reshape(shape)


def _shape(given: Bytes, axes: int, kind: str) -> Sequence[int]:
    if not 0 <= axes <= MOST_AXES:
        raise broken("an array has too many axes", axes)
    shape = [given.number(kind) for _ in range(axes)]
    if any(one < 0 for one in shape):
        raise broken("an array has an open shape", shape)
    return shape
