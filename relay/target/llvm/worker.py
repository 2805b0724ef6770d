"""A process that compiles for another one: both ends of the pipe between them.

    python -m relay.target.llvm.worker      reads requests, writes answers, until its input ends

Everything is frames: a length in eight bytes, little endian, then that many bytes. A request is a
frame of JSON ({"target", "opt", "texts": how many}) and one frame per text; an answer is a frame
of JSON ({"error": null or its parts}) and one with the object. Before the first request the
process says that it is there. It is started, never forked: LLVM and threads do not survive a fork.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, Self

from relay.errors import Diagnostic, TargetError

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
    """The other process, seen from the one that has something to compile."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        assert process.stdin is not None and process.stdout is not None
        self._requests = process.stdin
        self._answers = process.stdout

    module = __spec__.name  # what the process runs

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

    def compile(self, texts: Sequence[str], target: str, opt: int) -> bytes:
        """What `compile_module` gives, made by the other process."""
        request: dict[str, Any] = {"target": target, "opt": opt, "texts": len(texts)}
        try:
            write_frame(self._requests, json.dumps(request).encode())
            for text in texts:
                write_frame(self._requests, text.encode())
            self._requests.flush()
            answer = json.loads(read_frame(self._answers))
            data = read_frame(self._answers)
        except (EOFError, OSError, ValueError):
            raise TargetError(
                Diagnostic(
                    "a process that compiles ended unexpectedly",
                    found=f"exit status {self._process.wait()}",
                    hint="what LLVM had to say stands in the standard error output",
                )
            ) from None
        if answer["error"] is not None:
            raise TargetError([Diagnostic(**parts) for parts in answer["error"]])
        return data

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):  # what was not sent before it died is not sent any more
            self._requests.close()
        self._answers.close()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The other end: compile what is asked for until nothing more comes."""
    from relay.target.llvm.compile import compile_module
    from relay.target.llvm.target import LLVMTarget

    write_frame(answers, READY)
    answers.flush()
    while True:
        try:
            request = json.loads(read_frame(requests))
            texts = [read_frame(requests).decode() for _ in range(request["texts"])]
        except EOFError:
            return
        error: list[dict[str, Any]] | None = None
        data = b""
        try:
            data = compile_module(texts, LLVMTarget.read(request["target"]), opt=request["opt"])
        except TargetError as failure:
            error = [_plain(diagnostic) for diagnostic in failure.diagnostics]
        write_frame(answers, json.dumps({"error": error}).encode())
        write_frame(answers, data)
        answers.flush()


def _plain(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        name: value
        for name, value in asdict(diagnostic).items()
        if name in ("message", "expected", "found", "hint")
    }


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
