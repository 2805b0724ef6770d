"""A folder of entries by key: `Cache.get`, `Cache.put`, least recently used entries evicted.

An entry is its data behind a digest of key and data: a damaged or misplaced entry is noticed,
removed and made again. Entries are written to a temporary file and renamed, so that readers see all
of an entry or nothing, however many processes write at once.

Loading an entry runs it, so the folder must belong to the user alone; one that others own or may
write to is not used. Nothing here raises: without a folder, or on a full or read-only disk, there
is no cache, and the log says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from relay import settings
from relay.errors import RelayError
from relay.files import as_path
from relay.immutable import frozen

log = logging.getLogger("relay")

_MAGIC: Final = b"relay object 2\n"
_DIGEST_SIZE: Final = hashlib.sha256().digest_size
_ENTRY: Final = re.compile(r"[0-9a-f]{64}")
_UNFINISHED: Final = ".writing-"
_ABANDONED: Final = 3600  # seconds after which an unfinished file has no writer any more
_REMEMBERED: Final = 60  # a use is noted when the last note is older than this many seconds
_KEPT: Final = 0.75  # of the limit, after the oldest have gone


@frozen
class Statistics:
    """What a cache has done in this process."""

    hits: int = 0
    misses: int = 0
    stored: int = 0
    damaged: int = 0
    evicted: int = 0


class Cache:
    """A folder of at most `limit` bytes; None for the folder is a cache that keeps nothing."""

    def __init__(self, path: str | os.PathLike[str] | None, limit: int | None = None) -> None:
        self.path = None if path is None else as_path(path)
        self.limit = settings.DEFAULT_CACHE_SIZE if limit is None else limit
        self.statistics = Statistics()
        self._lock = threading.Lock()
        self._checked = False
        self._writable = True
        self._size: int | None = None  # as far as this process knows

    @classmethod
    def default(cls) -> Cache:
        """The user's cache, as `RELAY_CACHE_DIR` and `RELAY_CACHE_SIZE` say."""
        return cls(settings.cache_folder(), settings.cache_size())

    @classmethod
    def of(cls, cache: Cache | None) -> Cache:
        """`cache`, or the user's."""
        if cache is None:
            return cls.default()
        if isinstance(cache, Cache):
            return cache
        raise RelayError(f"`cache` is a relay.cache.Cache, found a {type(cache).__name__}")

    def get(self, key: str) -> bytes | None:
        """The code stored under `key`, or None."""
        data = self._read(key)
        self._count(hits=int(data is not None), misses=int(data is None))
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store `data` under `key`, if that is possible."""
        if len(data) > self.limit or (folder := self._folder()) is None or not self._writable:
            return
        content = _MAGIC + _digest(key, data) + data
        try:
            place = folder / key[:2] / key
            place.parent.mkdir(mode=0o700, exist_ok=True)
            _write(place, content)
        except OSError as error:
            log.info("compiled kernels are not kept: %s", error)
            self._writable = False
            return
        self._count(stored=1)
        self._grown(folder, len(content))

    def get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The data stored under `key`; otherwise what `make` returns, which is stored."""
        data = self.get(key)
        if data is None:
            data = make()
            self.put(key, data)
        return data

    @property
    def folder(self) -> Path | None:
        """The folder, which is there and the user's alone; None where there is none."""
        return self._folder()

    def clear(self) -> None:
        """Remove every entry, and nothing else that may be in the folder."""
        folder = self._folder()
        for place, _ in _entries(folder) if folder is not None else ():
            place.unlink(missing_ok=True)
        self._size = 0

    def size(self) -> int:
        """How many bytes all entries take."""
        folder = self._folder()
        return sum(info.st_size for _, info in _entries(folder)) if folder is not None else 0

    # --- the folder ---------------------------------------------------------------------------

    def _folder(self) -> Path | None:
        """The folder, once it has been found to be safe; None where there is none."""
        with self._lock:
            if not self._checked:
                self._checked = True
                if self.path is not None and (reason := _unsafe(self.path)):
                    log.info("no cache of compiled kernels in %s: %s", self.path, reason)
                    self.path = None
            return self.path

    def _read(self, key: str) -> bytes | None:
        if (folder := self._folder()) is None:
            return None
        place = folder / key[:2] / key
        try:
            with open(place, "rb", opener=_open_here) as file:
                info = os.fstat(file.fileno())
                if not stat.S_ISREG(info.st_mode):
                    raise OSError(f"{place} is no file")
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            log.info("a compiled kernel cannot be read: %s", error)
            return None
        head = len(_MAGIC) + _DIGEST_SIZE
        data = content[head:]
        if content[:head] != _MAGIC + _digest(key, data):
            log.info("a compiled kernel is damaged and will be compiled again: %s", place)
            self._count(damaged=1)
            _remove(place)
            return None
        if time.time() - info.st_mtime > _REMEMBERED:
            try:
                os.utime(place)  # the time of its last use decides what goes first
            except OSError:
                log.debug("the use of %s cannot be noted", place)
        return data

    def _grown(self, folder: Path, added: int) -> None:
        """Keep below the limit. The folder is looked through only when it may be too large."""
        with self._lock:
            if self._size is not None:
                self._size += added
            if self._size is None or self._size > self.limit:
                self._size = self._evict(folder)

    def _evict(self, folder: Path) -> int:
        """Remove the least recently used entries above the limit; the size afterwards."""
        found = sorted(_entries(folder), key=lambda entry: entry[1].st_mtime)
        total = sum(info.st_size for _, info in found)
        if total <= self.limit:
            return total
        gone = 0
        for place, info in found:
            if total <= self.limit * _KEPT:
                break
            _remove(place)
            total -= info.st_size
            gone += 1
        self.statistics = replace(self.statistics, evicted=self.statistics.evicted + gone)
        log.info("removed %d compiled kernels that were not used for longest", gone)
        return total

    def _count(self, **changes: int) -> None:
        with self._lock:
            now = self.statistics
            self.statistics = replace(now, **{k: getattr(now, k) + n for k, n in changes.items()})


def _unsafe(path: Path) -> str | None:
    """Why the folder cannot be used, or None; it is made when it is not there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = path.stat()
    except OSError as error:
        return str(error)
    if not hasattr(os, "geteuid"):
        return None
    if info.st_uid != os.geteuid():
        return "it belongs to another user"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return None


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every entry with its size and time; files nobody finished are removed on the way."""
    for group in _scan(folder):
        if len(group.name) != 2 or not group.is_dir(follow_symlinks=False):
            continue
        for entry in _scan(group.path):
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process was faster
            if _ENTRY.fullmatch(entry.name):
                yield Path(entry.path), info
            elif entry.name.startswith(_UNFINISHED) and time.time() - info.st_mtime > _ABANDONED:
                _remove(Path(entry.path))


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _open_here(path: str, flags: int) -> int:
    # a pipe in place of an entry must not be waited for
    more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | more)


def _digest(key: str, data: bytes) -> bytes:
    """What an entry begins with: no other name and no other code has the same."""
    made = hashlib.sha256(key.encode())
    made.update(data)
    return made.digest()


def _write(place: Path, content: bytes) -> None:
    """Write a file atomically."""
    descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, place)
    except OSError:
        _remove(Path(name))
        raise


def _remove(place: Path) -> None:
    try:
        place.unlink(missing_ok=True)
    except OSError as error:
        log.info("cannot remove %s: %s", place, error)
