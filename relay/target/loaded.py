"""Loaded kernels: how executors call the code of a target, and where its tensors lie."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from relay.errors import Diagnostic, EvaluationError
from relay.immutable import frozen
from relay.target.kernel import Kernel
from relay.target.memory import allocate

# The words that the calls of a function take their arguments from, by index.
Slots: TypeAlias = "ctypes.Array[ctypes.c_int64]"


@frozen
class KernelCall:
    """One call of straight-line code."""

    kernel: Kernel
    slots: tuple[int, ...]  # of its inputs and outputs, then of its workspace where it has one
    where: str  # the place in the source


class Loaded(ABC):
    """The kernels of a program, ready to be called, by several threads at once."""

    reads_host = True  # kernels read memory of the host wherever it lies: constants are not copied

    @abstractmethod
    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        """Call a kernel with the addresses of its inputs and outputs, and with its sizes. `where`
        is the place in the source."""

    def sequence(self, calls: Sequence[KernelCall]) -> CallSequence:
        """Straight-line code, made once to be run many times; by default one call after another."""
        return CallSequence(self, calls)

    def allocate(self, size: int) -> np.ndarray:
        """Memory for constants, intermediate tensors, workspaces and results, which the host can
        address too. Only inputs, scalars and results that the caller has room for lie elsewhere."""
        return allocate(size)


class CallSequence:
    """Calls of kernels in order."""

    def __init__(self, loaded: Loaded, calls: Sequence[KernelCall]) -> None:
        self.loaded = loaded
        self.calls = calls

    def frame(self, slots: Slots) -> CallFrame:
        """The same over the words of `slots`, as they are at the time of each run."""
        return CallFrame(self, slots)


class CallFrame:
    """A sequence of calls with its arguments, for one run at a time."""

    def __init__(self, sequence: CallSequence, slots: Slots) -> None:
        self.sequence = sequence
        self.slots = slots

    def run(self) -> int:
        """Run all of it: 0, or a status that `failure` explains."""
        for call in self.sequence.calls:
            count = len(call.kernel.inputs) + len(call.kernel.outputs)
            words = [self.slots[slot] for slot in call.slots[:count]]
            self.sequence.loaded.invoke(call.kernel.name, words, call.where)
        return 0

    def failure(self, status: int) -> BaseException:
        """The error for a status of `run`."""
        return EvaluationError(Diagnostic(f"a kernel ended with status {status}"))
