"""Loaded kernels: how executors call the code of a target, and where its tensors lie."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.target.kernel import Kernel, TensorSpec
from relay.target.memory import Place, address_of, allocate

# The words that are the arguments of kernel calls, by index.
Slots: TypeAlias = "ctypes.Array[ctypes.c_int64]"


@frozen
class KernelCall:
    """One kernel call of straight-line code."""

    kernel: Kernel
    slots: tuple[int, ...]  # of its inputs and outputs, then of its workspace if it has one
    where: str  # source location


class Loaded(ABC):
    """The loaded kernels of a program; calls are thread-safe."""

    reads_host = True  # kernels read any memory of the host: constants are not copied

    @abstractmethod
    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        """Call a kernel with the addresses of its inputs and outputs, and its dynamic sizes.
        `where` is the source location."""

    def sequence(
        self,
        calls: Sequence[KernelCall],
        inputs: Sequence[TensorSpec] = (),
        outputs: Sequence[TensorSpec] = (),
    ) -> CallSequence:
        """Straight-line code to be run many times; by default one call after another.

        Its first slots are those of `inputs` and `outputs`, which the caller allocates.
        """
        return CallSequence(self, calls)

    def details(self, kernel: str) -> object | None:
        """What the code behind a kernel has to say of its last call, printed with a profile."""
        return None

    def allocate(self, size: int) -> np.ndarray:
        """Memory that the host can address, for all tensors but inputs, scalars and results that
        the caller allocates."""
        return allocate(size)

    def reserve(self, size: int) -> Place:
        """Memory for intermediate tensors, which only kernels access; by default `allocate`."""
        block = self.allocate(size)
        return Place(address_of(block), block)

    def place(self, array: np.ndarray) -> Place:
        """Where kernels of straight-line code read a constant; by default the array itself."""
        return Place(address_of(array), array)


class CallSequence:
    """A sequence of kernel calls."""

    def __init__(self, loaded: Loaded, calls: Sequence[KernelCall]) -> None:
        self.loaded = loaded
        self.calls = calls

    def frame(self, slots: Slots) -> CallFrame:
        """The sequence with the arguments in `slots`, which are read in each run."""
        return CallFrame(self, slots)


class CallFrame:
    """A sequence of kernel calls with its arguments, for one run at a time."""

    def __init__(self, sequence: CallSequence, slots: Slots) -> None:
        self.sequence = sequence
        self.slots = slots

    def run(self) -> int:
        """Run all calls: 0, or a status for `failure`."""
        for call in self.sequence.calls:
            count = len(call.kernel.inputs) + len(call.kernel.outputs)
            words = [self.slots[slot] for slot in call.slots[:count]]
            self.sequence.loaded.invoke(call.kernel.name, words, call.where)
        return 0

    def failure(self, status: int) -> BaseException:
        """The error for a status of `run`."""
        return EvaluationError.of(f"a kernel ended with status {status}")
