"""Executables for another machine than this one: they are saved here, and run there.

    exe = relay.compile(model, params, target="cuda -arch=sm_80")     without a GPU
    exe.save("model.relayx")                                          to be loaded where one is

What kernels compute from the weights before the first call is computed where the file is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from relay import nd
from relay.errors import TargetError
from relay.executors.convention import Convention
from relay.executors.executable import Code, Executable
from relay.executors.report import Kernels, Memory
from relay.executors.state import state_of
from relay.program.program import MAIN, Program, flatten, nbytes, spec_text, unflatten
from relay.target.kernel import TensorSpec


class ElsewhereExecutable(Executable):
    """A compiled model that this machine cannot run, and why."""

    runs_here = False
    is_prepared = False

    def __init__(
        self,
        program: Program,
        code: Code,
        weights: Mapping[str, np.ndarray],
        threads: int | None,
        reason: TargetError,
        *,
        state: Mapping[str, np.ndarray] | None = None,
        current: Mapping[str, np.ndarray] | None = None,
        convention: Convention | None = None,
    ) -> None:
        super().__init__(program, code, threads)
        self.reason = reason
        self.convention = convention
        self.threaded = state_of(program, state, current)
        self._given = dict(weights)
        main = program[MAIN]

        def typed(name: str, value: Any) -> str:
            specs = [main.registers[register] for register in flatten(value)]
            return f"{name}: {spec_text(unflatten(value, specs))}"

        result = main.answer(main.result) if main.is_straight_line else None
        self.inputs = tuple(typed(param.name, param.value) for param in main.arguments)
        self.outputs = () if result is None else (typed("result", result),)

    # --- what needs the machine

    def _refuse(self) -> NoReturn:
        raise self.reason

    def __call__(self, *args: Any, **named: Any) -> Any:
        self._refuse()

    def evaluate(self, *args: Any, **named: Any) -> Any:
        self._refuse()

    def profile(self, *args: Any, repeat: int = 10, roof: Any = None, **named: Any) -> Any:
        self._refuse()

    # --- weights

    @property
    def params(self) -> dict[str, nd.NDArray]:
        return {name: nd.NDArray(array) for name, array in self._given.items()}

    @property
    def constants(self) -> dict[str, nd.NDArray]:
        """The weights that kernels read, or compute constants from."""
        named = {constant.name for constant in self.program.constants if constant.is_given}
        return {name: value for name, value in self.params.items() if name in named}

    def set_params(self, params: Mapping[str, Any] | None = None, **named: Any) -> None:
        self._refuse()

    # --- inspection

    @property
    def memory(self) -> Memory:
        """That of the weights; the rest is known where it runs."""
        main = self.program[MAIN]

        def size(registers: Any) -> int:
            specs = [main.registers[register] for register in registers]
            return sum(nbytes(s) for s in specs if isinstance(s, TensorSpec) and _is_static(s))

        weights = sum(array.nbytes for array in self._given.values())
        return Memory(0, 0, weights, size(main.inputs), 0)

    @property
    def kernels(self) -> Kernels:
        return Kernels.of(self.program.kernels)


def _is_static(spec: TensorSpec) -> bool:
    return all(isinstance(size, int) for size in spec.shape)
