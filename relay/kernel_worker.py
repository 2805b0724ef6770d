"""A process that makes kernels for another one: both ends of the pipe between them.

    python -m relay.kernel_worker       reads requests, writes answers, until its input ends

A request is a primitive function as text and all that lowering it depends on; the answer is what
lowering gives and the object code of its kernels. Frames and life are those of
`relay.target.llvm.worker`. What goes wrong over there is not told: the function is lowered here
again, where the error belongs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO

from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.lower import stored
from relay.lower.kernel import Lowered, Options
from relay.parser import parse_expr
from relay.target.llvm.compile import compile_module
from relay.target.llvm.worker import READY, Worker, read_frame, write_frame
from relay.target.target import Target


@dataclass(frozen=True)
class Made:
    """A primitive function as steps, and the object code of its kernels by name."""

    lowered: Lowered
    objects: dict[str, bytes]


def make(function: Function, constant: Sequence[bool], target: Target, options: Options) -> Made:
    """Lower a function and compile its kernels."""
    from relay.lower.lower import lower  # kernels that are found need no code generator

    lowered = lower(function, constant, target, options)
    kernels = {step.kernel.name: step.kernel for step in lowered.steps}
    objects = {name: compile_module([kernel.ir], target) for name, kernel in kernels.items()}
    return Made(lowered, objects)


class KernelWorker(Worker):
    """The other process, seen from the one that wants kernels."""

    module = __spec__.name

    def make(
        self, text: str, constant: Sequence[bool], target: Target, options: Options
    ) -> Made | None:
        """What `make` gives, made by the other process; None when it cannot."""
        request = {"constant": list(constant), "target": str(target), "options": asdict(options)}
        try:
            write_frame(self._requests, json.dumps(request).encode())
            write_frame(self._requests, text.encode())
            self._requests.flush()
            names = json.loads(read_frame(self._answers))
            if names is None:
                return None
            lowered = stored.from_bytes(read_frame(self._answers))
            return Made(lowered, {name: read_frame(self._answers) for name in names})
        except (EOFError, OSError, ValueError):
            return None


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """The other end: make what is asked for until nothing more comes."""
    write_frame(answers, READY)
    answers.flush()
    while True:
        try:
            request = json.loads(read_frame(requests))
            text = read_frame(requests).decode()
        except EOFError:
            return
        try:
            module = infer_module(IRModule({"main": parse_expr(text)}))
            target, options = Target(request["target"]), Options(**request["options"])
            made = make(module["main"], request["constant"], target, options)
        except RelayError:
            write_frame(answers, json.dumps(None).encode())
        else:
            write_frame(answers, json.dumps(list(made.objects)).encode())
            write_frame(answers, stored.to_bytes(made.lowered))
            for data in made.objects.values():
                write_frame(answers, data)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
