"""The weights of an executable, and the constants that its kernels read.

`prepare` computes the constants from the weights. When weights change, only the part that depends
on them runs again; running calls keep the old ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relay import dtypes, nd
from relay.errors import EvaluationError, RelayError, did_you_mean
from relay.executors.arrays import TensorInfo, read
from relay.executors.bound import BoundFunction, Constants
from relay.executors.memory import typed
from relay.program.plan import ALIGNMENT
from relay.program.program import PREPARE, Constant, Function, LoadConstant, Program, nbytes
from relay.program.slice import needed_for
from relay.target.loaded import Loaded
from relay.target.memory import address_of


class Weights:
    """`given` are the weights; `prepared` the constants computed from them, if known."""

    def __init__(
        self,
        program: Program,
        loaded: Loaded,
        threads: int,
        given: Mapping[str, np.ndarray],
        prepared: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._program = program
        self._loaded = loaded
        self._threads = threads
        self.given = dict(given)
        self._results = sorted(
            (c for c in program.constants if not c.is_given), key=lambda c: c.prepared or 0
        )
        if prepared is None:
            prepared = self._prepare(program[PREPARE], self._results) if self._results else {}
        self.constants = self._gather(prepared)

    def change(self, params: Mapping[str, Any]) -> None:
        """Set new values, by name."""
        changed = {name: self._read(name, data) for name, data in params.items()}
        function, names = needed_for(self._program, changed)
        table = self._program.constant_table
        before = self.given
        self.given = {**before, **changed}
        try:
            made = self._prepare(function, [table[name] for name in names])
            kept = {c.name: self.constants.arrays[c.name] for c in self._results}
            self.constants = self._gather({**kept, **made})
        except RelayError:
            self.given = before
            raise

    def _read(self, name: str, data: Any) -> np.ndarray:
        constant = self._program.constant_table.get(name)
        if constant is None or not constant.is_given:
            known = [c.name for c in self._program.constants if c.is_given]
            hint = did_you_mean(str(name), known)
            raise EvaluationError.of(f"there is no weight `{name}`", hint=hint)
        spec = constant.spec
        return np.array(read(data, TensorInfo(name, tuple(map(int, spec.shape)), spec.dtype)))

    def _prepare(self, function: Function, results: Sequence[Constant]) -> dict[str, np.ndarray]:
        """Run `prepare`, or a slice of it; returns its results by name."""
        made = {}
        for constant in results:
            spec = constant.spec
            block = self._loaded.allocate(nbytes(spec))
            made[constant.name] = typed(block, tuple(map(int, spec.shape)), spec.dtype)
        if results:
            constants = Constants(self._readable(constants_read(function), once=True), self._loaded)
            run = BoundFunction(self._program, function, self._loaded, self._threads)
            run(constants, [address_of(array) for array in made.values()])
        return made

    def _gather(self, prepared: Mapping[str, np.ndarray]) -> Constants:
        """The constants that calls read."""
        names = [name for name in constants_of_calls(self._program) if name not in prepared]
        return Constants({**prepared, **self._readable(names)}, self._loaded)

    def _readable(self, names: Iterable[str], once: bool = False) -> dict[str, np.ndarray]:
        """Weights by name, copied if kernels cannot read them in place, or not fast: vectors that
        cross cache lines are not worth a copy of what is read only `once`."""
        found = {}
        for name in names:
            if name not in self.given:
                raise RelayError(
                    f"there is no value for the weight `{name}`; an executable that was saved "
                    "without its weights takes new ones only together with those it computes them "
                    "with"
                )
            array = self.given[name]
            alignment = array.itemsize if once else ALIGNMENT
            plain = array.flags.c_contiguous and address_of(array) % alignment == 0
            if not plain or not self._loaded.reads_host:
                block = typed(
                    self._loaded.allocate(array.nbytes), array.shape, dtypes.from_numpy(array.dtype)
                )
                block[...] = array
                array = block
            found[name] = array
        return found


class HasWeights:
    """Access to the weights of an executable."""

    _weights: Weights

    @property
    def params(self) -> dict[str, nd.NDArray]:
        """The original weights, as far as they are still known."""
        return {name: nd.NDArray(array) for name, array in self._weights.given.items()}

    @property
    def constants(self) -> dict[str, nd.NDArray]:
        """The constants that kernels read: packed weights."""
        arrays = self._weights.constants.arrays
        return {name: nd.NDArray(array) for name, array in arrays.items()}

    def set_params(self, params: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Change weights; running calls keep the old ones."""
        if not isinstance(params, Mapping | None):
            found = f"a {type(params).__name__}"
            message = "weights are given by name"
            raise EvaluationError.of(message, expected="a mapping", found=found)
        self._weights.change({**(params or {}), **named})


def constants_read(function: Function) -> list[str]:
    """The names of the constants a function loads."""
    return [i.constant for i in function.instructions if isinstance(i, LoadConstant)]


def constants_of_calls(program: Program) -> list[str]:
    """The names of the constants that calls of the program load."""
    called = (function for function in program.functions if function.name != PREPARE)
    return list(dict.fromkeys(name for function in called for name in constants_read(function)))
