"""A process that makes kernels for another one: both ends of the pipe between them.

    python -m relay.cache.worker       reads requests, writes answers, until its input ends

A request is a primitive function as text and all that lowering it depends on; the answer is the
result of lowering and the object code of its kernels. Frames and the life of the process are those
of `relay.target.llvm.worker`. Errors are not sent back: the function is lowered again by the
process that asked, which reports them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from relay import tree
from relay.cache.process import READY, Worker, read_frame, write_frame
from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.ir.variables import free_type_vars
from relay.lower import stored
from relay.lower.kernel import Lowered, Options
from relay.parser import parse_expr
from relay.program.primitives import Primitive
from relay.target.target import Target, described

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic


@frozen
class Made:
    """A lowered primitive function, and the object code of its kernels by name."""

    lowered: Lowered | Dynamic
    objects: dict[str, bytes]


Objects = Mapping[str, bytes]  # by the names of kernels
NONE: Objects = MappingProxyType({})


def make(wanted: Primitive, target: Target, options: Options, known: Objects = NONE) -> Made:
    """Lower a function and compile its kernels, but for those that are `known`."""
    lowered: Lowered | Dynamic
    if wanted.dynamic:
        from relay.lower.lower_dynamic import lower_dynamic  # cached kernels need no code generator

        lowered = lower_dynamic(wanted.function, wanted.constant, target, options)
    else:
        from relay.lower.lower import lower_static

        lowered = lower_static(wanted.function, wanted.constant, target, options)
    # functions over different weights often prepare them by the same kernel
    kernels = {step.kernel.name: step.kernel for step in lowered.steps}
    objects = {
        name: known[name] if name in known else target.compile([kernel.ir])[0]
        for name, kernel in kernels.items()
    }
    return Made(lowered, objects)


class KernelWorker(Worker):
    """The other process, seen from the one that wants kernels."""

    module = __spec__.name

    def make(self, wanted: Primitive, text: str, target: Target, options: Options) -> Made | None:
        """What `make` returns, made by the other process from `text`; None when it cannot."""
        request = {
            "constant": wanted.constant,
            "dynamic": wanted.dynamic,
            "target": str(target),
            "options": asdict(options),
        }
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
    known: dict[str, bytes] = {}
    write_frame(answers, READY)
    answers.flush()
    while True:
        try:
            request = json.loads(read_frame(requests))
            text = read_frame(requests).decode()
        except EOFError:
            return
        try:
            function = typed_function(text)
            wanted = Primitive(function, tuple(request["constant"]), request["dynamic"])
            made = make(wanted, described(request["target"]), Options(**request["options"]), known)
        except RelayError:
            write_frame(answers, json.dumps(None).encode())
        else:
            known.update(made.objects)
            write_frame(answers, json.dumps(list(made.objects)).encode())
            write_frame(answers, stored.to_bytes(made.lowered))
            for data in made.objects.values():
                write_frame(answers, data)
        answers.flush()


def typed_function(text: str) -> Function:
    """The function of a request; the program around it declared the dimensions it names."""
    function = parse_expr(text)
    assert isinstance(function, Function)
    if free := free_type_vars(function):
        function = tree.replace(function, type_params=(*free, *function.type_params))
    typed = infer_module(IRModule({"main": function}))["main"]
    assert isinstance(typed, Function)
    return typed


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
