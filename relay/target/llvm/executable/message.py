"""The values of one call on their way into a native program (`relay.native.exchange`).

A reader turns a value into the word that stands for it: a scalar is the word itself, everything
else an entry of the message, which is written at once or has to wait. So values nest as deep as
they like, and nothing recurses.
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

INDEX: Final = 256  # an entry begins with its kind and its index

# A value, as the word that stands for it; what it needs besides is added to the message.
Read = Callable[[Any, "Message"], int]


class Entry(Protocol):
    """What knows how to write an entry."""

    @property
    def write(self) -> Callable[[Sequence[Any], int, Message], None]:
        """Write one, given its fields and its index."""

    def blame(self, error: Mismatch, fields: Sequence[Any]) -> None:
        """Note which of the fields is wrong."""


class Message:
    """The values of one call, being written down."""

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
        self.argument = ""  # the name of the one that is read now
        self.words: list[int] = []  # the entries
        self.count = 0  # how many there are, or will be
        # Entries, those that wait and those that are written: what they were made of lives as long
        # as the message, so that identities stay those of different things.
        self.pending: list[tuple[Entry, Sequence[Any], int]] = []
        self.written = 0
        self.held: list[Any] = []  # what else must live as long
        self.seen: dict[tuple[int, int], int] = {}  # (reader, identity) -> word
        self.cells: list[tuple[RefValue, int, ReferenceSpec]] = []  # and their indices
        self.bindings: dict[str, tuple[int, str]] = {}  # sizes by name, and where they were found

    def finish(self) -> None:
        """Write what waits, and what that needs, and so on."""
        pending, written = self.pending, self.written
        if len(pending) == written:
            return
        entry, fields = pending[0][:2]
        try:
            # the list grows while it is gone through
            for entry, fields, index in islice(pending, written, None):
                entry.write(fields, index, self)
        except Mismatch as error:
            entry.blame(error, fields)
            raise
        self.written = len(pending)


class Mismatch(Exception):
    """A value is not of the type that is wanted. Where it is, those who asked for it add."""

    def __init__(self, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found
        self.hint = hint
        self.places: list[str] = []  # innermost first


def refusal(error: Mismatch, name: str) -> EvaluationError:
    """What is wrong with an argument, for whoever gave it."""
    where = ", ".join([f"argument `{name}`", *reversed(error.places)])
    return EvaluationError.of(
        f"wrong value in {where}", None, error.expected, error.found, error.hint
    )


def describe(value: Any) -> str:
    """What a value is, in the words of types."""
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
