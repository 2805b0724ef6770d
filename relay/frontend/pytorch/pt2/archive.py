"""The entries of a `.pt2` file: JSON and raw tensors, never pickles.

Entries are stored, not compressed, so that none is larger than the file; they are read into memory
and never written to disk. Every tensor lies within its entry.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from relay.errors import FrontendError
from relay.immutable import frozen

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
SHARING = 16  # so many times the size of the file its tensors may declare: tied weights share bytes
MOST = 2**62
# what Python says of a file that is not there, or no archive
UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)


def refused(
    message: str, expected: str | None = None, found: str | None = None, hint: str | None = None
) -> FrontendError:
    """The error about a file that is not read."""
    return FrontendError.of(message, None, expected, found, hint)


@dataclass
class Archive:
    """An open file, its top folder, and the bytes of entries that were read."""

    file: zipfile.ZipFile
    root: str
    size: int
    read_entries: dict[str, torch.Tensor]

    def read(self, name: str) -> bytes:
        """The bytes of an entry."""
        try:
            return self.file.read(f"{self.root}/{name}")
        except KeyError:
            raise refused(f"the file has no entry `{name}`") from None
        except UNREADABLE as error:
            raise refused(f"entry `{name}` cannot be read", found=str(error)) from error

    def json(self, name: str) -> Any:
        """An entry as JSON."""
        try:
            return json.loads(self.read(name).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise refused(f"entry `{name}` is no JSON", found=str(error)) from error

    def names(self, folder: str) -> list[str]:
        """The entries of a folder, without its name."""
        start = f"{self.root}/{folder}/"
        return [one[len(start) :] for one in self.file.namelist() if one.startswith(start)]

    def bytes_of(self, name: str) -> torch.Tensor:
        """The bytes of an entry as a tensor; tensors that share an entry share its memory."""
        if name not in self.read_entries:
            data = bytearray(self.read(name))
            empty = torch.empty(0, dtype=torch.uint8)
            self.read_entries[name] = torch.frombuffer(data, dtype=torch.uint8) if data else empty
        return self.read_entries[name]


def opened(path: Path) -> Archive:
    """The archive of a file."""
    try:
        size = path.stat().st_size
        file = zipfile.ZipFile(path)
    except UNREADABLE as error:
        expected = "a file of torch.export.save"
        raise refused("the file is no archive", expected, str(error)) from error
    names = file.namelist()
    roots = [one.partition("/")[0] for one in names if one.count("/") == 1]
    root = next((one for one in roots if f"{one}/archive_format" in names), None)
    if root is None:
        if any(one.endswith("serialized_exported_program.json") for one in names):
            text = "its weights are pickles, which could run anything when they are read"
            hint = "load it with an older torch and save it again with torch 2.8 or later"
            raise refused(text, hint=hint)
        raise refused("the file is no program of torch.export", "a file of torch.export.save")
    if len(set(names)) < len(names):
        raise refused("the file has two entries of one name")
    for one in file.infolist():
        if one.compress_type != zipfile.ZIP_STORED or one.file_size > size:
            text = f"entry `{one.filename}` is compressed"
            raise refused(text, "entries as torch.export.save writes them: stored")
    return Archive(file, root, size, {})


def tensors(archive: Archive, folder: str, config: str) -> dict[str, torch.Tensor]:
    """The tensors that a table of a folder lists, by the names that the program has for them."""
    if config not in archive.names(folder):
        return {}
    table = archive.json(f"{folder}/{config}")
    entries = table.get("config") if isinstance(table, dict) else None
    if not isinstance(entries, dict):
        raise refused(f"`{config}` lists no tensors")
    found, declared = {}, 0
    for name, entry in entries.items():
        found[name] = _tensor(archive, folder, name, entry)
        declared += found[name].numel() * found[name].element_size()
        if declared > SHARING * archive.size:
            text = "the tensors of the file are larger than the file"
            raise refused(text, f"{SHARING * archive.size} bytes or less")
    return found


def _tensor(archive: Archive, folder: str, name: str, entry: Any) -> torch.Tensor:
    """One tensor."""
    if not isinstance(entry, dict) or not isinstance(entry.get("path_name"), str):
        raise refused(f"the entry of `{name}` says no file")
    file = entry["path_name"]
    if entry.get("use_pickle") is not False:
        text = f"`{name}` is a pickle (`{file}`), which could run anything when it is read"
        raise refused(text, hint="save plain dense tensors, or import the program from memory")
    if not FILE_NAME.fullmatch(file):
        raise refused(f"`{name}` lies outside of the archive", "a file name", file)
    meta = entry.get("tensor_meta")
    if not isinstance(meta, dict):
        raise refused(f"`{name}` has no type")
    dtype = element_type(meta.get("dtype"))
    sizes, strides = (_numbers(name, meta.get(key)) for key in ("sizes", "strides"))
    (offset,) = _numbers(name, [meta.get("storage_offset")])
    if len(sizes) != len(strides):
        raise refused(f"`{name}` has another number of strides than of sizes")
    data = archive.bytes_of(f"{folder}/{file}")
    width = torch.empty(0, dtype=dtype).element_size()
    count, held = 1, len(data) // width
    for size in sizes:
        count *= size
    last = offset + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    if (count and (last >= held or count > held)) or offset > held:
        text = f"`{name}` goes beyond its data"
        raise refused(text, f"{held} elements in `{file}`", f"shape {tuple(sizes)}")
    if not count:
        return torch.empty(sizes, dtype=dtype)
    return data[: held * width].view(dtype).as_strided(sizes, strides, offset)


def element_type(number: Any) -> torch.dtype:
    """An element type by its number in a file."""
    from torch._export.serde.serialize import _SERIALIZE_TO_TORCH_DTYPE

    known: Mapping[int, torch.dtype] = _SERIALIZE_TO_TORCH_DTYPE
    if type(number) is not int or number not in known:
        raise refused("there is no such element type", found=str(number)[:40])
    return known[number]


def _numbers(name: str, sizes: Any) -> list[int]:
    """Sizes, which a tensor that is held knows."""
    given = sizes if isinstance(sizes, list) else [None]
    found = [one.get("as_int") if isinstance(one, dict) else None for one in given]
    numbers = [one for one in found if type(one) is int and 0 <= one < MOST]
    if len(numbers) < len(found):
        raise refused(f"`{name}` has sizes that are no numbers", found=str(sizes)[:80])
    return numbers


@frozen
class Held:
    """The tensors of a program: parameters and buffers, and constants."""

    weights: Mapping[str, torch.Tensor]
    constants: Mapping[str, torch.Tensor]


def held(archive: Archive, model: str) -> Held:
    """The tensors of a program in a file."""
    weights = tensors(archive, "data/weights", f"{model}_weights_config.json")
    constants = tensors(archive, "data/constants", f"{model}_constants_config.json")
    return Held(weights, constants)
