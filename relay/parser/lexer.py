"""Text to tokens.

A token has a kind, a text and a start, in three parallel lists for speed: a program of a hundred
thousand lines has a million tokens. The kind of punctuation and of a keyword is its own text.
Comments and white space are dropped; the metadata section is kept as it is.

Inside a shape, `Tensor[(n // 2, n % 3), float32]`, two characters mean something else: `//` behind
an operand divides instead of starting a comment, and `%` is the remainder.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from relay.errors import ParseError, SourceName, Span
from relay.ir.literals import NUMBER
from relay.ir.names import KEYWORDS, WORD

LOCAL: Final = "local variable"  # %x
GRAPH: Final = "graph variable"  # %0
GLOBAL: Final = "global function"  # @f, @`a name`
NAME: Final = "name"  # nn.relu, Cons, n
QUOTED: Final = "quoted name"  # `a name`
NUMERAL: Final = "number"
STRING: Final = "string"
PROJECTION: Final = "projection"  # .0
META: Final = "metadata reference"  # meta[relay.Constant][0]
END: Final = "end of text"

_QUOTED: Final = r"`(?:[^`\\\n]|\\.)*`"
_TOKEN: Final = re.compile(
    rf"""\s*(?:
    %(?P<graph>\d+)
  | %(?P<local>{WORD})
  | (?P<meta>meta\[[^\[\]\n"]*\]\[[^\[\]\n"]*\])
  | (?P<name>match\?|{WORD}(?:\.{WORD})*)
  | (?P<number>{NUMBER})
  | (?P<line>//[^\n]*)
  | (?P<comment>/\*(?:[^*/]*\*/)?)
  | (?P<mark>->|=>|==|!=|<=|>=|\#\[|[()\[\]{{}},;:=+\-*/<>?%])
  | @(?P<global>{WORD}(?:\.{WORD})*|{_QUOTED})
  | (?P<projection>\.\d+)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<quoted>{_QUOTED})
  | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_COMMENT_ENDS: Final = re.compile(r"/\*|\*/")
_METADATA: Final = re.compile(r"\#\[\s*metadata\s*\]")

_KINDS: Final = {
    "local": LOCAL,
    "graph": GRAPH,
    "global": GLOBAL,
    "number": NUMERAL,
    "string": STRING,
    "quoted": QUOTED,
    "meta": META,
    "projection": PROJECTION,
}
_SIGIL: Final = frozenset(("local", "graph", "global"))
# After one of these, `//` in a shape divides.
_OPERANDS: Final = frozenset((NAME, QUOTED, NUMERAL, META, ")", "?", "_"))
# A shape ends at these, also with unclosed parentheses.
_NEVER_IN_SHAPE: Final = frozenset("{};")


class Tokens:
    """The tokens of a text, the last two of kind END, and the metadata section with its start."""

    __slots__ = ("ends", "kinds", "line_starts", "metadata", "source", "starts", "texts")

    def __init__(self, source: SourceName, line_starts: list[int]) -> None:
        self.source = source
        self.line_starts = line_starts
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.metadata: tuple[str, int] | None = None

    def add(self, kind: str, text: str, start: int, end: int) -> None:
        self.kinds.append(kind)
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)

    def span(self, first: int, last: int) -> Span:
        """The stretch from token `first` to token `last`."""
        return self.span_between(self.starts[first], self.ends[last])

    def span_between(self, start: int, end: int) -> Span:
        """The stretch between two offsets."""
        line_starts = self.line_starts
        line = bisect_right(line_starts, start)
        end_line = bisect_right(line_starts, end, line - 1)
        column, end_column = start - line_starts[line - 1], end - line_starts[end_line - 1]
        return Span(self.source, line, end_line, column + 1, end_column + 1)


def tokenize(text: str, source_name: str) -> Tokens:
    """The tokens of `text`; ParseError where there is something that is none."""
    lexer = _Lexer(text, source_name)
    lexer.scan()
    return lexer.tokens


class _Lexer:
    """One pass over a text."""

    def __init__(self, text: str, source_name: str) -> None:
        self.text = text
        lengths = map(len, text.splitlines(keepends=True))
        line_starts = [0, *accumulate(lengths)][:-1] or [0]
        self.tokens = Tokens(SourceName(source_name, text), line_starts)

    def scan(self) -> None:
        text, tokens = self.text, self.tokens
        kinds, texts = tokens.kinds, tokens.texts
        add, match_token = tokens.add, _TOKEN.match
        position = 0
        shape_depth = 0  # of parentheses, from the one that opens a shape
        while True:
            found = match_token(text, position)
            if found is None:
                raise self._refuse(position)
            group: str = found.lastgroup  # type: ignore[assignment]
            start, content = found.start(group), found[group]
            if group in _SIGIL:
                start -= 1
            position = found.end()

            if shape_depth and (mark := _mark_in_shape(group, kinds)):
                position = start + len(mark)
                add(mark, mark, start, position)
            elif group == "name":
                kind = content if content in KEYWORDS or content == "match?" else NAME
                add(kind, content, start, position)
            elif group == "mark":
                if content == "(":
                    shape_depth += shape_depth > 0 or _opens_shape(kinds, texts)
                elif content == ")":
                    shape_depth -= shape_depth > 0
                elif content in _NEVER_IN_SHAPE:
                    shape_depth = 0
                if content == "#[" and (section := _METADATA.match(text, start)):
                    tokens.metadata = (text[section.end() :], start)
                    break
                add(content, content, start, position)
            elif group == "comment":
                if content == "/*":
                    position = self._end_of_comment(start)
            elif group == "end":
                break
            elif group != "line":
                add(_KINDS[group], content, start, position)
        # the end is right behind the last token, where errors about a cut-off text point
        end = tokens.ends[-1] if tokens.ends else 0
        for _ in range(2):  # two tokens of lookahead are always possible
            add(END, "", end, end)

    def _end_of_comment(self, start: int) -> int:
        """Comments nest: the position behind the `*/` that belongs to the `/*` at `start`."""
        depth = 0
        for found in _COMMENT_ENDS.finditer(self.text, start):
            depth += 1 if found[0] == "/*" else -1
            if not depth:
                return found.end()
        raise self._error(
            start,
            start + 2,
            "the comment is not closed",
            "`*/`",
            "end of text",
            "comments nest, so every `/*` needs a `*/`",
        )

    def _refuse(self, position: int) -> ParseError:
        while position < len(self.text) and self.text[position].isspace():
            position += 1
        character = self.text[position]
        if character in '"`':
            what = "string" if character == '"' else "quoted name"
            return self._error(
                position,
                position + 1,
                f"the {what} is not closed",
                f"`{character}`" if character == '"' else "a backquote",
                "end of line",
                f"write `\\n` for a line break and `\\{character}` for {character} inside",
            )
        hints = {
            "@": "a function is `@` and a name: `@main`",
            "'": 'strings stand between double quotes: "…"',
            "#": 'there are `#[version = "…"]`, `#[attributes = {…}]` and `#[metadata]`',
            ".": "a field of a tuple is `.` and a number: `%t.0`",
            "!": "there is `!=`; write `logical_not(…)` for negation",
            "&": "write `logical_and(…)`",
            "|": "write `logical_or(…)`",
        }
        return self._error(
            position,
            position + 1,
            "unexpected character",
            None,
            f"`{character}`" if character.isprintable() else f"the character {character!a}",
            hints.get(character),
        )

    def _error(
        self, start: int, end: int, message: str, expected: str | None, found: str, hint: str | None
    ) -> ParseError:
        span = self.tokens.span_between(start, end)
        return ParseError.of(message, span, expected, found, hint)


def _opens_shape(kinds: list[str], texts: list[str]) -> bool:
    """Whether a parenthesis here opens a shape: `Tensor[(`, or `Shape(` in type arguments."""
    if not kinds:
        return False
    if kinds[-1] == NAME:
        return texts[-1] == "Shape"
    return kinds[-1] == "[" and len(texts) > 1 and texts[-2] == "Tensor"


def _mark_in_shape(group: str, kinds: list[str]) -> str | None:
    """The operator that begins what would be a comment or a variable outside of a shape."""
    if group in ("local", "graph"):
        return "%"
    return "//" if group == "line" and kinds[-1] in _OPERANDS else None
