"""Calling a function of a native program: values in, values out.

    function = ProgramFunction(program, program["main"], address, failure, threads=2)
    value = function([tree, state], constants)

A call is one native call: what the arguments lead to is written down and becomes objects there, the
function runs, and what its results lead to is written down again. Contexts, with the memory of a
call, wait in a pool; so calls may come from several threads at once, and each takes the context
that was used last.

Cells are shared with the caller: what a program writes to a cell it was given, the caller sees.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

from relay.errors import Diagnostic, EvaluationError
from relay.executors.message import Message, Mismatch, Read, refusal
from relay.executors.words_in import Readers, take_apart
from relay.executors.words_out import VALUES, Exported, ScalarKind, Style, Writers, collect
from relay.interpreter.values import RefValue
from relay.native import layout
from relay.native.call import ConstantObjects, ProgramContext, program_runtime
from relay.program.llvm.words import is_object
from relay.program.program import Function, Parameter, Program, Spec, flatten, unflatten
from relay.target import abi

# The status of a call that failed, and its context, as an error.
Failure = Callable[[int, ProgramContext], Exception]


def plain_failure(status: int, context: ProgramContext) -> Exception:
    """What can be said without knowing the program."""
    meaning = {
        abi.INTERRUPTED: "interrupted",
        abi.OUT_OF_MEMORY: "out of memory",
        layout.STACK_OVERFLOW: "the program recurses deeper than its stack",
    }
    return EvaluationError(Diagnostic(meaning.get(status, f"the program failed: status {status}")))


@dataclass(frozen=True)
class _Argument:
    """A parameter: its name, its type, and how the parts of its value are read."""

    name: str
    structure: Any
    readers: tuple[Read, ...]

    def read(self, value: Any, message: Message) -> list[int]:
        message.argument = self.name
        try:
            parts = (
                take_apart((self.structure,), (value,))
                if isinstance(self.structure, tuple)
                else (value,)
            )
            words = [read(part, message) for read, part in zip(self.readers, parts, strict=True)]
            message.finish()
        except Mismatch as error:
            raise refusal(error, self.name) from None
        return words


class _Frame:
    """The memory of one call at a time: a context, and what a request says."""

    __slots__ = ("context", "request", "request_address", "words", "words_address")

    def __init__(self, function: ProgramFunction) -> None:
        self.context = ProgramContext(
            function.threads, stack=function.stack, memory=function.memory
        )
        self.words = array(
            "q", bytes(8 * max(1, function.results_count + function.arguments_count))
        )
        self.words_address = self.words.buffer_info()[0]
        self.request = (ctypes.c_int64 * 10)()
        self.request_address = ctypes.addressof(self.request)


class ProgramFunction:
    """A function of a program, whose entry (`relay.program.llvm.translate`) is at `address`.

    The code there must stay loaded as long as this lives. `stack` and `memory` are limits in bytes,
    0 for the usual ones.
    """

    def __init__(
        self,
        program: Program,
        function: Function,
        address: int,
        failure: Failure = plain_failure,
        *,
        threads: int | None = None,
        stack: int = 0,
        memory: int = 0,
    ) -> None:
        self.function = function
        self.address = address
        self.failure = failure
        self.threads = threads
        self.stack = stack
        self.memory = memory
        readers = Readers(program.type_table)
        self.arguments = [_argument(function, param, readers) for param in function.params]
        self.result_specs: list[Spec] = flatten(function.results)
        self.results_count = len(self.result_specs)
        given = [s for a in self.arguments for s in flatten(a.structure)]
        self.arguments_count = len(given)
        self._imported = [self.results_count + i for i, s in enumerate(given) if is_object(s)]
        self._exported = [i for i, s in enumerate(self.result_specs) if is_object(s)]
        self._positions = _Positions(self._imported, self._exported)
        self._writers = Writers(program.type_table, program_runtime().free_block)
        self._kinds = [self._writers.kind(spec) for spec in self.result_specs]
        self._is_tuple = isinstance(function.results, tuple)
        self._is_flat = self._is_tuple and list(function.results) == self.result_specs
        self._write_words = Struct(f"{self.arguments_count}q").pack_into
        self._free: list[_Frame] = []

    def __call__(
        self, args: Sequence[Any], constants: ConstantObjects | None = None, style: Style = VALUES
    ) -> Any:
        """Run, with a value for each parameter. `constants` are those of the program, in order."""
        message = Message()
        words: list[int] = []
        for argument, value in zip(self.arguments, args, strict=True):
            words += argument.read(value, message)
        frame = self._take()
        try:
            exported, scalars = self._perform(frame, message, words, constants)
        finally:
            self._free.append(frame)
        return self._result(exported, scalars, message, style)

    def _take(self) -> _Frame:
        try:
            return self._free.pop()
        except IndexError:
            return _Frame(self)

    def _perform(
        self,
        frame: _Frame,
        message: Message,
        words: Sequence[int],
        constants: ConstantObjects | None,
    ) -> tuple[Exported, Sequence[int]]:
        context = frame.context
        entries = array("q", message.words)
        values, place, positions = frame.words, frame.words_address, self._positions
        if not message.cells:
            self._write_words(values, 8 * self.results_count, *words)
        else:  # they are held beside the arguments, to be looked at again
            kept = [2 * index for _, index, _ in message.cells]
            values = array("q", [*[0] * self.results_count, *words, *kept])
            place = values.buffer_info()[0]
            places = range(len(values) - len(kept), len(values))
            positions = _Positions([*self._imported, *places], [*self._exported, *places])
        _REQUEST(
            frame.request,
            0,
            context.address,
            self.address,
            entries.buffer_info()[0],
            message.count,
            place,
            self.results_count,
            *positions.request,
        )
        context.constants = constants
        status = context.perform(frame.request_address)
        if status:
            raise self.failure(status, context)
        return Exported.at(*context.exported()), values[: self.results_count]

    def _result(
        self, exported: Exported, scalars: Sequence[int], message: Message, style: Style
    ) -> Any:
        words = exported.words
        roots = [(words[i], self._kinds[place]) for i, place in enumerate(self._exported)]
        known: dict[int, RefValue] = {}
        for position, (cell, _, spec) in enumerate(message.cells, len(roots)):
            known[words[position]] = cell
            roots.append((words[position], self._writers.kind(spec)))
        found = iter(self._writers.values(exported, roots, style, known))
        parts = [
            style.scalar(kind.decode(word), kind.dtype) if type(kind) is ScalarKind else next(found)
            for kind, word in zip(self._kinds, scalars, strict=True)
        ]
        if not self._is_tuple:
            return parts[0]
        if self._is_flat:
            return style.collect(parts)
        return collect(unflatten(self.function.results, parts), style)

    # --- looking at it

    @property
    def contexts(self) -> list[ProgramContext]:
        """Those that wait for a call."""
        return [frame.context for frame in self._free]


_REQUEST = Struct("10q").pack_into


class _Positions:
    """Where in the words of a call objects come in, and where they go out."""

    __slots__ = ("_exported", "_imported", "request")

    def __init__(self, imported: Sequence[int], exported: Sequence[int]) -> None:
        self._imported = array("i", imported)
        self._exported = array("i", exported)
        # their part of a request
        self.request = (
            self._imported.buffer_info()[0],
            len(imported),
            self._exported.buffer_info()[0],
            len(exported),
        )


def _argument(function: Function, param: Parameter, readers: Readers) -> _Argument:
    structure = _typed(param.value, function.registers)
    leaves = flatten(structure)
    return _Argument(param.name, structure, tuple(readers[leaf] for leaf in leaves))


def _typed(value: Any, registers: Sequence[Spec]) -> Any:
    """The types of a parameter's registers, nested like them."""
    return unflatten(value, [registers[register] for register in flatten(value)])
