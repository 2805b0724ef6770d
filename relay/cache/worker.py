"""A process that makes kernels for another one: both ends of the pipe between them.

    python -m relay.cache.worker       reads requests, writes answers, until its input ends

A request is a primitive function as text and all that lowering it depends on, be it for known sizes
or for those that a run finds; the answer is what lowering gives and the object code of its kernels.
Frames and life are those of `relay.target.llvm.worker`. What goes wrong over there is not told: the
function is lowered here again, where the error belongs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Generic, TypeVar

from relay import tree
from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.ir.variables import free_type_vars
from relay.lower import stored
from relay.lower.kernel import Lowered, Options, Step
from relay.parser import parse_expr
from relay.target.llvm.worker import READY, Worker, read_frame, write_frame
from relay.target.target import Target, described

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic

L = TypeVar("L")


@frozen
class Made(Generic[L]):
    """A primitive function as steps, and the object code of its kernels by name."""

    lowered: L
    objects: dict[str, bytes]


Objects = Mapping[str, bytes]  # by the names of kernels
NONE: Objects = MappingProxyType({})


def make(
    function: Function,
    constant: Sequence[bool],
    target: Target,
    options: Options,
    known: Objects = NONE,
) -> Made[Lowered]:
    """Lower a function and compile its kernels, but for those that are `known`."""
    from relay.lower.lower import lower  # kernels that are found need no code generator

    lowered = lower(function, constant, target, options)
    return Made(lowered, _objects(lowered.steps, target, known))


def make_dynamic(
    function: Function,
    constant: Sequence[bool],
    target: Target,
    options: Options,
    known: Objects = NONE,
) -> Made[Dynamic]:
    """The same for a function over sizes that a run finds."""
    from relay.lower.symbolic import lower_dynamic

    made = lower_dynamic(function, constant, target, options)
    return Made(made, _objects(made.steps, target, known))


def _objects(steps: Iterable[Step], target: Target, known: Objects) -> dict[str, bytes]:
    """The code of all kernels. Their names tell them apart: functions over different weights often
    prepare them in the same way."""
    kernels = {step.kernel.name: step.kernel for step in steps}
    return {
        name: known[name] if name in known else target.compile([kernel.ir])[0]
        for name, kernel in kernels.items()
    }


class KernelWorker(Worker):
    """The other process, seen from the one that wants kernels."""

    module = __spec__.name

    def make(
        self, text: str, constant: Sequence[bool], target: Target, options: Options
    ) -> Made[Lowered] | None:
        """What `make` gives, made by the other process; None when it cannot."""
        return self._asked("make", text, constant, target, options, stored.from_bytes)

    def make_dynamic(
        self, text: str, constant: Sequence[bool], target: Target, options: Options
    ) -> Made[Dynamic] | None:
        """What `make_dynamic` gives, in the same way."""
        from relay.lower.stored_dynamic import from_bytes  # not for who has known sizes only

        return self._asked("make_dynamic", text, constant, target, options, from_bytes)

    def _asked(
        self,
        what: str,
        text: str,
        constant: Sequence[bool],
        target: Target,
        options: Options,
        read: Callable[[bytes], L],
    ) -> Made[L] | None:
        request = {
            "what": what,
            "constant": list(constant),
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
            lowered = read(read_frame(self._answers))
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
            function = _typed(text)
            target, options = described(request["target"]), Options(**request["options"])
            lowered, objects = _answer(
                request["what"], function, request["constant"], target, options, known
            )
        except RelayError:
            write_frame(answers, json.dumps(None).encode())
        else:
            known.update(objects)
            write_frame(answers, json.dumps(list(objects)).encode())
            write_frame(answers, lowered)
            for data in objects.values():
                write_frame(answers, data)
        answers.flush()


def _typed(text: str) -> Function:
    """A function as it was asked for; the sizes it names were those of the program around it."""
    function = parse_expr(text)
    assert isinstance(function, Function)
    if free := free_type_vars(function):
        function = tree.replace(function, type_params=(*free, *function.type_params))
    typed = infer_module(IRModule({"main": function}))["main"]
    assert isinstance(typed, Function)
    return typed


def _answer(
    what: str,
    function: Function,
    constant: Sequence[bool],
    target: Target,
    options: Options,
    known: Objects,
) -> tuple[bytes, dict[str, bytes]]:
    if what == "make":
        made = make(function, constant, target, options, known)
        return stored.to_bytes(made.lowered), made.objects
    from relay.lower import stored_dynamic

    sized = make_dynamic(function, constant, target, options, known)
    return stored_dynamic.to_bytes(sized.lowered), sized.objects


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
