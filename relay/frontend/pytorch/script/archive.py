"""Files of TorchScript, of which nothing is run.

An archive has the code of its classes as text, which torch compiles, and a pickle of their
attributes, which torch's own reader takes: it makes tensors, numbers, containers and objects of
these classes, and calls nothing, unless a class says with `__setstate__` how it is made. An archive
with such a class is refused.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted

RUNS = b"__setstate__"


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of TorchScript."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any(_is_code(name) for name in names) and any(
        name.endswith("/constants.pkl") for name in names
    )


def load(path: Path) -> Any:
    """The module in an archive."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if _is_code(entry.filename) and RUNS in archive.read(entry):
                raise FrontendError.of(
                    f"{quoted(path.name)} has a class that runs code of the file when it is loaded",
                    expected="an archive of plain modules",
                    found=f"`__setstate__` in {quoted(entry.filename)}",
                    hint="if you trust the file, give the module: torch.jit.load(path)",
                )
    try:
        return torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        text = f"{quoted(path.name)} cannot be read as TorchScript"
        raise FrontendError.of(text, found=str(error).splitlines()[0]) from error


def _is_code(name: str) -> bool:
    _, _, inside = name.partition("/")
    return inside.startswith("code/") and name.endswith(".py")
