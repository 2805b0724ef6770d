"""Every environment variable Relay reads: its name, its type, what it means.

A setting is read on use, so a change of the environment takes effect at the next call. An invalid
value is an error that names the variable.

    RELAY_TARGET        the machine to compile for, `llvm -mcpu=skylake-avx512`   (this machine)
    RELAY_NUM_THREADS   the most threads one call may use                         (one per core)
    RELAY_CACHE_DIR     the folder of compiled kernels; `off` keeps none          (the user's cache)
    RELAY_CACHE_SIZE    the most the folder may hold: `512M`, `2G`, bytes         (1G)
    RELAY_WORKERS       the most processes that compile at once                   (one per core)
    RELAY_CHECKED       `1`: whatever is compiled checks every index              (0)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from relay.errors import SettingError
from relay.immutable import frozen

T = TypeVar("T")


@frozen
class Setting(Generic[T]):
    """One environment variable. `parse` raises ValueError for what it does not understand."""

    name: str
    parse: Callable[[str], T]
    expected: str
    doc: str

    def read(self) -> T | None:
        """The value in the environment; None when the variable is absent or empty."""
        text = os.environ.get(self.name, "").strip()
        if not text:
            return None
        try:
            return self.parse(text)
        except ValueError:
            raise SettingError.of(
                f"the environment variable {self.name} is not understood",
                expected=self.expected,
                found=repr(text),
                hint=self.doc,
            ) from None


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1024:
        raise ValueError(text)
    return value


def _truth(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(text: str) -> int:
    """`512M` -> 536870912; the units are powers of 1024, with or without a B after them."""
    digits = text.upper().removesuffix("B").removesuffix("I")
    unit = digits[-1] if digits[-1:] in _UNITS else ""
    value = float(digits.removesuffix(unit))
    if not 0 <= value < 2**50:
        raise ValueError(text)
    return int(value * _UNITS[unit])


def _folder(text: str) -> Path | None:
    return None if text.lower() in ("off", "none", "0") else Path(text).expanduser()


TARGET: Final = Setting("RELAY_TARGET", str, "a target", "the machine to compile for")
NUM_THREADS: Final = Setting(
    "RELAY_NUM_THREADS", _count, "a number from 1 to 1024", "the most threads one call may use"
)
CACHE_DIR: Final = Setting(
    "RELAY_CACHE_DIR", _folder, "a folder, or `off`", "where compiled kernels are kept"
)
CACHE_SIZE: Final = Setting(
    "RELAY_CACHE_SIZE", _size, "a size such as 512M or 2G", "the most the cache may hold"
)
WORKERS: Final = Setting(
    "RELAY_WORKERS", _count, "a number from 1 to 1024", "the most processes that compile at once"
)

CHECKED: Final = Setting(
    "RELAY_CHECKED", _truth, "1 or 0", "whether all that is compiled checks every index"
)

ALL: Final = (TARGET, NUM_THREADS, CACHE_DIR, CACHE_SIZE, WORKERS, CHECKED)
DEFAULT_CACHE_SIZE: Final = 2**30


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None when they are not to be kept."""
    if CACHE_DIR.name in os.environ and os.environ[CACHE_DIR.name].strip():
        return CACHE_DIR.read()
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    if base and Path(base).is_absolute():  # the XDG rules ignore a relative one
        return Path(base) / "relay"
    try:
        return Path("~/.cache/relay").expanduser()
    except RuntimeError:  # a user without a home
        return None


def cache_size() -> int:
    """The most bytes the cache may hold."""
    found = CACHE_SIZE.read()
    return DEFAULT_CACHE_SIZE if found is None else found
