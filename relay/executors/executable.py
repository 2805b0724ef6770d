"""A compiled model, as Python calls it.

    exe = relay.compile(mod, params)
    y = exe(x)                        by position, by name (exe(data=x)), or both
    exe(x, out=y)                     into memory of the caller's
    exe.set_params(weight=w)          new weights; what is computed from them is computed again

Results are what the inputs are: NumPy arrays, torch tensors, relay.nd arrays. A result belongs to
whoever holds it and never changes afterwards; inputs are never written. An executable may be called
from several threads at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from relay import dtypes, nd
from relay.errors import Diagnostic, EvaluationError, RelayError, TargetError, did_you_mean
from relay.executors.arrays import TensorInfo, Wrap, address, plain, read, wrapper, writable
from relay.executors.memory import OutputPool
from relay.executors.native import NativeFunction
from relay.executors.report import BenchmarkResult, KernelInfo, Kernels, Memory, Profile, StepTime
from relay.executors.weights import Weights
from relay.native.cores import default_threads
from relay.program.program import MAIN, Function, Program, Value, flatten, unflatten
from relay.target import abi
from relay.target.llvm.jit import load
from relay.target.target import Target


@dataclass(frozen=True)
class Code:
    """The machine code of a program's kernels."""

    target: Target
    objects: tuple[bytes, ...]


class Executable:
    """A compiled model. `weights` are the constants that come from outside, by name; `prepared`
    those that were computed from them already, if they were."""

    def __init__(
        self,
        program: Program,
        code: Code,
        weights: Mapping[str, np.ndarray],
        threads: int | None = None,
        prepared: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        require_host(code.target, "the code")
        self.program = program
        self.code = code
        self.threads = default_threads() if threads is None else threads
        if type(self.threads) is not int or not 1 <= self.threads <= abi.MOST_THREADS:
            raise RelayError(f"a call uses 1 to {abi.MOST_THREADS} threads, not {threads!r}")
        self._library = load(code.objects, [kernel.name for kernel in program.kernels])
        main = program[MAIN]
        self._main = self._bind(main)
        self.inputs = tuple(_inputs(main))
        self.outputs = tuple(_outputs(main))
        self._wanted = [(i, dtypes.to_numpy(i.dtype), i.shape) for i in self.inputs]
        self._positional = None if _has_tuples(main) else len(main.params)
        self._result: Value = main.result
        self._pools = [OutputPool(o.shape, o.dtype) for o in self.outputs]
        self._weights = Weights(program, self._bind, weights, prepared)

    def _bind(self, function: Function) -> NativeFunction:
        return NativeFunction(self.program, function, self._library.address, self.threads)

    # --- calling

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        if named or len(args) != self._positional:
            args = self._arrange(args, named)
        arrays = []  # alive until the call has ended
        addresses = []
        wrap: Wrap = plain
        for data, (wanted, dtype, shape) in zip(args, self._wanted, strict=True):
            # a call of a small model takes a few microseconds: the usual case is checked here
            if type(data) is not ndarray:
                wrap = wrapper(args) if wrap is plain else wrap
                data = read(data, wanted)
            elif data.dtype is not dtype or data.shape != shape or not data.flags.carray:
                data = read(data, wanted)
            arrays.append(data)
            addresses.append(address(data))
        if out is not None:
            return self._call_into(out, addresses)
        results = []
        for pool in self._pools:
            array, place = pool.take()
            results.append(array)
            addresses.append(place)
        self._main(self._weights.constants, addresses)
        if wrap is not plain:
            results = [wrap(array) for array in results]
        return results[0] if self._result.__class__ is int else unflatten(self._result, results)

    def run_flat(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The same over lists of tensors: all inputs in order, all outputs in order."""
        arrays = [read(data, wanted) for data, wanted in zip(inputs, self.inputs, strict=True)]
        results = [pool.take() for pool in self._pools]
        addresses = [*map(address, arrays), *(place for _, place in results)]
        self._main(self._weights.constants, addresses)
        return [array for array, _ in results]

    def _call_into(self, out: Any, addresses: list[int]) -> Any:
        """Write the results to `out`, which is returned. The inputs are at `addresses`."""
        given = flatten(tuple(out) if isinstance(out, list) else out)
        if len(given) != len(self.outputs):
            raise _refusal("`out` has another number of tensors", len(self.outputs), len(given))
        taken = [(a, a + info.nbytes) for a, info in zip(addresses, self.inputs, strict=True)]
        copies = []
        for data, wanted, pool in zip(given, self.outputs, self._pools, strict=True):
            array = writable(data, wanted)
            place = address(array)
            end = place + array.nbytes
            if any(place < last and first < end for first, last in taken):
                aside, place = pool.take()
                copies.append((array, aside))
            else:
                taken.append((place, end))
            addresses.append(place)
        self._main(self._weights.constants, addresses)
        for array, aside in copies:
            array[...] = aside
        return out

    def _arrange(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tensors of a call in the order of the inputs; tuples are taken apart."""
        params = self.program[MAIN].params
        names = [param.name for param in params]  # one may stand for several
        if len(args) > len(params):
            raise _refusal("too many inputs", self._signature(), f"{len(args)}")
        given = dict(enumerate(args))
        for name, data in named.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"there is {', '.join(names) or 'none'}"
                raise EvaluationError(Diagnostic(f"there is no input `{name}`", hint=hint))
            if names.count(name) > 1:
                raise _refusal(f"several inputs are called `{name}`", "them by position")
            if names.index(name) in given:
                raise _refusal(f"input `{name}` is given twice", self._signature())
            given[names.index(name)] = data
        if missing := [f"`{name}`" for place, name in enumerate(names) if place not in given]:
            raise _refusal(f"no value for {', '.join(missing)}", self._signature())
        leaves: list[Any] = []
        for place, param in enumerate(params):
            leaves.extend(_take_apart(param.name, param.value, given[place]))
        return tuple(leaves)

    def _signature(self) -> str:
        return ", ".join(map(str, self.inputs)) or "no inputs"

    # --- weights

    @property
    def params(self) -> dict[str, nd.NDArray]:
        """The weights it was made with, as far as it has them still."""
        return {name: nd.NDArray(array) for name, array in self._weights.given.items()}

    @property
    def constants(self) -> dict[str, nd.NDArray]:
        """What its kernels read: weights, laid out for them."""
        arrays = self._weights.constants.arrays
        return {name: nd.NDArray(array) for name, array in arrays.items()}

    def set_params(self, params: Mapping[str, Any] | None = None, **named: Any) -> None:
        """Change weights. Calls that run meanwhile end with those they began with."""
        if not isinstance(params, Mapping | None):
            raise _refusal("weights are given by name", "a mapping", f"a {type(params).__name__}")
        self._weights.change({**(params or {}), **named})

    # --- looking at it

    @property
    def memory(self) -> Memory:
        """What the executable needs, in bytes."""
        kernels = self._main.steps
        return Memory(
            self._main.plan.arena,
            max((k.workspace + k.worker_workspace * self.threads for k in kernels), default=0),
            self._weights.constants.nbytes,
            sum(info.nbytes for info in self.inputs),
            sum(info.nbytes for info in self.outputs),
        )

    @property
    def kernels(self) -> Kernels:
        """The kernels a call runs; a table when printed."""
        return Kernels.of(self._main.steps)

    def benchmark(
        self, *args: Any, repeat: int = 10, number: int | None = None, **named: Any
    ) -> BenchmarkResult:
        """Time `repeat` times `number` calls; without arguments, with random inputs.

        Without `number`, as many calls as take about 20 ms.
        """
        _expect_positive(repeat=repeat, number=1 if number is None else number)
        if not args and not named:
            args = self.example_inputs()
        self(*args, **named)
        if number is None:
            start = time.perf_counter()
            self(*args, **named)
            number = max(1, round(0.02 / max(time.perf_counter() - start, 1e-7)))
        results = []
        for _ in range(repeat):
            start = time.perf_counter()
            for _ in range(number):
                self(*args, **named)
            results.append((time.perf_counter() - start) / number)
        return BenchmarkResult(tuple(results))

    def profile(self, *args: Any, repeat: int = 10, **named: Any) -> Profile:
        """The time of every step: the median of `repeat` runs of the whole program."""
        _expect_positive(repeat=repeat)
        if not args and not named:
            args = self.example_inputs()
        leaves = self._arrange(args, named)
        arrays = [read(data, wanted) for data, wanted in zip(leaves, self.inputs, strict=True)]
        results = [pool.take() for pool in self._pools]
        addresses = [*map(address, arrays), *(place for _, place in results)]
        steps = self._main.one_by_one(self._weights.constants, addresses)
        times: list[list[float]] = [[] for _ in steps]
        for _ in range(repeat + 1):  # the first one only warms up
            for step, seconds in zip(steps, times, strict=True):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
        return Profile(
            StepTime(KernelInfo.of(kernel, 1), float(np.median(seconds[1:])))
            for kernel, seconds in zip(self._main.steps, times, strict=True)
        )

    def example_inputs(self) -> tuple[Any, ...]:
        """Inputs of the right types: normally distributed floats, and zeros."""
        chance = np.random.default_rng(0)
        made = []
        for wanted in self.inputs:
            numbers = chance.standard_normal(wanted.shape, np.float32)
            made.append(
                numbers.astype(dtypes.to_numpy(wanted.dtype))
                if dtypes.is_float(wanted.dtype)
                else np.zeros(wanted.shape, dtypes.to_numpy(wanted.dtype))
            )
        structure = tuple(param.value for param in self.program[MAIN].params)
        return tuple(unflatten(structure, made))

    def save(self, path: str | Path, *, params: bool = False) -> None:
        """Write the executable to one file, which `relay.load` reads.

        With `params` the weights as they were given go along, so that any of them can be changed
        later; otherwise only what the kernels read.
        """
        from relay.executors.artifact import save

        save(self, Path(path), params=params)

    def export(
        self, path: str | Path, kind: str = "object", *, name: str | None = None, embed: bool = True
    ) -> Path:
        """Write the model for programs in C: an "object", an "archive" or a "shared" library.

        The header beside it, which is returned, says how to call it; its functions begin with
        `name`, by default that of the file. Without `embed` the weights are a file of their own.
        """
        from relay.executors.export_c import export

        return export(self, Path(path), kind, name=name, embed=embed)

    @property
    def bound(self) -> NativeFunction:
        """`main` with its memory laid out."""
        return self._main

    def __repr__(self) -> str:
        outputs = ", ".join(map(str, self.outputs))
        return f"<Relay executable ({self._signature()}) -> ({outputs})>"


def require_host(target: Target, what: str) -> None:
    """An error unless this machine can run code made for `target`."""
    host = Target.host()
    if missing := host.missing(target):
        raise TargetError(
            Diagnostic(
                f"{what} was made for another processor",
                expected=f"a machine with {', '.join(missing)}",
                found=str(host),
                hint="compile for what both have, such as target='llvm -level=avx2'",
            )
        )


# --- parts ---------------------------------------------------------------------------------------


def _inputs(function: Function) -> Iterable[TensorInfo]:
    for param in function.params:
        leaves = flatten(param.value)
        for number, register in enumerate(leaves):
            spec = function.registers[register]
            name = f"{param.name}.{number}" if isinstance(param.value, tuple) else param.name
            yield TensorInfo(name, tuple(map(int, spec.shape)), spec.dtype)


def _outputs(function: Function) -> Iterable[TensorInfo]:
    for number, register in enumerate(flatten(function.result)):
        spec = function.registers[register]
        yield TensorInfo(f"output_{number}", tuple(map(int, spec.shape)), spec.dtype)


def _has_tuples(function: Function) -> bool:
    return any(isinstance(param.value, tuple) for param in function.params)


def _take_apart(name: str, structure: Any, data: Any) -> list[Any]:
    """The leaves of `data`, which must be nested like `structure`."""
    leaves = []
    pending = [(structure, data)]
    while pending:
        wanted, given = pending.pop()
        if not isinstance(wanted, tuple):
            leaves.append(given)
        elif isinstance(given, tuple | list) and len(given) == len(wanted):
            pending.extend(reversed(list(zip(wanted, given, strict=True))))
        else:
            raise _refusal(
                f"input `{name}` is a tuple of tensors",
                f"a tuple of {len(wanted)}",
                f"a {type(given).__name__}",
            )
    return leaves


def _expect_positive(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise RelayError(f"`{name}` is a number from 1 on, found {count!r}")


def _refusal(message: str, expected: object, found: object = None) -> EvaluationError:
    seen = None if found is None else str(found)
    return EvaluationError(Diagnostic(message, expected=str(expected), found=seen))
