"""A place to point at in a program that has no source: its own printed text."""

from __future__ import annotations

from relay.errors import SourceName, Span
from relay.ir.expr import Expr, Syntax

MARK = "\N{REFERENCE MARK}"


def locate(about: Syntax, root: Expr | None) -> Span | None:
    """Where `about` stands in the text of `root`; None when it does not show there."""
    if root is None:
        return None
    from relay.ir.printer import astext

    marked = astext(
        root, show_meta_data=False, annotate=lambda e: MARK if e is about else ""
    ).splitlines()
    number = next((n for n, line in enumerate(marked, 1) if MARK in line), None)
    if number is None:
        return None
    text = "\n".join(line.partition(f" /* {MARK}")[0] if MARK in line else line for line in marked)
    shown = text.splitlines()[number - 1]
    column = len(shown) - len(shown.lstrip()) + 1
    source = SourceName("the program, as printed", text)
    return Span(source, number, number, column, len(shown.rstrip()) + 1)
