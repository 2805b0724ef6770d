"""Reports as tables or as JSON, texts into files, and progress on the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from relay.progress import Progress

STDOUT = Path("-")
CLOSED = 141  # the exit code of a program that SIGPIPE ends


def show(report: Any, as_json: bool, plain: Any = None) -> None:
    """Print a report: as text, or as JSON, which `plain` is if the report itself is not."""
    say(json.dumps(report if plain is None else plain, indent=2) if as_json else report)


def say(text: object) -> None:
    """Print to the standard output; if nobody reads it any more, end without a message."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # what is left in the buffer would fail again when the process ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED) from None


def write_text(text: str, path: Path | None) -> None:
    """Write a text to a file, completely or not at all; None and `-` are the standard output."""
    if path is None or path == STDOUT:
        say(text)
        return
    from relay.files import replacing

    with replacing(path, "the text") as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")


@contextmanager
def working(on: str) -> Iterator[Progress]:
    """Show a bar on the terminal while the block runs; nothing if there is no terminal."""
    from relay.progress import reported

    with reported(sys.stderr.isatty(), on) as progress:
        yield progress
