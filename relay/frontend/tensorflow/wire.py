"""Messages of protocol buffers, read from their wire format.

    node = Message(data, Budget())
    node.text(1), node.texts(3), node.message(5)

A message is a row of fields: a number, a kind and a value. Parts are read when they are asked for,
so that a file of any size costs no more than what is used of it. All fields that are read count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted

MOST_FIELDS = 1 << 23  # that are read of a model
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Value = int | memoryview


@dataclass
class Budget:
    """The number of fields that may still be read."""

    left: int = MOST_FIELDS

    def take(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise broken("it has too many parts")


class Message:
    """The fields of a message, by number."""

    def __init__(self, data: bytes | memoryview, budget: Budget) -> None:
        self.data, self.budget = memoryview(data), budget
        self._fields: dict[int, list[Value]] | None = None

    def all(self, number: int) -> list[Value]:
        """The values of a field, in order."""
        if self._fields is None:
            self._fields = {}
            for key, value in self._read():
                self._fields.setdefault(key, []).append(value)
        return self._fields.get(number, [])

    def has(self, number: int) -> bool:
        return bool(self.all(number))

    def _read(self) -> Iterator[tuple[int, Value]]:
        data, place = self.data, 0
        while place < len(data):
            self.budget.take()
            tag, place = varint(data, place)
            number, kind = tag >> 3, tag & 7
            value: Value
            if kind == VARINT:
                value, place = varint(data, place)
            else:
                size = {FIXED64: 8, FIXED32: 4}.get(kind, 0)
                if kind == BYTES:
                    size, place = varint(data, place)
                elif not size:
                    raise broken(f"a field has the unknown kind {kind}")
                if size > len(data) - place:
                    raise broken("it ends inside of a field")
                value, place = data[place : place + size], place + size
            if not number:
                raise broken("a field has the number 0")
            yield number, value

    # --- single values

    def raw(self, number: int) -> memoryview:
        """The bytes of a field; none where it is left out."""
        found = self.all(number)
        return self._bytes(found[-1]) if found else memoryview(b"")

    def text(self, number: int) -> str:
        return bytes(self.raw(number)).decode("utf-8", "backslashreplace")

    def integer(self, number: int, default: int = 0) -> int:
        """A signed integer."""
        found = self.all(number)
        if not found:
            return default
        if not isinstance(found[-1], int):
            raise broken("a field is no integer")
        return signed(found[-1])

    def real(self, number: int) -> float:
        found = self.raw(number)
        if len(found) not in (0, 4):
            raise broken("a field is no number of 32 bits")
        return float(struct.unpack("<f", found)[0]) if found else 0.0

    def message(self, number: int) -> Message | None:
        """A message inside; None where it is left out."""
        found = self.all(number)
        return Message(self._bytes(found[-1]), self.budget) if found else None

    # --- repeated values

    def texts(self, number: int) -> list[str]:
        found = (self._bytes(one) for one in self.all(number))
        return [bytes(one).decode("utf-8", "backslashreplace") for one in found]

    def messages(self, number: int) -> list[Message]:
        return [Message(self._bytes(one), self.budget) for one in self.all(number)]

    def entries(self, number: int) -> dict[str, Message]:
        """A map from texts to messages."""
        found: dict[str, Message] = {}
        for one in self.messages(number):
            found[one.text(1)] = one.message(2) or Message(b"", self.budget)
        return found

    def mapping(self, number: int) -> dict[str, str]:
        """A map from texts to texts."""
        return {one.text(1): one.text(2) for one in self.messages(number)}

    def integers(self, number: int) -> list[int]:
        """Integers, packed or one by one."""
        found: list[int] = []
        for one in self.all(number):
            if isinstance(one, int):
                found.append(signed(one))
                continue
            place = 0
            while place < len(one):
                self.budget.take()
                value, place = varint(one, place)
                found.append(signed(value))
        return found

    def numbers(self, number: int, dtype: str) -> np.ndarray:
        """Numbers of a fixed size, packed or one by one."""
        size = np.dtype(dtype).itemsize
        parts = [self._bytes(one) for one in self.all(number)]
        if any(len(one) % size for one in parts):
            raise broken("a list of numbers ends inside of one")
        return np.frombuffer(b"".join(parts), dtype)

    def _bytes(self, value: Value) -> memoryview:
        if isinstance(value, int):
            raise broken("a field is an integer")
        return value


def varint(data: memoryview, place: int) -> tuple[int, int]:
    """An unsigned integer of variable length, and the place behind it."""
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise broken("it ends inside of a number" if shift <= 63 else "a number is too long")
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, place
        shift += 7


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def broken(what: str) -> FrontendError:
    """The error about a file that is no model."""
    return FrontendError.of(f"the model is broken: {what}")


def missing(what: str, name: str) -> FrontendError:
    return FrontendError.of(f"the model is broken: there is no {what} {quoted(name)}")
