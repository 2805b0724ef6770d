"""Models compiled for another processor: packed, saved and exported here, run there.

    exe = relay.compile(model, target="llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76")
    exe.save("model.relayx")                  for relay.load on such a machine
    exe.export("model", "folder")             for a C compiler that makes programs for it

What kernels compute from weights is computed here: layouts are those of the other machine, and all
machines store numbers in the same order of bytes. `HostKernels` compiles the LLVM IR of these
kernels for this machine, where vectors that are too wide for it are split.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from relay import nd
from relay.errors import TargetError
from relay.executors.bound import BoundFunction
from relay.executors.convention import Convention
from relay.executors.elsewhere import ElsewhereExecutable
from relay.executors.executable import Code
from relay.executors.report import Kernels, Memory
from relay.executors.straight_line import tensors_in, tensors_out
from relay.executors.weights import Weights
from relay.program.program import MAIN, Program
from relay.target.kernel import Kernel
from relay.target.llvm.target import LLVMTarget
from relay.target.loaded import Loaded

# functions of the C library in this process, for instructions that this machine may lack
_MATHEMATICS: Final = frozenset({"fma", "fmaf", "fmod", "fmodf"})
_INTRINSIC: Final = re.compile(r"@llvm\.(aarch64|arm|x86|riscv|wasm)\.")


class HostKernels(Loaded):
    """The kernels of a program for another processor, each compiled for this one when it is first
    called."""

    def __init__(self, kernels: Sequence[Kernel], target: LLVMTarget, threads: int) -> None:
        self.kernels = {kernel.name: kernel for kernel in kernels}
        self.target = target
        self.threads = threads
        self._made: dict[str, Loaded] = {}

    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        if kernel not in self._made:
            self._made[kernel] = self._compiled(self.kernels[kernel])
        self._made[kernel].invoke(kernel, words, where)

    def _compiled(self, kernel: Kernel) -> Loaded:
        from relay.target.llvm.compile import compile_module
        from relay.target.llvm.jit import load
        from relay.target.llvm.loaded import NativeKernels

        here = LLVMTarget.here()
        if not kernel.ir or _INTRINSIC.search(kernel.ir):
            raise TargetError.of(
                f"kernel `{kernel.name}` computes constants with instructions of another processor",
                expected=f"a machine with {', '.join(here.missing(self.target))}",
                found=str(here),
            )
        data = compile_module([kernel.ir], here, imports=_MATHEMATICS)
        return NativeKernels([kernel], load(data, [kernel.name]), self.threads)


class CrossExecutable(ElsewhereExecutable):
    """A compiled model for another processor."""

    is_prepared = True

    def __init__(
        self,
        program: Program,
        code: Code,
        weights: Mapping[str, np.ndarray],
        threads: int | None,
        reason: TargetError,
        *,
        prepared: Mapping[str, np.ndarray] | None = None,
        state: Mapping[str, np.ndarray] | None = None,
        current: Mapping[str, np.ndarray] | None = None,
        convention: Convention | None = None,
    ) -> None:
        kept: dict[str, Any] = {"state": state, "current": current, "convention": convention}
        super().__init__(program, code, weights, threads, reason, **kept)
        assert isinstance(code.target, LLVMTarget)
        self._loaded = HostKernels(program.kernels, code.target, self.threads)
        self._prepared = prepared
        if self.is_straight_line:
            self.inputs = tuple(tensors_in(program[MAIN]))
            self.outputs = tuple(tensors_out(program[MAIN]))

    @property
    def is_straight_line(self) -> bool:
        """Whether it is straight-line code, whose memory is planned."""
        return self.code.program is None

    @cached_property
    def bound(self) -> BoundFunction:
        """`main` with its memory plan."""
        return BoundFunction(self.program, self.program[MAIN], self._loaded, self.threads)

    # --- weights

    @cached_property
    def _weights(self) -> Weights:  # type: ignore[override]
        return Weights(self.program, self._loaded, self.threads, self._given, self._prepared)

    @property
    def params(self) -> dict[str, nd.NDArray]:
        return {name: nd.NDArray(array) for name, array in self._weights.given.items()}

    @property
    def constants(self) -> dict[str, nd.NDArray]:
        """The constants that kernels read: packed weights."""
        arrays = self._weights.constants.arrays
        return {name: nd.NDArray(array) for name, array in arrays.items()}

    def set_params(self, params: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Change weights: what is saved and exported from now on has them."""
        self._weights.change({**(params or {}), **named})

    # --- inspection

    @property
    def kernels(self) -> Kernels:
        return Kernels.of(self.bound.kernels) if self.is_straight_line else super().kernels

    @property
    def memory(self) -> Memory:
        """The memory it will need, in bytes; of a whole program that of its constants."""
        constants = self._weights.constants.nbytes
        if not self.is_straight_line:
            return Memory(0, 0, constants, 0, 0)
        kernels = self.bound.kernels
        return Memory(
            self.bound.plan.arena,
            max((k.workspace + k.worker_workspace * self.threads for k in kernels), default=0),
            constants,
            sum(info.nbytes for info in self.inputs),
            sum(info.nbytes for info in self.outputs),
        )
