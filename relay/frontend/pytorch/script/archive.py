"""Files of TorchScript, of which nothing is run.

An archive has the code of its classes as text, which torch compiles, and a pickle of their
attributes, which torch's own reader takes: it makes tensors, numbers, containers and objects of
these classes, and calls nothing, unless a class says with `__setstate__` how it is made. An archive
with such a class is refused. Text may be compressed, within bounds; all other entries are
uncompressed, so that none is larger than the file. The text itself is left to torch's own compiler.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.pytorch.pt2.archive import UNREADABLE
from relay.frontend.pytorch.script import pickles

RUNS = b"__setstate__"
COMPRESSED = (".py", ".debug_pkl")
TEXT = 1 << 28  # bytes of compressed entries together


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of TorchScript."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except UNREADABLE:
        return False
    return any(_is_code(name) for name in names) and any(
        name.endswith("/constants.pkl") for name in names
    )


def load(path: Path) -> Any:
    """The module in an archive."""
    _check(path)
    try:
        return torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever torch says of a file that is not one
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise _refused(path, lines[0][:200] if lines else type(error).__name__) from error


def _check(path: Path) -> None:
    """Refuse a file that runs code, that is larger than it looks, or that says what is not so."""
    with zipfile.ZipFile(path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        if len(sizes) < len(archive.namelist()) or archive.comment:
            raise _refused(path, "two entries of one name, or text behind them")
        compressed = 0
        for entry in archive.infolist():
            name = entry.filename
            if entry.compress_type != zipfile.ZIP_STORED:
                compressed += entry.file_size
                if not name.endswith(COMPRESSED) or compressed > TEXT:
                    raise _refused(path, f"the compressed entry {quoted(name)}")
            if not name.endswith((".py", "pkl")):
                continue
            try:
                data = archive.read(entry)
                if name.endswith("pkl"):
                    folder = f"{name.removesuffix('.pkl')}/"
                    pickles.check(data, _inside(folder, sizes))
            except UNREADABLE as error:
                raise _refused(path, f"{quoted(name)}: {str(error)[:200]}") from error
            if _is_code(name) and RUNS in data:
                raise FrontendError.of(
                    f"{quoted(path.name)} has a class that runs code of the file when it is loaded",
                    expected="an archive of plain modules",
                    found=f"`__setstate__` in {quoted(name)}",
                    hint="if you trust the file, give the module: torch.jit.load(path)",
                )


def _inside(folder: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """The bytes of the entries of a folder, by their names in it."""
    return {
        name.removeprefix(folder): size for name, size in sizes.items() if name.startswith(folder)
    }


def _refused(path: Path, found: str) -> FrontendError:
    return FrontendError.of(f"{quoted(path.name)} cannot be read as TorchScript", found=found)


def _is_code(name: str) -> bool:
    _, _, inside = name.partition("/")
    return inside.startswith("code/") and name.endswith(".py")
