"""The variables of a saved model: a sorted table of entries, and files with their data.

variables.index                   entries by key: element type, shape, file, place, size
variables.data-00000-of-00001     data, one tensor after the other
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.snappy import decompressed
from relay.frontend.tensorflow.types import PARTS, numpy_type, shape_of, type_name
from relay.frontend.tensorflow.wire import Budget, Message, broken, missing, varint
from relay.immutable import frozen

FOOTER, MAGIC = 48, 0xDB4775248B80FB57
TRAILER = 5  # bytes behind a block: how it is compressed, and a checksum
LARGEST_INDEX = 1 << 28
LARGEST_BLOCK = 1 << 26
MOST_ENTRIES = 1 << 20


@frozen
class Bundle:
    """The entries of a table, and the folder with their data."""

    prefix: Path
    entries: Mapping[str, Message]
    shards: int

    def tensor(self, key: str) -> np.ndarray:
        """The elements of a variable."""
        entry = self.entries.get(key)
        if entry is None:
            raise missing("variable", key)
        if entry.has(7):
            raise FrontendError.of(f"variable {quoted(key)} is stored in slices")
        name = type_name(entry.integer(1))
        dtype, shape = numpy_type(name), shape_of(entry.message(2))
        if shape is None or min(shape, default=0) < 0:
            raise broken(f"variable {quoted(key)} has no shape")
        shape = (*shape, 2) if name in PARTS else shape
        size = prod(shape) * dtype.itemsize
        if size != entry.integer(5):
            raise broken(f"variable {quoted(key)} has another size than its shape")
        return np.frombuffer(self._data(entry, size), dtype).reshape(shape)

    def _data(self, entry: Message, size: int) -> bytes:
        shard, place = entry.integer(3), entry.integer(4)
        if not 0 <= shard < self.shards or place < 0:
            raise broken("the data of a variable is in no file")
        path = Path(f"{self.prefix}.data-{shard:05d}-of-{self.shards:05d}")
        try:
            if place + size > path.stat().st_size:
                raise broken(f"{quoted(path.name)} ends before the data of a variable")
            with path.open("rb") as file:
                file.seek(place)
                return file.read(size)
        except OSError as error:
            raise FrontendError.of(f"`{path}` cannot be read: {error.strerror}") from None


def read_bundle(prefix: Path) -> Bundle:
    """The bundle whose files begin with `prefix`."""
    path = Path(f"{prefix}.index")
    try:
        if path.stat().st_size > LARGEST_INDEX:
            raise FrontendError.of(f"`{path.name}` is too large")
        data = memoryview(path.read_bytes())
    except OSError as error:
        raise FrontendError.of(f"`{path}` cannot be read: {error.strerror}") from None
    budget, entries, header = Budget(), dict[str, Message](), None
    for key, value in _table(data):
        if len(entries) >= MOST_ENTRIES:
            raise FrontendError.of(f"there are more than {MOST_ENTRIES} variables")
        if not key:
            header = Message(value, budget)
            continue
        entries[key.decode("utf-8", "backslashreplace")] = Message(value, budget)
    if header is None:
        raise broken("the table of its variables has no header")
    if header.integer(2):
        raise FrontendError.of("variables of big-endian machines are not read")
    shards = header.integer(1, 1)
    if not 0 < shards < 100_000:
        raise broken("there is an impossible number of files of variables")
    return Bundle(prefix, entries, shards)


# --- sorted tables


def _table(data: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table: an index of blocks, each with its entries."""
    if len(data) < FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise broken("the table of its variables is none")
    footer = data[-FOOTER:]
    place = 0
    for _ in range(2):  # the place and size of the index of metadata, which is not used
        _, place = varint(footer, place)
    seen = 0
    for _, handle in _entries(_block(data, footer[place:])):
        block = _block(data, memoryview(handle))
        seen += len(block)
        if seen > LARGEST_INDEX:
            raise broken("the table of its variables is too large")
        yield from _entries(block)


def _block(data: memoryview, handle: memoryview) -> bytes:
    offset, place = varint(handle, 0)
    size, _ = varint(handle, place)
    if offset + size + TRAILER > len(data):
        raise broken("a block of the table of its variables is not there")
    content, kind = data[offset : offset + size], data[offset + size]
    if kind == 0:
        return bytes(content)
    if kind == 1:
        return decompressed(content, LARGEST_BLOCK)
    raise FrontendError.of("the table of variables is compressed in an unknown way")


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys, which begin as those before them, and values."""
    if len(block) < 4:
        raise broken("a block of the table of its variables is cut off")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise broken("a block of the table of its variables is cut off")
    data, place, key = memoryview(block)[:end], 0, b""
    while place < end:
        shared, place = varint(data, place)
        rest, place = varint(data, place)
        size, place = varint(data, place)
        if shared > len(key) or rest + size > end - place:
            raise broken("an entry of the table of its variables is cut off")
        key = key[:shared] + bytes(data[place : place + rest])
        yield key, bytes(data[place + rest : place + rest + size])
        place += rest + size
