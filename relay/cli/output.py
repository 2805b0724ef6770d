"""Reports as tables or as JSON, and texts into files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STDOUT = Path("-")


def show(report: Any, as_json: bool, plain: Any = None) -> None:
    """Print a report: as text, or as JSON, which `plain` is if the report itself is not."""
    print(json.dumps(report if plain is None else plain, indent=2) if as_json else report)


def write_text(text: str, path: Path | None) -> None:
    """Write a text to a file, completely or not at all; None and `-` are the standard output."""
    if path is None or path == STDOUT:
        print(text)
        return
    from relay.files import replacing

    with replacing(path, "the text") as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")


@contextmanager
def working(on: str) -> Iterator[None]:
    """Show a spinner on the terminal while the block runs; nothing if there is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield
