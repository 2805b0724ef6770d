"""The syntax of instructions: their text form, and how they use registers.

    @instruction("<output:new> = view <input:read><sizes:sizes><where:where>")

`<field:kind>` is a field of the record; everything else is literal text. The kinds:

    new, news             registers it writes, with their types
    read, reads, listed   registers it borrows (`relay.program.uses`)
    sizes                 the same, for dynamic dimensions: ` [%1, %2]`, or nothing
    give, gives           registers it consumes: ownership is transferred
    arguments             the same, or nothing
    value                 the same, in nested tuples
    outputs               the outputs of a kernel: tensors are borrowed, scalars written
    texts, cases          of `RequireEqual` and `Switch`, which fill several fields

The others are names, strings, numbers and blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, get_args

from relay.program.program import Instruction

_PIECE: Final = re.compile(r"<(?P<field>\w+):(?P<kind>\w+)>|(?P<text>[^<]+)")
_TOKEN: Final = re.compile(r"->|\w+|[^\s\w]")

BORROWED: Final = frozenset({"read", "reads", "listed", "sizes", "outputs", "texts"})
CONSUMED: Final = frozenset({"give", "gives", "arguments", "value"})
WRITTEN: Final = frozenset({"new", "news"})
ONE: Final = ("new", "read", "give")  # kinds of a single register


class Field(NamedTuple):
    """A field of an instruction, and its kind."""

    name: str
    kind: str


@cache
def pieces(instruction: type) -> tuple[Field | str, ...]:
    """The fields and literal text of an instruction."""
    found = _PIECE.finditer(instruction.syntax)  # type: ignore[attr-defined]
    return tuple(one["text"] or Field(one["field"], one["kind"]) for one in found)


class Form(NamedTuple):
    """How an instruction is parsed: outputs and `=` if it has any, a keyword if it has one, then
    tokens and fields."""

    instruction: type
    output: Field | None
    word: str
    rest: tuple[Field | str, ...]

    @property
    def calls_by_name(self) -> bool:
        """Whether it calls a function by name."""
        return any(isinstance(one, Field) and one.kind == "function" for one in self.rest)


@cache
def forms() -> Mapping[str, tuple[Form, ...]]:
    """The forms of all instructions, by the kind of their outputs (or "") and their keyword."""
    made: dict[str, tuple[Form, ...]] = {}
    for instruction in get_args(Instruction):
        parts: list[Any] = []
        for piece in pieces(instruction):
            parts += [piece] if isinstance(piece, Field) else _TOKEN.findall(piece)
        output = parts.pop(0) if isinstance(parts[0], Field) else None
        if output is not None:
            parts.pop(0)  # the `=`
        word = parts.pop(0) if isinstance(parts[0], str) else ""
        form = Form(instruction, output, word, tuple(parts))
        key = f"{output.kind if output else ''} {word}"
        made[key] = (*made.get(key, ()), form)
    return made
