"""The machine that runs a program, one instruction at a time.

The call stack is a list, so recursion may be deeper than Python's stack, and tail calls take no
stack space. Python handles signals between two steps, so an endless loop can be interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from relay.errors import EvaluationError
from relay.program.program import Program, Register
from relay.target.loaded import Loaded
from relay.vm.code import Enter, Registers, Run, ThreadedCode, Watch, text_span, translate

DEPTH: Final = 1 << 20  # a stack of so many calls takes less than a gigabyte


class Machine:
    """Runs the functions of a program. It is thread-safe.

    `depth` is the maximal depth of the call stack; None: as much as memory allows.
    """

    def __init__(self, program: Program, loaded: Loaded, depth: int | None = DEPTH) -> None:
        self.program = program
        self.codes = translate(program)
        self.loaded = loaded
        self.depth = depth

    def watched(self, watch: Watch) -> Machine:
        """The same machine with every step wrapped."""
        made = Machine.__new__(Machine)
        made.program, made.loaded, made.depth = self.program, self.loaded, self.depth
        made.codes = translate(self.program, watch)
        return made

    def call(
        self, code: ThreadedCode, args: Sequence[Any], constants: Mapping[str, np.ndarray]
    ) -> Registers:
        """The flattened results of a function for flattened arguments."""
        waiting: list[tuple[ThreadedCode, Registers, int, tuple[Register, ...]]] = []
        try:
            with np.errstate(all="ignore"):  # arithmetic has no errors: integers wrap
                return self._steps(code, args, Run(constants, self.loaded), waiting)
        except MemoryError:
            deep = len(waiting)
            waiting.clear()
            raise EvaluationError.of(
                f"there is no memory left, {deep} calls deep", text_span(code.function.where)
            ) from None

    def _steps(
        self,
        code: ThreadedCode,
        args: Sequence[Any],
        run: Run,
        waiting: list[tuple[ThreadedCode, Registers, int, tuple[Register, ...]]],
    ) -> Registers:
        limit = self.depth
        registers = [*args, *code.blank]
        steps = code.steps
        position = 0
        while True:
            outcome = steps[position](registers, run)
            if outcome is None:
                position += 1
            elif isinstance(outcome, int):
                position = outcome
            elif isinstance(outcome, Enter):
                if outcome.outputs is not None:
                    if limit is not None and len(waiting) >= limit:
                        raise _too_deep(outcome.code, limit)
                    waiting.append((code, registers, position + 1, outcome.outputs))
                code = outcome.code
                registers = outcome.args
                registers += code.blank
                steps = code.steps
                position = 0
            elif waiting:
                code, registers, position, outputs = waiting.pop()
                for register, value in zip(outputs, outcome.values, strict=True):
                    registers[register] = value
                steps = code.steps
            else:
                return outcome.values


def _too_deep(code: ThreadedCode, limit: int) -> EvaluationError:
    return EvaluationError.of(
        f"`@{code.function.name}` recurses deeper than its stack",
        text_span(code.function.where),
        found=f"a stack of {limit} calls",
        hint="VirtualMachine(…, depth=calls) gives it more, None as many as memory holds",
    )
