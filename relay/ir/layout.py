"""Document tree of the printer: blocks of statements that can still grow while parts are written.

While a statement is written, something inside it may turn out to belong before it, in an outer
block. So text is a tree of pieces, and only `render`, at the end, walks it in order: it indents,
and numbers the graph bindings (`%0`, `%1`, …) in order of appearance.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

from relay.immutable import frozen

# Deeper nesting is not indented further, so that text grows with the program and not its square.
MAX_INDENT: Final = 40


class Layout(Enum):
    """Line breaks and indentation."""

    NEWLINE = 0
    INDENT = 1
    DEDENT = 2


NEWLINE: Final = Layout.NEWLINE
INDENT: Final = Layout.INDENT
DEDENT: Final = Layout.DEDENT


class NumberedBinding:
    """A graph variable; its number is given when it is first met."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = -1


class TextBlock:
    """Statements, then a result, between braces. `comment` belongs to the result."""

    __slots__ = ("comment", "is_if", "result", "statements")

    def __init__(self) -> None:
        self.statements: list[Text] = []
        self.result: Text = ""
        self.comment = ""
        self.is_if = False

    def add(self, *statement: Text) -> None:
        """Append a statement."""
        self.statements.append([*statement, ";"])

    def lines(self) -> Iterator[Text]:
        """The statements and the result, each after a line break."""
        for statement in self.statements:
            yield NEWLINE
            yield statement
        yield NEWLINE
        yield self.result
        yield self.comment

    def braced(self) -> list[Text]:
        """`{ … }` over several lines."""
        return ["{", INDENT, *self.lines(), DEDENT, NEWLINE, "}"]


@frozen
class Short:
    """A block without braces where it is a single expression."""

    block: TextBlock

    def layout(self) -> list[Text]:
        block = self.block
        return block.braced() if block.statements else [block.result, block.comment]


@frozen
class Else:
    """The block behind `else`; written `else if` where it holds nothing but an `if`."""

    block: TextBlock

    def layout(self) -> list[Text]:
        block = self.block
        return [block.result] if block.is_if and not block.statements else block.braced()


Text: TypeAlias = "str | Layout | NumberedBinding | TextBlock | Short | Else | list[Text]"


def render(text: Text) -> str:
    """The pieces in order."""
    out: list[str] = []
    depth = count = 0
    pending: list[Text] = [text]
    while pending:
        piece = pending.pop()
        match piece:
            case str():
                out.append(piece)
            case list():
                pending.extend(reversed(piece))
            case NumberedBinding():
                if piece.number < 0:
                    piece.number = count
                    count += 1
                out.append(f"%{piece.number}")
            case Layout.NEWLINE:
                out.append("\n" + "  " * min(depth, MAX_INDENT))
            case Layout.INDENT:
                depth += 1
            case Layout.DEDENT:
                depth -= 1
            case TextBlock():
                pending.extend(reversed(piece.braced()))
            case Short() | Else():
                pending.extend(reversed(piece.layout()))
    return "".join(out)
