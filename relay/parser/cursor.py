"""Cursor over the tokens of a text: lookahead, consuming tokens, and errors at a token."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from relay.errors import ParseError, Span, did_you_mean
from relay.ir.names import read_string, unquote
from relay.parser.lexer import (
    END,
    GLOBAL,
    GRAPH,
    LOCAL,
    META,
    NAME,
    NUMERAL,
    PROJECTION,
    QUOTED,
    STRING,
    Tokens,
)

# How many known names are searched for one that is close to an unknown one.
MAX_SUGGESTIONS: Final = 2000

_SHOWN: Final = {LOCAL: "%{}", GRAPH: "%{}", GLOBAL: "@{}"}
_KINDS: Final = (LOCAL, GRAPH, GLOBAL, NAME, QUOTED, NUMERAL, STRING, PROJECTION, META, END)
MAX_SHOWN: Final = 60


class Cursor:
    """The base of the parsers: tokens, and the index of the next one."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.index = 0

    # --- lookahead

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self.kinds[self.index]

    def following(self) -> str:
        """The kind of the token behind the next one."""
        return self.kinds[self.index + 1]

    def at_word(self, word: str) -> bool:
        """Whether the next token is that word, which is not a keyword."""
        return self.kind == NAME and self.texts[self.index] == word

    def span(self, first: int) -> Span:
        """From token `first` to the one just read."""
        return self.tokens.span(first, max(first, self.index - 1))

    # --- consuming tokens

    def accept(self, kind: str) -> bool:
        """Go past the next token if it is of that kind."""
        if self.kinds[self.index] != kind:
            return False
        self.index += 1
        return True

    def expect(self, kind: str, purpose: str = "") -> str:
        """Go past a token of that kind, and return its text."""
        if self.kinds[self.index] != kind:
            raise self.unexpected(_in_words(kind) + (f" {purpose}" if purpose else ""))
        self.index += 1
        return self.texts[self.index - 1]

    def close(self, kind: str, opened: int, expected: str | None = None) -> None:
        """Go past what closes the bracket at token `opened`."""
        if not self.accept(kind):
            raise self.not_closed(expected or _in_words(kind), opened)

    def items(self, closing: str, expected: str | None = None) -> Iterator[int]:
        """Go past the bracket that is next, then yield the first token of each item between commas,
        and go past `closing`; the caller reads the items."""
        opened = self.index
        self.index += 1
        while self.kind != closing:
            yield self.index
            if not self.accept(","):
                break
        self.close(closing, opened, expected)

    def not_closed(self, expected: str, opened: int) -> ParseError:
        """Something else stands where a bracket should be closed."""
        hint = None
        if self.kind == END:
            span = self.tokens.span(opened, opened)
            place = f"line {span.line}, column {span.column}"
            hint = f"`{self.texts[opened]}` at {place} is not closed"
        return self.unexpected(expected, hint)

    def name(self, purpose: str) -> str:
        """Go past a name, quoted or not."""
        if self.kind == QUOTED:
            self.index += 1
            return self.decoded(self.texts[self.index - 1])
        return self.expect(NAME, purpose)

    def global_name(self, purpose: str = "") -> str:
        """Go past `@f`."""
        text = self.expect(GLOBAL, purpose)
        return self.decoded(text) if text.startswith("`") else text

    def string(self, purpose: str = "") -> str:
        """Go past a string."""
        return self.decoded(self.expect(STRING, purpose))

    def decoded(self, text: str) -> str:
        """The string or quoted name just read, its escapes replaced."""
        try:
            return unquote(text) if text.startswith("`") else read_string(text)
        except ValueError:
            raise self.error(
                "the escape in this string is not known",
                self.index - 1,
                expected=r"the escapes of JSON: \" \\ \n \t \u0041 …",
                found=_shorten(text),
                hint=r"write `\\` for a backslash",
            ) from None

    # --- errors

    def unexpected(self, expected: str, hint: str | None = None) -> ParseError:
        """The next token is not what has to come here."""
        what = "end of text" if self.kind == END else "token"
        return self.error(
            f"unexpected {what}", self.index, expected=expected, found=self.shown, hint=hint
        )

    @property
    def shown(self) -> str:
        """The next token as it is shown in errors."""
        kind, text = self.kind, self.texts[self.index]
        return END if kind == END else f"`{_shorten(_SHOWN.get(kind, '{}').format(text))}`"

    def unknown(
        self, what: str, name: str, first: int, known: Collection[str], hint: str | None = None
    ) -> ParseError:
        """The name is unknown; the hint is the closest known name."""
        close = did_you_mean(name, islice(known, MAX_SUGGESTIONS))
        return self.error(f"unknown {what} `{_shorten(name)}`", first, hint=close or hint)

    def error(
        self,
        message: str,
        first: int,
        last: int | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> ParseError:
        """A syntax error at the tokens from `first` to `last`."""
        span = self.tokens.span(first, first if last is None else max(first, last))
        return ParseError.of(message, span, expected, found, hint)


def _in_words(kind: str) -> str:
    if kind == END:
        return kind
    return f"a {kind}" if kind in _KINDS else f"`{kind}`"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
