"""Spans in the printed text of a program, for errors in programs without source text."""

from __future__ import annotations

from relay.errors import SourceName, Span
from relay.ir.expr import Expr, Syntax

MARK = "\N{REFERENCE MARK}"


def locate(about: Syntax, root: Expr | None) -> Span | None:
    """The span of `about` in the printed text of `root`; None when it is not shown there."""
    if root is None:
        return None
    from relay.ir.printer import astext

    marked = astext(
        root, show_meta_data=False, annotate=lambda e: MARK if e is about else ""
    ).splitlines()
    number = next((n for n, line in enumerate(marked, 1) if MARK in line), None)
    if number is None:
        return None
    lines = [line.partition(f" /* {MARK}")[0] if MARK in line else line for line in marked]
    number = _head(lines, number)
    shown = lines[number - 1]
    source = SourceName("the program, as printed", "\n".join(lines))
    return Span(source, number, number, _indentation(shown) + 1, len(shown.rstrip()) + 1)


def _head(lines: list[str], number: int) -> int:
    """The first line of the expression that ends at line `number`, such as the line of the `if`."""
    indentation = _indentation(lines[number - 1])
    while number > 1 and (
        lines[number - 1].startswith("}", indentation)
        or _indentation(lines[number - 1]) > indentation
    ):
        number -= 1
    return number


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
