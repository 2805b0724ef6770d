"""Flatbuffers that nobody has verified: every access is checked before it is made.

The classes that the schema compiler writes (package `tflite`) read through `Checked` tables, which
refuse what lies outside of the file. The steps are counted: tables may be shared, so that a small
file can describe a model of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from flatbuffers import encode
from flatbuffers import number_types as numbers
from flatbuffers.table import Table

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted

MOST_STEPS = 1 << 23  # of reading one file
LONGEST_NAME = 1 << 16


@dataclass
class Steps:
    """The number of reads of a file that are left."""

    left: int = MOST_STEPS

    def take(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise FrontendError.of("the model is broken: its parts refer to each other too often")


def outside() -> FrontendError:
    return FrontendError.of("the model is broken: a part of it lies outside of the file")


class Checked(Table):  # type: ignore[misc, unused-ignore]
    """A table of a flatbuffer, of which no access leaves the file."""

    __slots__ = ("steps",)

    def __init__(self, data: Any, place: int, steps: Steps) -> None:
        super().__init__(data, place)
        self.steps = steps
        if not 0 <= place <= len(data) - 4:
            raise outside()

    def Get(self, flags: Any, off: int) -> Any:
        self.steps.take()
        if not 0 <= off <= len(self.Bytes) - flags.bytewidth:
            raise outside()
        return flags.py_type(encode.Get(flags.packer_type, self.Bytes, off))

    def Indirect(self, off: int) -> int:
        return int(off + self.Get(numbers.UOffsetTFlags, off))

    def Vector(self, off: int) -> int:
        return self.Indirect(off + self.Pos) + 4

    def VectorLen(self, off: int) -> int:
        count = int(self.Get(numbers.UOffsetTFlags, self.Indirect(off + self.Pos)))
        if count > len(self.Bytes):
            raise outside()
        return count

    def String(self, off: int) -> bytes:
        start = self.Indirect(off)
        count = int(self.Get(numbers.UOffsetTFlags, start))
        if start + 4 + count > len(self.Bytes):
            raise outside()
        if count > LONGEST_NAME:
            raise FrontendError.of("the model is broken: a name in it is too long")
        return bytes(self.Bytes[start + 4 : start + 4 + count])

    def Union(self, other: Table, off: int) -> None:
        other.Pos = self.Indirect(off + self.Pos)
        other.Bytes = self.Bytes

    def GetVectorAsNumpy(self, flags: Any, off: int) -> np.ndarray:
        count, start = self.VectorLen(off), self.Vector(off)
        dtype = np.dtype(flags.packer_type.format)
        self.steps.take(count >> 10)
        if start + count * dtype.itemsize > len(self.Bytes):
            raise outside()
        return np.frombuffer(self.Bytes, dtype, count, start)


def checked(part: Any, steps: Steps) -> Any:
    """A part of a model, read through a checked table."""
    part._tab = Checked(part._tab.Bytes, part._tab.Pos, steps)
    return part


def parts(of: Any, name: str) -> list[Any]:
    """The tables in a vector of tables."""
    steps: Steps = of._tab.steps
    get: Callable[[int], Any] = getattr(of, name)
    return [checked(get(place), steps) for place in range(getattr(of, f"{name}Length")())]


def part(of: Any, name: str) -> Any:
    """A table in a table, None where there is none."""
    found = getattr(of, name)()
    return None if found is None else checked(found, of._tab.steps)


def vector(of: Any, name: str) -> np.ndarray:
    """A vector of numbers, empty where there is none."""
    if not getattr(of, f"{name}Length")():
        return np.zeros(0, "int64")
    found: np.ndarray = getattr(of, f"{name}AsNumpy")()
    return found


def text(given: bytes | None) -> str:
    """A name."""
    try:
        return (given or b"").decode()
    except UnicodeDecodeError:
        message = "the model is broken: a name in it is no text"
        shown = repr((given or b"")[:40])
        raise FrontendError.of(message, expected="UTF-8", found=shown) from None


def union(kind: type, table: Table, steps: Steps) -> dict[str, Any]:
    """The fields of a table of a kind: numbers, truth values, texts and vectors of numbers."""
    whole = kind()
    whole._tab = Checked(table.Bytes, table.Pos, steps)
    found: dict[str, Any] = {}
    for field, name, is_vector in _fields(kind):
        if is_vector:
            found[name] = vector(whole, field).tolist()
            continue
        value = getattr(whole, field)()
        if isinstance(value, bytes):
            found[name] = text(value)
        elif isinstance(value, bool | int | float):
            found[name] = value
    return found


@cache
def _fields(kind: type) -> Sequence[tuple[str, str, bool]]:
    """The fields of a table: the methods that read them, their names, and which are vectors."""
    names = {name for name in vars(kind) if name[0].isupper() and not name.startswith("GetRoot")}
    found = []
    for name in sorted(names - {"Init"}):
        is_vector = f"{name}AsNumpy" in names
        is_more = any(name.endswith(end) for end in ("AsNumpy", "IsNone", "BufferHasIdentifier"))
        is_length = name.endswith("Length") and name.removesuffix("Length") in names
        if is_more or is_length or (f"{name}Length" in names and not is_vector):
            continue
        found.append((name, _with_underscores(name), is_vector))
    return found


def _with_underscores(name: str) -> str:
    """`stride_w` for `StrideW`."""
    letters = [f"_{one.lower()}" if one.isupper() else one for one in name]
    return "".join(letters).removeprefix("_")


def refused_kind(what: str, code: int) -> FrontendError:
    """The error about a number that the schema does not name."""
    return FrontendError.of(f"the model has {what} that is not known", found=quoted(str(code)))
