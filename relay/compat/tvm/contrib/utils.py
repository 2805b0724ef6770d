"""Temporary folders, which exist as long as somebody holds them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class TempDirectory:
    """A temporary folder; `relpath` names files in it."""

    def __init__(self) -> None:
        self.temp_dir = tempfile.mkdtemp()
        self._remove = weakref.finalize(self, shutil.rmtree, self.temp_dir, ignore_errors=True)

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of the files in the folder."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder now."""
        self._remove()


def tempdir() -> TempDirectory:
    """A new folder."""
    return TempDirectory()
