"""What tuning found out: the plans of kernels, in one small file for all models.

    found = Tuned.of(cache)
    found.plan(key)            "tile=6x4", or "" where the rules of the target are best or nothing
                               is known

The file has a line of JSON for every result, and the last one of a key counts. Lines are appended
in one piece, so that several processes may write at once; a line that is damaged is passed over. A
plan is text that a target reads (`Target.plans`), and never changes what a kernel computes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import relay
from relay.cache.store import Cache
from relay.immutable import frozen
from relay.target.target import Target

log = logging.getLogger("relay")

FILE: Final = "tuned.jsonl"


@frozen
class Result:
    """The best plan of a kernel, how much faster than by the rules, and which plans were tried."""

    key: str
    plan: str
    speedup: float
    tried: tuple[str, ...]


def key_of(text: str, constant: Sequence[bool], target: Target, exact: bool) -> str:
    """A digest of all that the best plan of a function depends on; `text` is the function."""
    parts = (
        *("tuned", relay.__version__, target.version, str(target), repr(exact)),
        *(repr(list(map(bool, constant))), text),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Tuned:
    """The results in a folder; None is a folder without any, where none can be kept."""

    def __init__(self, folder: Path | None) -> None:
        self.file = None if folder is None else folder / FILE
        self._found: dict[str, Result] | None = None

    @classmethod
    def of(cls, cache: Cache) -> Tuned:
        """The results beside the kernels of a cache."""
        return cls(cache.folder)

    def get(self, key: str) -> Result | None:
        """What is known of a kernel."""
        return self._results().get(key)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever tuned."""
        return not self._results()

    def plan(self, key: str) -> str:
        """The best plan of a kernel."""
        found = self.get(key)
        return "" if found is None else found.plan

    def put(self, result: Result) -> None:
        """Keep a result, if that is possible."""
        self._results()[result.key] = result
        if self.file is None:
            return
        line = text(result)
        try:
            made = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(made, "ab", buffering=0) as out:
                out.write(f"\n{line}\n".encode())  # apart from a line that was never finished
        except OSError as error:
            log.info("the results of tuning are not kept: %s", error)

    @property
    def stamp(self) -> str:
        """A text that changes with the results."""
        try:
            seen = os.stat(self.file) if self.file is not None else None
        except OSError:
            seen = None
        return "" if seen is None else f"{seen.st_size} {seen.st_mtime_ns}"

    def _results(self) -> dict[str, Result]:
        if self._found is None:
            self._found = self._read()
        return self._found

    def _read(self) -> dict[str, Result]:
        try:
            lines = [] if self.file is None else self.file.read_bytes().splitlines()
        except OSError:
            return {}
        results = (parsed(line) for line in lines if line)
        return {one.key: one for one in results if one is not None}


def text(result: Result) -> str:
    """A result as a line of JSON."""
    return json.dumps([result.key, result.plan, round(result.speedup, 4), result.tried])


def parsed(line: bytes) -> Result | None:
    """The result in a line; None if it is damaged."""
    try:
        made: Any = json.loads(line)
        key, plan, speedup, tried = made
    except (ValueError, TypeError):
        return None
    texts = isinstance(tried, list) and all(isinstance(one, str) for one in (key, plan, *tried))
    if not texts or not isinstance(speedup, int | float):
        return None
    return Result(key, plan, float(speedup), tuple(tried))
