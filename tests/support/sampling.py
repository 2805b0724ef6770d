"""Which part of an exhaustive test a run takes.

`pytest` takes a part that rotates with the commit, `pytest -m full` takes everything. So does a run
of tests that are given by name (`pytest tests/…::test_…`) with those that are marked with `rotate`.
`RELAY_TEST_SEED` repeats the parts of another run.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "RELAY_TEST_SEED"


@dataclass
class Run:
    """What `conftest.py` found out about this run."""

    seed: int = 0
    everything: bool = False
    quick: bool = False


RUN = Run()


def part_of(
    items: Sequence[T], part: int, name: Callable[[T], str] = str, within: int = 1
) -> list[T]:
    """One in `part` of the items, and at least one; `part` seeds in a row take each of them.

    In a test that itself runs with one seed in n, `within` is n.
    """
    step = max(1, min(part, len(items)))
    mixed = sorted(range(len(items)), key=lambda place: digest(name(items[place])))
    return [items[place] for place in sorted(mixed[RUN.seed // within % step :: step])]


def some_of(items: Sequence[T], part: int, name: Callable[[T], str] = str) -> list[T]:
    """A part of the items; all of them in a full run, for tests without an exhaustive version."""
    return list(items) if RUN.everything else part_of(items, part, name)


def digest(name: str) -> int:
    """A number that looks random and is the same every day."""
    return zlib.crc32(name.encode())


def takes(name: str, part: int) -> bool:
    """Whether `name` belongs to the part of this run, which is about one in `part`, whatever other
    parts it belongs to."""
    return RUN.everything or digest(f"{RUN.seed} {name}") % part == 0


def deep(depth: int) -> int:
    """How deep a program nests in a full run; a fifth of it is more than Python's stack has room
    for, and a twentieth is for a quick run."""
    return depth if RUN.everything else depth // (20 if RUN.quick else 5)


def seed_of_commit() -> int:
    """How many commits there are, or, where the history is cut off, some number for this one."""
    shallow = _git("rev-parse", "--is-shallow-repository")
    if shallow == "false":
        return int(_git("rev-list", "--count", "HEAD") or 0)
    return digest(_git("rev-parse", "HEAD")) % 10_000


def _git(*arguments: str) -> str:
    """What git answers; nothing where there is no git or no repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def find_seed() -> int:
    """The seed that was given, or that of the commit; processes of this run find the same."""
    return int(os.environ.setdefault(VARIABLE, str(seed_of_commit())))
