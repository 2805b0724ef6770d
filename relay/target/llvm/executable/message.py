"""The encoded arguments of one call of a native program (`relay.native.exchange`).

A reader converts a value to a word: a scalar is the word itself, any other value an entry of the
message, which is written at once or queued. So values of any depth are encoded without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import numpy as np

from relay.errors import EvaluationError
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.nd import NDArray
from relay.program.program import ReferenceSpec

INDEX: Final = 256  # an entry begins with kind + INDEX * index

# Converts a value to a word, and adds its entries to the message.
Read = Callable[[Any, "Message"], int]


class Entry(Protocol):
    """Writes entries of a constructor, or of cells."""

    @property
    def write(self) -> Callable[[Sequence[Any], int, Message], None]:
        """Write an entry, given its fields and its index."""

    def locate(self, error: Mismatch, fields: Sequence[Any]) -> None:
        """Add the invalid field to the location of an error."""


class Message:
    """The encoded arguments of one call."""

    __slots__ = (
        "argument",
        "bindings",
        "cells",
        "count",
        "held",
        "pending",
        "seen",
        "words",
        "written",
    )

    def __init__(self) -> None:
        self.argument = ""  # the name of the current one
        self.words: list[int] = []  # the entries
        self.count = 0  # their number, with queued ones
        # All entries, written or queued; keeps their values alive, so that identities stay unique.
        self.pending: list[tuple[Entry, Sequence[Any], int]] = []
        self.written = 0
        self.held: list[Any] = []  # other values to keep alive
        self.seen: dict[tuple[int, int], int] = {}  # (reader, identity) -> word
        self.cells: list[tuple[RefValue, int, ReferenceSpec]] = []  # and their indices
        self.bindings: dict[str, tuple[int, str]] = {}  # dynamic sizes, and where they are from

    def finish(self) -> None:
        """Write all queued entries."""
        pending, written = self.pending, self.written
        if len(pending) == written:
            return
        entry, fields = pending[0][:2]
        try:
            # the list grows during iteration
            for entry, fields, index in islice(pending, written, None):
                entry.write(fields, index, self)
        except Mismatch as error:
            entry.locate(error, fields)
            raise
        self.written = len(pending)


class Mismatch(Exception):
    """A value has the wrong type. Callers add its location."""

    def __init__(self, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found
        self.hint = hint
        self.places: list[str] = []  # innermost first


def argument_error(error: Mismatch, name: str) -> EvaluationError:
    """The error for an invalid argument."""
    where = ", ".join([f"argument `{name}`", *reversed(error.places)])
    return EvaluationError.of(
        f"wrong value in {where}", None, error.expected, error.found, error.hint
    )


def describe(value: Any) -> str:
    """The type of a value, for errors."""
    match value:
        case NDArray():
            return describe(value.array)
        case np.ndarray() | np.generic():
            shape = f"[{', '.join(map(str, value.shape))}]" if value.shape else ""
            return f"{value.dtype.name}{shape}"
        case ConstructorValue():
            made = value.constructor
            return f"a {made.belong_to.name_hint} made by `{made.name_hint}`"
        case RefValue():
            return "a reference"
        case TupleValue() | tuple():
            return f"a tuple of {len(value)}"
        case list():
            return f"a list of {len(value)}"
        case bool() | int() | float():
            return f"the {type(value).__name__} {value}"
        case None:
            return "None"
    return f"a {type(value).__name__}"
