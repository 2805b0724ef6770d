"""The state of an executable: tensors that it keeps between calls.

    exe = relay.compile(mod, {"n": 0})      main(x, n) -> (x + n, n + 1), with State=["n"]
    exe(x); exe(x)
    exe.state["n"]                          2, a copy
    exe.set_state(n=7); exe.reset()

A call reads the current values and makes new ones; when it succeeds, they replace the current
values, and a call that fails leaves the state as it was. Where no call can fail and a kernel may
(`relay.program.updates`), new values are written over the old ones; what a caller gave or got is
never written. Calls of an executable with state come one after another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from relay import dtypes, nd
from relay.errors import EvaluationError, did_you_mean
from relay.executors.arrays import TensorInfo, address, read
from relay.program import program as isa
from relay.target.kernel import TensorSpec


class Values:
    """One value of each tensor of the state. Only `own` memory, which is the executable's alone, is
    ever written again."""

    def __init__(self, arrays: Sequence[np.ndarray], *, own: bool = False) -> None:
        self.arrays = tuple(arrays)
        self.own = own

    @cached_property
    def addresses(self) -> tuple[int, ...]:
        return tuple(map(address, self.arrays))


class State:
    """The state of `main`. `initial` are its first values, `current` the present ones, if they are
    others."""

    def __init__(
        self,
        main: isa.Function,
        initial: Mapping[str, np.ndarray],
        current: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.specs = main.state_specs
        self.initial = {name: self._read(name, initial[name]) for name in self.specs}
        self.values = Values([self.initial[name] for name in self.specs])
        self._lock = threading.RLock()
        self._busy = False
        if current is not None:
            self.set(current)

    @contextmanager
    def call(self) -> Iterator[Values]:
        """The current values, for one call at a time, which may replace them at its end."""
        with self._lock:
            if self._busy:  # a signal handler runs during a call, in its thread
                raise EvaluationError.of("an executable with state is called during its own call")
            self._busy = True
            try:
                yield self.values
            finally:
                self._busy = False

    def copies(self) -> dict[str, nd.NDArray]:
        """Copies of the current values, by name."""
        with self._lock:
            pairs = zip(self.specs, self.values.arrays, strict=True)
            return {name: nd.NDArray(np.array(array)) for name, array in pairs}

    def set(self, given: Mapping[str, Any]) -> None:
        """Set some of the values, by name."""
        found = {name: self._read(name, data) for name, data in given.items()}
        with self._lock:
            pairs = zip(self.specs, self.values.arrays, strict=True)
            self.values = Values([found.get(name, array) for name, array in pairs])

    def reset(self) -> None:
        """Set the initial values."""
        self.set(self.initial)

    def _read(self, name: str, data: Any) -> np.ndarray:
        """A copy of the caller's array, checked."""
        if name not in self.specs:
            hint = did_you_mean(str(name), list(self.specs)) or "exe.state has those there are"
            raise EvaluationError.of(f"there is no state `{name}`", hint=hint)
        spec = self.specs[name]
        assert isinstance(spec, TensorSpec | isa.ScalarSpec)
        wanted = spec.shape if isinstance(spec, TensorSpec) else ()
        found = nd.as_tensor(data, dtypes.to_numpy(spec.dtype)).shape
        sizes = found if len(found) == len(wanted) else (0,) * len(wanted)
        shape = [a if isinstance(a, int) else b for a, b in zip(wanted, sizes, strict=True)]
        given = read(data, TensorInfo(name, tuple(shape), spec.dtype))
        if np.ascontiguousarray(given).reshape(-1).view(np.uint8).any():
            return np.array(given, order="C")
        # zeros of the system take no memory until they are written
        return np.zeros(given.shape, given.dtype)


class HasState:
    """Access to the state of an executable."""

    threaded: State | None  # what executors thread through calls

    @property
    def state(self) -> Mapping[str, nd.NDArray]:
        """Copies of the tensors that the executable keeps between calls, by name."""
        return MappingProxyType({} if self.threaded is None else self.threaded.copies())

    @state.setter
    def state(self, values: Mapping[str, Any]) -> None:
        self.set_state(values)

    def set_state(self, values: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Set some of the state, or all of it."""
        if not isinstance(values, Mapping | None):
            found = f"a {type(values).__name__}"
            message = "the state is given by name"
            raise EvaluationError.of(message, expected="a mapping", found=found)
        given = {**(values or {}), **named}
        if self.threaded is not None:
            self.threaded.set(given)
        elif given:
            raise EvaluationError.of("the executable has no state", found=", ".join(given))

    def reset(self) -> None:
        """Set the state back to its initial values."""
        if self.threaded is not None:
            self.threaded.reset()

    @property
    def initial_state(self) -> dict[str, np.ndarray]:
        """The initial values of the state, which are not to be written."""
        return {} if self.threaded is None else self.threaded.initial


def state_of(
    program: isa.Program,
    initial: Mapping[str, np.ndarray] | None,
    current: Mapping[str, np.ndarray] | None = None,
) -> State | None:
    """The state of an executable; None if it has none."""
    main = program.function_table.get(isa.MAIN)
    return State(main, initial or {}, current) if main is not None and main.state else None
