"""Kernels of the target `c`, compiled together with every warning on, and run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from relay import dtypes
from relay.lower.kernel import Lowered, Options, Param, Result, Temporary
from relay.lower.lower import lower_computed
from relay.lower.to_compute import Computed
from relay.target import Target
from relay.target.c import loaded
from relay.target.memory import address_of, allocate

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
# the compiler guesses at what loops over parts of local arrays leave out
GUESSES = ("-Wno-maybe-uninitialized", "-Wno-aggressive-loop-optimizations")
C = Target("c")


def lowered(computed: Computed, checked: bool = False) -> Lowered:
    constant = [False] * len(computed.inputs)
    return lower_computed(computed, constant, C, Options(checked=checked))


class Compiled:
    """Lowered functions, compiled as one file. Kernels that nothing calls are kept."""

    def __init__(self, every: Iterable[Lowered], options: Sequence[str] = STRICT) -> None:
        self.every = list(every)
        kernels = {step.kernel.name: step.kernel for one in self.every for step in one.steps}
        own = loaded._OPTIONS
        try:
            loaded._OPTIONS = ("-O1", "-fPIC", "-ffp-contract=off", "-c", *options, *GUESSES)
            texts = [kernel.ir for kernel in kernels.values()]
            self.loaded = loaded.CKernels(list(kernels.values()), texts)
            assert self.loaded.native is not None
        finally:
            loaded._OPTIONS = own

    def run(self, one: Lowered, *arrays: np.ndarray) -> list[np.ndarray]:
        """The results of a function."""
        tensors: dict[Any, np.ndarray] = {
            Param(i): np.ascontiguousarray(array) for i, array in enumerate(arrays)
        }
        for i, spec in enumerate(one.temporaries):
            tensors[Temporary(i)] = empty(spec)
        for step in one.steps:
            for place, spec in zip(step.outputs, step.kernel.outputs, strict=True):
                tensors.setdefault(place, empty(spec))
            words = [address_of(tensors[place]) for place in (*step.inputs, *step.outputs)]
            self.loaded.invoke(step.kernel.name, words)
        results = sorted((p for p in tensors if isinstance(p, Result)), key=lambda p: p.index)
        return [tensors[place] for place in results]


def empty(spec: Any) -> np.ndarray:
    """Memory that is not zero."""
    kind, count = dtypes.to_numpy(spec.dtype), int(np.prod(spec.shape))
    block = allocate(count * kind.itemsize)
    block[:] = 0x7F
    return block.view(kind).reshape(spec.shape)
