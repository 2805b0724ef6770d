"""The text of a Python function, its syntax tree, and the spans of its parts."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import FunctionType
from typing import Any

from relay.errors import FrontendError, SourceName, Span
from relay.immutable import frozen

# Line ends of `str.splitlines` that Python does not treat as such.
_NO_LINE_ENDS = str.maketrans(dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))


@frozen
class Source:
    """A file, and the position of a syntax tree in it."""

    name: SourceName
    lines: tuple[str, ...]
    offset: int  # the line of the file before the first one of the tree

    def span(self, node: ast.AST) -> Span:
        """The span of a node of the tree."""
        place: Any = node
        line, end_line = place.lineno, place.end_lineno or place.lineno
        return Span(
            self.name,
            line + self.offset,
            end_line + self.offset,
            self._column(line, place.col_offset),
            self._column(end_line, place.end_col_offset or place.col_offset + 1),
        )

    def _column(self, line: int, offset: int) -> int:
        """The column, counted from 1, of an offset in bytes."""
        number = line + self.offset - 1
        text = self.lines[number] if number < len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1


def read(defined: FunctionType | type) -> tuple[Source, ast.stmt]:
    """The source of a function or class, and its definition."""
    try:
        file = inspect.getsourcefile(defined)
        piece, first = inspect.getsourcelines(defined)
    except (OSError, TypeError) as error:
        raise FrontendError.of(
            f"the source of `{defined.__name__}` cannot be read",
            None,
            "a definition in a file",
            str(error),
            "put it into a file; `python -c` and some consoles keep no source",
        ) from None
    names = getattr(defined, "__globals__", None)
    lines = [line.rstrip("\n") for line in linecache.getlines(file or "", names)]
    text = "\n".join(lines).translate(_NO_LINE_ENDS)
    # an indented piece gets a line above it, since dedenting would change multi-line strings
    above = "if True:\n" if piece[0][:1].isspace() else ""
    name = SourceName(file or defined.__name__, text)
    source = Source(name, tuple(lines), first - (2 if above else 1))
    block: Any = ast.parse(above + "".join(piece))
    statement: ast.stmt = block.body[0].body[0] if above else block.body[0]
    return source, statement


def read_function(function: FunctionType) -> tuple[Source, ast.FunctionDef]:
    """The source of a function that was written with `def`."""
    source, statement = read(function)
    if isinstance(statement, ast.FunctionDef):
        return source, statement
    raise FrontendError.of(
        "only a function written with `def` can be translated",
        source.span(statement),
        "def …",
        "async def …" if isinstance(statement, ast.AsyncFunctionDef) else "lambda …",
    )


def names_in_annotations(node: ast.AST) -> set[str]:
    """The names in all annotations of a definition, nested ones included."""
    found: set[str] = set()
    for part in ast.walk(node):
        for field in ("annotation", "returns"):
            annotation = getattr(part, field, None)
            if not isinstance(annotation, ast.expr):
                continue
            for piece in ast.walk(annotation):
                if isinstance(piece, ast.Name):
                    found.add(piece.id)
                elif isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                    found |= names_in_text(piece.value)
    return found


def names_in_text(text: str) -> set[str]:
    """The names in an annotation that is given as text."""
    try:
        parsed = ast.parse(text.strip(), mode="eval")
    except SyntaxError:  # reported when the annotation is read
        return set()
    return {part.id for part in ast.walk(parsed) if isinstance(part, ast.Name)}
