"""Literals, attribute values and references to the metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from relay.errors import RelayError
from relay.ir.attr_text import TYPE_KEY
from relay.ir.expr import Constant
from relay.ir.literals import SPECIAL, read_number, read_scalar
from relay.ir.metadata import MetadataReader
from relay.ir.names import KEYWORDS
from relay.nd import NDArray
from relay.parser.cursor import Cursor
from relay.parser.lexer import META, NAME, NUMERAL, QUOTED, STRING, Tokens

# Attributes are small data; deeper nesting is an attack, not a program.
MAX_NESTING: Final = 64

T = TypeVar("T")


@dataclass(slots=True)
class Given:
    """The attributes written in one list, and the token each starts at."""

    values: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    type_key: Any = None
    has_type_key: bool = False

    def __bool__(self) -> bool:
        return bool(self.values) or self.has_type_key


class ValueParser(Cursor):
    """Reads constant data."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens)
        self.metadata = metadata

    # --- numbers

    def at_number(self) -> bool:
        """Whether the next token is a number without a sign."""
        return self.kind == NUMERAL or (self.kind == NAME and self.texts[self.index] in SPECIAL)

    def constant(self) -> Constant:
        """A number as an expression."""
        first = self.index
        array = self.number(read_scalar)
        return Constant(NDArray(array), span=self.span(first))

    def number(self, read: Callable[[str, bool], T]) -> T:
        """A number with its signs, of which each pair cancels."""
        first = self.index
        while self.accept("-"):
            pass
        negative = bool((self.index - first) % 2)
        if not self.at_number():
            hint = "write `negative(…)` to negate an expression" if self.index > first else None
            raise self.unexpected("a number", hint)
        self.index += 1
        try:
            return read(self.texts[self.index - 1], negative)
        except ValueError as error:
            raise self.error(f"bad literal: {error}", first, self.index - 1) from None

    def index_of(self, digits: str, what: str) -> int:
        """The number just read, as an index."""
        if len(digits) > 9:
            raise self.error(f"the {what} is too large", self.index - 1)
        return int(digits)

    # --- metadata

    def meta(self) -> Any:
        """What `meta[key][index]` stands for."""
        first = self.index
        key, _, index = self.expect(META)[len("meta[") : -1].partition("][")
        index = index.strip()
        if not index.isascii() or not index.isdigit():
            raise self.error("bad metadata reference", first, expected="meta[kind][number]")
        try:
            return self.metadata.find(key.strip(), self.index_of(index, "index"))
        except RelayError as error:
            hint = None
            if self.tokens.metadata is None:
                hint = "text printed with `show_meta_data=False` lacks the metadata; use `astext()`"
            raise self.error(f"bad metadata reference: {error}", first, hint=hint) from None

    # --- attributes

    def at_attribute(self) -> bool:
        """Whether `name=` comes next; an attribute may have the name of a keyword."""
        kind = self.kinds[self.index]
        return (kind in (NAME, QUOTED) or kind in KEYWORDS) and self.following() == "="

    def attribute(self, given: Given) -> None:
        """`name=value`, added to `given`."""
        first = self.index
        self.index += 1
        quoted = self.kinds[first] == QUOTED
        name = self.decoded(self.texts[first]) if quoted else self.texts[first]
        self.index += 1
        if name == TYPE_KEY and not quoted:
            given.has_type_key, given.type_key = True, self.value()
            return
        if name in given.values:
            raise self.error(f"attribute `{name}` is given twice", first)
        given.values[name] = self.value()
        given.tokens[name] = first

    def value(self, depth: int = 0) -> Any:
        """One value of an attribute; `depth` bounds how deep it may nest."""
        first = self.index
        if depth > MAX_NESTING:
            raise self.error(
                "the value is nested too deeply", first, expected=f"{MAX_NESTING} levels"
            )
        match self.kind:
            case "-":
                return self.number(read_number)
            case _ if self.at_number():
                return self.number(read_number)
            case "True" | "False":
                self.index += 1
                return self.texts[first] == "True"
            case kind if kind == STRING:
                return self.string()
            case kind if kind == META:
                return self.meta()
            case kind if kind == NAME and self.texts[first] in ("None", "nullptr"):
                self.index += 1
                return None
            case "[":
                return tuple(self.value(depth + 1) for _ in self.items("]"))
            case "(":
                found = tuple(self.value(depth + 1) for _ in self.items(")"))
                grouped = len(found) == 1 and self.kinds[self.index - 2] != ","
                return found[0] if grouped else found
            case "{":
                return self._mapping(depth)
        raise self.unexpected("a value: a number, a string, True, False, None, […] or {…}")

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in self.items("}"):
            key = self.string("as a key")
            self.expect(":")
            found[key] = self.value(depth + 1)
        return found
