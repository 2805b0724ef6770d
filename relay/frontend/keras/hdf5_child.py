"""The process that reads an HDF5 file from its standard input (`relay/frontend/keras/hdf5.py`)."""

from __future__ import annotations

import codecs
import io
import json
import resource
import sys
from collections.abc import Iterator
from math import prod
from typing import Any

import h5py
import numpy as np

MEMORY = 1 << 30  # bytes, and MULTIPLE of the size of the file
MULTIPLE = 8
GROWTH = 64  # so many times as large as the file arrays may be, beyond FREE
FREE = 1 << 26
SECONDS = 100  # of the processor
MOST_OBJECTS = 1 << 18
LONGEST = 1 << 26  # bytes of an attribute
FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


class Refused(Exception):
    """The file has something that is not read: the reason, and what it is."""

    def __init__(self, message: str, found: object = None) -> None:
        super().__init__(message)
        self.found = None if found is None else str(found)[:200]


def limit(size: int) -> None:
    """Limit memory, time and files of this process from here on."""
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    most = held + MEMORY + MULTIPLE * size
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def objects(file: h5py.File) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """All groups and datasets by path; a file may have cycles of groups."""
    left: list[tuple[str, h5py.Group]] = [("", file)]
    seen = {h5py.h5o.get_info(file.id).addr}
    yield "", file
    count = 0
    while left:
        path, group = left.pop()
        for name in group:
            count += 1
            if count > MOST_OBJECTS:
                raise Refused("it has too many parts")
            own = f"{path}/{name}" if path else name
            link = group.get(name, getlink=True)
            if not isinstance(link, h5py.HardLink):
                kind = "another file" if isinstance(link, h5py.ExternalLink) else "another place"
                raise Refused(f"it has a link to {kind}", own)
            one = group[name]
            if isinstance(one, h5py.Dataset):
                yield own, one
                continue
            if not isinstance(one, h5py.Group):
                raise Refused("it has something else than groups and arrays", own)
            address = h5py.h5o.get_info(one.id).addr
            if address in seen:
                raise Refused("it has a group twice", own)
            seen.add(address)
            yield own, one
            left.append((own, one))


def check(path: str, one: h5py.Dataset, size: int) -> int:
    """The bytes of an array that is safe to read."""
    plist = one.id.get_create_plist()
    if one.is_virtual:
        raise Refused("it has a virtual dataset", path)
    if plist.get_external_count():
        raise Refused("it has an array in another file", path)
    filters = {plist.get_filter(place)[0] for place in range(plist.get_nfilters())}
    if not filters <= FILTERS:
        raise Refused("it has an array with a filter that is not built in", path)
    if one.shape is None or one.dtype.kind not in "fiub" or one.dtype.hasobject:
        raise Refused("it has an array of something else than numbers", path)
    count = prod(one.shape) * one.dtype.itemsize
    held = one.id.get_storage_size()
    if count > held and (not filters or count > 1100 * held):
        raise Refused("an array is larger than what the file has of it", path)
    return int(count)


def attributes(one: h5py.Group | h5py.File) -> dict[str, Any]:
    """The attributes that are texts, and lists of texts."""
    found: dict[str, Any] = {}
    for name in one.attrs:
        held = one.attrs.get_id(name)
        if held.dtype.kind not in "SO":
            if held.shape == (0,):
                found[name] = []
            continue
        if prod(held.shape) * held.dtype.itemsize > LONGEST:
            raise Refused("an attribute is too long", name)
        value = one.attrs[name]
        if isinstance(value, h5py.Empty):
            continue
        if isinstance(value, str | bytes):
            found[name] = text(value)
        elif isinstance(value, np.ndarray):
            found[name] = [text(part) for part in value.reshape(-1)]
    return found


def text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if not isinstance(value, str):
        raise Refused("an attribute is no text", type(value).__name__)
    return value


def answer(data: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    arrays: list[tuple[str, np.ndarray]] = []
    found: dict[str, dict[str, Any]] = {}
    total = 0
    with h5py.File(io.BytesIO(data), "r") as file:
        for path, one in objects(file):
            if isinstance(one, h5py.Dataset):
                total += check(path, one, len(data))
                if total > FREE + GROWTH * len(data):
                    raise Refused("its arrays are too large for its size", f"{total} bytes")
                if one.dtype.kind == "f" and one.dtype.itemsize > 8:
                    raise Refused("an array has elements that are too wide", path)
                arrays.append((path, np.ascontiguousarray(one[()]).reshape(one.shape)))
            elif kept := attributes(one):
                found[path] = kept
    entries = [(path, one.dtype.str, list(one.shape)) for path, one in arrays]
    return {"arrays": entries, "attributes": found}, [one for _, one in arrays]


def main() -> None:
    data = sys.stdin.buffer.read()
    output = sys.stdout.buffer
    with h5py.File(io.BytesIO(), "w") as warm:  # what is loaded on first use is loaded
        warm.create_dataset("x", data=np.zeros(1), compression="gzip")[()]
        warm.attrs["x"] = ["x"]
        text(warm.attrs["x"][0])
    for codec in ("ascii", "utf-8", "latin-1"):
        codecs.lookup(codec)
    limit(len(data))
    try:
        header, arrays = answer(data)
    except Refused as error:
        header, arrays = {"error": str(error), "found": error.found}, []
    except MemoryError:
        header, arrays = {"error": "it needs too much memory"}, []
    except Exception as error:  # whatever the library raises about a broken file
        header, arrays = {"error": "it is broken", "found": f"{error}"[:200]}, []
    output.write(json.dumps(header).encode() + b"\n")
    for one in arrays:
        output.write(one.data if one.ndim else one.tobytes())
    output.flush()


if __name__ == "__main__":
    main()
