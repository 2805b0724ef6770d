"""Atomic replacement of files.

    with replacing(path, "the executable") as unfinished:
        unfinished.write_bytes(data)

The file at `path` is replaced in one step, once everything is written: a reader sees the old file
or the new one, and a failure leaves the old one. Symbolic links are followed. Devices, pipes and
folders are refused.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from relay.errors import RelayError

_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link that leads to itself",
}


@contextmanager
def replacing(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """A temporary path whose file replaces `path` when the block ends without an error.

    `what` names the content in errors. The permissions of the old file are kept.
    """
    place = as_path(path)
    try:
        target = Path(os.path.realpath(place))
        mode = _mode(place, target)
        unfinished = target.with_name(f".relay-{secrets.token_hex(8)}")
    except (OSError, ValueError) as error:  # it may be no path at all: "", or with a zero inside
        raise _refusal(what, place, str(error)) from None
    if mode is not None and not stat.S_ISREG(mode):
        reason = f"it is {_KINDS.get(stat.S_IFMT(mode), 'no file')}, and is not replaced by a file"
        raise _refusal(what, place, reason)
    try:
        yield unfinished
        if mode is not None:
            os.chmod(unfinished, stat.S_IMODE(mode))
        os.replace(unfinished, target)
    except OSError as error:
        raise _refusal(what, place, error.strerror or str(error)) from None
    finally:
        with suppress(OSError):  # its folder may be gone, or was never there
            unfinished.unlink(missing_ok=True)


def as_path(path: Any) -> Path:
    """A path, or an error that says what it is instead."""
    if isinstance(path, str | os.PathLike) and isinstance(os.fspath(path), str):
        return Path(path)
    raise RelayError(f"a file is named by a string or a path, found {type(path).__name__}")


def _mode(place: Path, target: Path) -> int | None:
    """The mode of the file, through links; None if there is none."""
    for one in (place, target):  # a link to an open pipe leads where no path does
        try:
            return os.stat(one).st_mode
        except FileNotFoundError:
            continue
        except OSError:
            return os.lstat(one).st_mode
    return None


def _refusal(what: str, place: Path, reason: str) -> RelayError:
    return RelayError(f"{what} cannot be written to `{place}`: {reason}")
