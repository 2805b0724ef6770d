"""What makes entries of a cache stale: another version of the code they were made with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache as remember
from functools import partial

import relay


def home(compute: Callable[..., object]) -> str:
    """The module a function was defined in."""
    while isinstance(compute, partial):
        compute = compute.func
    return str(getattr(compute, "__module__", ""))


@remember
def fingerprint() -> str:
    """A digest that changes whenever a file of this package does.

    Names, sizes and times are looked at and not contents: that takes a few milliseconds.
    """
    root = os.path.dirname(relay.__file__)
    seen: list[str] = []
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    info = entry.stat()
                    place = entry.path[len(root) :]
                    seen.append(f"{place} {info.st_size} {info.st_mtime_ns}\n")
                elif "." not in entry.name and entry.is_dir():
                    folders.append(entry.path)
    return hashlib.sha256("".join(sorted(seen)).encode()).hexdigest()
