"""A compiler process: both ends of its pipe.

    python -m relay.target.llvm.worker      reads requests, writes answers, until its input ends

A request is a frame (`relay.cache.process`) of JSON ({"target", "opt", "texts": how many}) and one
per text; an answer is a frame of JSON ({"error": null or its parts}) and one with the object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from relay.cache.process import READY, Worker, read_frame, write_frame
from relay.errors import Diagnostic, TargetError


class CompileWorker(Worker):
    """A compiler process, as its client sees it."""

    module = __spec__.name

    def compile(self, texts: Sequence[str], target: str, opt: int) -> bytes:
        """`compile_module` in the other process."""
        request: dict[str, Any] = {"target": target, "opt": opt, "texts": len(texts)}
        try:
            write_frame(self._requests, json.dumps(request).encode())
            for text in texts:
                write_frame(self._requests, text.encode())
            self._requests.flush()
            answer = json.loads(read_frame(self._answers))
            data = read_frame(self._answers)
        except (EOFError, OSError, ValueError):
            raise TargetError.of(
                "a process that compiles ended unexpectedly",
                found=f"exit status {self._process.wait()}",
                hint="what LLVM had to say stands in the standard error output",
            ) from None
        if answer["error"] is not None:
            raise TargetError([Diagnostic(**parts) for parts in answer["error"]])
        return data


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The server: compile requests until the input ends."""
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
