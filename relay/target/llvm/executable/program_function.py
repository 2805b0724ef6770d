"""Calls a function of a native program with Python values.

    function = ProgramFunction(program, program["main"], address, failure, threads=2)
    value = function([tree, state], constants)

A call is one native call: the arguments are encoded and imported as objects, the function runs, and
its results are exported. Common arguments are encoded by native code (`encode_native.py`), others
by Python (`encode.py`), which also reports errors. Contexts, with the memory of a call, are in a
pool, so calls may come from several threads; each takes the context that was used last.

Cells are shared with the caller, who sees what a program writes to them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from struct import Struct, pack_into
from typing import Any, Final

from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.native import layout
from relay.native.call import ConstantObjects, ProgramContext, program_runtime
from relay.native.python_values import GAVE_UP, HOLDS
from relay.program.program import Function, Parameter, Program, Spec, flatten, unflatten
from relay.target.llvm import abi
from relay.target.llvm.executable.encode import Readers, leaves_of
from relay.target.llvm.executable.encode_native import Reading, reading_plan
from relay.target.llvm.executable.message import Message, Mismatch, Read, argument_error
from relay.target.llvm.executable.results import Results
from relay.target.llvm.executable.style import VALUES, Style
from relay.target.llvm.program.words import is_object

_MOST_KEPT: Final = 1 << 20  # words for entries that a frame keeps between calls

# The error for the status and the context of a failed call.
Failure = Callable[[int, ProgramContext], BaseException]


def default_failure(status: int, context: ProgramContext) -> Exception:
    """The error for a status, without knowing the program."""
    meaning = {
        abi.INTERRUPTED: "interrupted",
        abi.OUT_OF_MEMORY: "out of memory",
        layout.TOO_LARGE: "a tensor would be too large",
        layout.STACK_OVERFLOW: "the program recurses deeper than its stack",
    }
    return EvaluationError.of(meaning.get(status, f"the program failed: status {status}"))


@frozen
class _Argument:
    """A parameter: its name, its type, and the readers of its leaves."""

    name: str
    structure: Any
    readers: tuple[Read, ...]
    is_leaf: bool  # not a tuple

    def read(self, value: Any, message: Message, words: list[int]) -> None:
        """Append the words of `value`."""
        message.argument = self.name
        try:
            if self.is_leaf:
                words.append(self.readers[0](value, message))
            else:
                parts = leaves_of((self.structure,), (value,))
                for read, part in zip(self.readers, parts, strict=True):
                    words.append(read(part, message))
            if message.pending:
                message.finish()
        except Mismatch as error:
            raise argument_error(error, self.name) from None


class _CallFrame:
    """The memory of one call at a time: a context and a request, most of which is written once."""

    __slots__ = ("context", "entries", "reading", "request", "request_address", "words")

    def __init__(self, function: ProgramFunction) -> None:
        self.context = ProgramContext(
            function.threads, stack=function.stack, memory=function.memory
        )
        if function.prepare is not None:
            function.prepare(self.context)
        self.words = array(
            "q", bytes(8 * max(1, function.results_count + function.arguments_count))
        )
        self.entries = array("q", bytes(8))
        self.request = array(
            "q",
            [
                self.context.address,
                function.address,
                self.entries.buffer_info()[0],
                0,
                self.words.buffer_info()[0],
                function.results_count,
                *function.positions.request,
            ],
        )
        self.request_address = self.request.buffer_info()[0]
        self.reading: Reading | None = None
        if function.plan is not None:
            given = self.words.buffer_info()[0] + 8 * function.results_count
            self.reading = Reading(function.plan, self.request_address, given)

    def write(self, words: Sequence[int], count: int) -> None:
        """Set the `count` entries of the request."""
        if not len(words) <= len(self.entries) <= _MOST_KEPT + len(words):
            self.entries = array("q", bytes(8 * (len(words) + min(len(words), _MOST_KEPT) + 64)))
        pack_into(f"{len(words)}q", self.entries, 0, *words)
        self.request[_BUFFER] = self.entries.buffer_info()[0]
        self.request[_COUNT] = count


class ProgramFunction:
    """A function of a program, whose entry (`relay.target.llvm.program.translate`) is at `address`.

    The code must stay loaded. `prepare` is called with each context before its first call. `stack`
    and `memory` are limits in bytes, 0 for the defaults.
    """

    def __init__(
        self,
        program: Program,
        function: Function,
        address: int,
        failure: Failure = default_failure,
        *,
        prepare: Callable[[ProgramContext], None] | None = None,
        threads: int | None = None,
        stack: int = 0,
        memory: int = 0,
    ) -> None:
        self.function = function
        self.address = address
        self.failure = failure
        self.prepare = prepare
        self.threads = threads
        self.stack = stack
        self.memory = memory
        readers = Readers(program.type_table)
        self.arguments = [_argument(function, param, readers) for param in function.params]
        self.plan = reading_plan([a.structure for a in self.arguments], readers)
        self.result_specs: list[Spec] = flatten(function.results)
        self.results_count = len(self.result_specs)
        given = [s for a in self.arguments for s in flatten(a.structure)]
        self.arguments_count = len(given)
        self.imported = [self.results_count + i for i, s in enumerate(given) if is_object(s)]
        self.exported = [i for i, s in enumerate(self.result_specs) if is_object(s)]
        self.positions = _Positions(self.imported, self.exported)
        free = program_runtime().free_block
        self._results = Results(program.type_table, function.results, free)
        self._write_words = Struct(f"{self.arguments_count}q").pack_into
        self._free: list[_CallFrame] = []

    def __call__(
        self, args: Sequence[Any], constants: ConstantObjects | None = None, style: Style = VALUES
    ) -> Any:
        """Call the function. `constants` are those of the program, in order."""
        given = args if type(args) is tuple else tuple(args)
        try:
            frame = self._free.pop()
        except IndexError:
            frame = _CallFrame(self)
        context, reading = frame.context, frame.reading
        found = GAVE_UP
        try:
            context.constants = constants
            if reading is not None:
                context.watch()
                found = reading.perform(given)
                if 0 <= found <= HOLDS:
                    return self._results.read(context, frame.words, (), style)
                if found != GAVE_UP:
                    raise self._failed(found >> 1, context)
            message = Message()
            request = self._read(given, frame, message)
            if status := context.perform(request.request_address):
                raise self._failed(status, context)
            return self._results.read(context, request.words, message.cells, style)
        finally:
            if reading is not None and found != GAVE_UP and found & HOLDS:
                reading.end()
            self._free.append(frame)

    def _read(
        self, args: tuple[Any, ...], frame: _CallFrame, message: Message
    ) -> _CallFrame | _RequestWithCells:
        """Encode any arguments; returns the request with its words."""
        words: list[int] = []
        for argument, value in zip(self.arguments, args, strict=True):
            argument.read(value, message, words)
        if self.plan is not None:
            self.plan.learn()
        frame.write(message.words, message.count)
        if message.cells:
            return _RequestWithCells(self, frame, message, words)
        self._write_words(frame.words, 8 * self.results_count, *words)
        return frame

    def _failed(self, status: int, context: ProgramContext) -> BaseException:
        """The error of a failed call, or the exception of a signal handler."""
        return context.raised(status) or self.failure(status, context)

    @property
    def contexts(self) -> list[ProgramContext]:
        """The contexts of idle frames."""
        return [frame.context for frame in self._free]


_BUFFER, _COUNT, _WORDS, _POSITIONS = 2, 3, 4, slice(6, 10)  # parts of a request


class _Positions:
    """The positions of imported and exported objects in the words of a call."""

    __slots__ = ("_exported", "_imported", "request")

    def __init__(self, imported: Sequence[int], exported: Sequence[int]) -> None:
        self._imported = array("i", imported)
        self._exported = array("i", exported)
        # fields of a request
        self.request = (
            self._imported.buffer_info()[0],
            len(imported),
            self._exported.buffer_info()[0],
            len(exported),
        )


class _RequestWithCells:
    """A request that also imports and exports the cells of the caller."""

    __slots__ = ("_positions", "_request", "request_address", "words")

    def __init__(
        self, function: ProgramFunction, frame: _CallFrame, message: Message, words: Sequence[int]
    ) -> None:
        kept = [2 * index for _, index, _ in message.cells]
        self.words = array("q", [*[0] * function.results_count, *words, *kept])
        places = range(len(self.words) - len(kept), len(self.words))
        self._positions = _Positions([*function.imported, *places], [*function.exported, *places])
        self._request = array("q", frame.request)
        self._request[_WORDS] = self.words.buffer_info()[0]
        self._request[_POSITIONS] = array("q", self._positions.request)
        self.request_address = self._request.buffer_info()[0]


def _argument(function: Function, param: Parameter, readers: Readers) -> _Argument:
    structure = typed(param.value, function.registers)
    leaves = flatten(structure)
    return _Argument(
        param.name,
        structure,
        tuple(readers[leaf] for leaf in leaves),
        not isinstance(structure, tuple),
    )


def typed(value: Any, registers: Sequence[Spec]) -> Any:
    """The types of the registers of a parameter, with the same nesting."""
    return unflatten(value, [registers[register] for register in flatten(value)])
