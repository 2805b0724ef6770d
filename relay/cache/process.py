"""Another process that works for this one, and the frames between them.

A frame is a length in eight bytes, little endian, then that many bytes. Before the first request
the process says that it is there. It is started, never forked: LLVM and threads do not survive a
fork.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    import subprocess

READY = b"relay compiler"


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Send `data`."""
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)


def read_frame(stream: IO[bytes]) -> bytes:
    """Receive what `write_frame` sent; EOFError when the other side is gone."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    length = int.from_bytes(head, "little")
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class Worker:
    """The other process, seen from the one that asks it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        self._requests = process.stdin
        self._answers = process.stdout

    module: str  # what the process runs

    @classmethod
    def start(cls) -> Self | None:
        """A new process, or None when this system starts none."""
        import subprocess  # where every kernel is found, none is started

        if not sys.executable:
            return None
        # found where this process found its modules, installed or not
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", cls.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                # Ctrl-C is for the process the user started, which stops this one
                start_new_session=True,
            )
        except OSError:
            return None
        return cls(process)

    def ready(self) -> bool:
        """Wait until the process has started; False when it did not."""
        try:
            return read_frame(self._answers) == READY
        except (EOFError, OSError, ValueError):
            return False

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):  # what was not sent before it died is not sent any more
            self._requests.close()
        self._answers.close()
