"""Executables of straight-line code: planned memory, and one native call."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from relay import dtypes
from relay.executors.arrays import TensorInfo, Wrap, address, plain, read, wrapper, writable
from relay.executors.bound import BoundFunction, SetUp
from relay.executors.convention import Convention
from relay.executors.executable import Code, Executable, expect_positive, refusal
from relay.executors.memory import OutputPool
from relay.executors.memory import typed as typed_memory
from relay.executors.report import KernelInfo, Kernels, Memory, Profile, StepTime
from relay.executors.roof import Roof
from relay.executors.state import Values, state_of
from relay.executors.weights import Weights
from relay.immutable import frozen
from relay.program import program as programs
from relay.program.program import MAIN, Function, Program, flatten, unflatten
from relay.target.kernel import Kernel, TensorSpec
from relay.tree import Steps, gather, run

if TYPE_CHECKING:
    from relay.interpreter.values import Value


@frozen
class TracedStep:
    """A kernel call of a run, and what it writes, until a later one writes there."""

    kernel: Kernel
    where: str
    outputs: tuple[np.ndarray, ...]
    run: Callable[[], None]


@frozen
class Traced:
    """A run, kernel by kernel; the results are there after the last one."""

    steps: list[TracedStep]
    results: list[np.ndarray]


class StraightLineExecutable(Executable):
    """A compiled model that is straight-line code."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def __init__(
        self,
        program: Program,
        code: Code,
        weights: Mapping[str, np.ndarray],
        threads: int | None = None,
        prepared: Mapping[str, np.ndarray] | None = None,
        *,
        state: Mapping[str, np.ndarray] | None = None,
        current: Mapping[str, np.ndarray] | None = None,
        convention: Convention | None = None,
    ) -> None:
        super().__init__(program, code, threads)
        self._loaded = code.target.load(
            program.kernels, code.objects, threads=self.threads, support=code.support
        )
        main = program[MAIN]
        self._main = BoundFunction(program, main, self._loaded, self.threads)
        self.inputs = tuple(tensors_in(main))
        self.outputs = tuple(tensors_out(main))
        self._wanted = [(i, dtypes.to_numpy(i.dtype), i.shape) for i in self.inputs]
        flat = not any(isinstance(param.value, tuple) for param in main.arguments)
        self._positional = len(main.arguments) if flat else None
        self._result: programs.Value = main.answer(main.result)
        self._is_one = isinstance(self._result, int)
        if convention is not None:
            self.convention = convention.fitting(len(self.inputs), len(self.outputs))
            self._positional = convention.plain_arguments
            self._is_one = convention.result.is_tensor
        self._pools = [OutputPool(o.shape, o.dtype, self._loaded.allocate) for o in self.outputs]
        self._weights = Weights(program, self._loaded, self.threads, weights, prepared)
        self.threaded = state_of(program, state, current)
        self._in_place = bool(self._main.plan.updates)
        self._spare: Values | None = None  # else: memory for the next state

    # --- calling

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        if named or len(args) != self._positional:
            args = self._arrange(args, named)
        arrays = []  # kept alive during the call
        addresses = []
        wrap: Wrap = plain
        for data, (wanted, dtype, shape) in zip(args, self._wanted, strict=True):
            # a small model takes a few microseconds: the common case is checked here
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
        if self.threaded is None:
            self._main(self._weights.constants, addresses)
        else:
            self._run(addresses)
        if wrap is not plain:
            results = [wrap(array) for array in results]
        return results[0] if self._is_one else self._put_together(results)

    def _put_together(self, results: Sequence[Any]) -> Any:
        """The result of the model."""
        if self.convention is not None:
            return self.convention.put_together(results)
        return unflatten(self._result, results)

    def evaluate(self, *args: Any, **named: Any) -> Value:
        from relay.interpreter.values import to_value  # calls with arrays do not need it

        given = [run(_as_tuples(value)) for value in args]
        by_name = {name: run(_as_tuples(value)) for name, value in named.items()}
        results = self.run_flat(self._arrange(given, by_name))
        return to_value(unflatten(self._result, results))

    def run_flat(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run with flat lists of inputs and outputs."""
        tensors, addresses = self._placed(inputs)
        self._run(addresses)
        return tensors[len(self.inputs) :]

    def _run(self, addresses: list[int], set_up: SetUp | None = None) -> None:
        """Run `main`, whose inputs and outputs are at `addresses`, and replace the state."""
        state = self.threaded
        if state is None:
            return self._main(self._weights.constants, addresses, set_up)
        with state.call() as before:
            if self._in_place:
                if not before.own:  # the initial values, or what was set
                    before = self._copied(before)
                state.values = before
                together = self._with_state(addresses, before, before)
                return self._main(self._weights.constants, together, set_up)
            after, self._spare = self._spare or self._buffers(), None
            together = self._with_state(addresses, before, after)
            self._main(self._weights.constants, together, set_up)
            state.values, self._spare = after, before if before.own else None
        return None

    def _copied(self, values: Values) -> Values:
        """The same values in memory that calls may write."""
        made = self._buffers()
        for array, given in zip(made.arrays, values.arrays, strict=True):
            array[...] = given
        return made

    def _buffers(self) -> Values:
        """Memory for a state."""
        specs = self.program[MAIN].state_specs.values()
        arrays = []
        for spec in specs:
            assert isinstance(spec, TensorSpec)
            block = self._loaded.allocate(programs.nbytes(spec))
            arrays.append(typed_memory(block, tuple(map(int, spec.shape)), spec.dtype))
        return Values(arrays, own=True)

    def _with_state(self, addresses: list[int], before: Values, after: Values) -> list[int]:
        """The addresses of a call with those of the state, which comes last on both sides."""
        count = len(self.inputs)
        given, made = addresses[:count], addresses[count:]
        return [*given, *before.addresses, *made, *after.addresses]

    def _placed(self, inputs: Sequence[Any]) -> tuple[list[np.ndarray], list[int]]:
        """The inputs and outputs of a call, to be kept alive during it, and their addresses."""
        arrays = [read(data, wanted) for data, wanted in zip(inputs, self.inputs, strict=True)]
        taken = [pool.take() for pool in self._pools]
        addresses = [*map(address, arrays), *(place for _, place in taken)]
        return arrays + [array for array, _ in taken], addresses

    def _call_into(self, out: Any, addresses: list[int]) -> Any:
        """Write the results to `out`, which is returned; `addresses` are those of the inputs."""
        given = flatten(tuple(out) if isinstance(out, list) else out)
        if len(given) != len(self.outputs):
            raise refusal("`out` has another number of tensors", len(self.outputs), len(given))
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
        self._run(addresses)
        for array, aside in copies:
            array[...] = aside
        return out

    def _arrange(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The tensors of a call in the order of the inputs, with tuples flattened."""
        if self.convention is not None:
            return tuple(self.convention.take_apart(args, named))
        leaves: list[Any] = []
        params = self.program[MAIN].arguments
        for param, data in zip(params, self.in_order(args, named), strict=True):
            leaves.extend(_take_apart(param.name, param.value, data))
        return tuple(leaves)

    # --- inspection

    @property
    def memory(self) -> Memory:
        """The memory it needs, in bytes."""
        kernels = self._main.kernels
        return Memory(
            self._main.plan.arena,
            max((k.workspace + k.worker_workspace * self.threads for k in kernels), default=0),
            self._weights.constants.nbytes,
            sum(info.nbytes for info in self.inputs),
            sum(info.nbytes for info in self.outputs),
        )

    @property
    def kernels(self) -> Kernels:
        """The kernels of a call; printed as a table."""
        return Kernels.of(self._main.kernels)

    def _examples(self) -> tuple[Any, ...]:
        return tuple(flatten(self.example_inputs()))

    def profile(
        self, *args: Any, repeat: int = 10, roof: Roof | None = None, **named: Any
    ) -> Profile:
        """The time of every step: the median of `repeat` runs of the whole program."""
        expect_positive(repeat=repeat)
        steps = self.steps(*args, **named)
        times: list[list[float]] = [[] for _ in steps]
        for _ in range(repeat + 1):  # the first is a warm-up
            for step, seconds in zip(steps, times, strict=True):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
        found = (
            StepTime(
                KernelInfo.of(kernel, 1),
                float(np.median(seconds[1:])),
                self._loaded.details(kernel.name),
            )
            for kernel, seconds in zip(self._main.kernels, times, strict=True)
        )
        return Profile.of(found, roof=roof)

    def steps(self, *args: Any, **named: Any) -> list[Callable[[], None]]:
        """The kernel calls of a call as functions, to be called in this order; the state stays as
        it is."""
        return [step.run for step in self.traced(*args, **named).steps]

    def traced(self, *args: Any, **named: Any) -> Traced:
        """The same, with what the kernels write."""
        leaves = self._arrange(args, named) if args or named else self._examples()
        return self.traced_flat(leaves)

    def traced_flat(self, inputs: Sequence[Any]) -> Traced:
        """The same for flat inputs."""
        tensors, addresses = self._placed(inputs)
        kept: list[Any] = [*tensors]
        if self.threaded is not None:
            before = self.threaded.values
            after = self._buffers()
            if self._in_place:
                before = after = self._copied(before)
            kept += [before, after]
            addresses = self._with_state(addresses, before, after)
        steps = [
            TracedStep(
                one.call.kernel,
                one.call.where,
                tuple(map(_seen, one.outputs, one.call.kernel.outputs)),
                partial(_holding, kept, one.run),
            )
            for one in self._main.one_by_one(self._weights.constants, addresses)
        ]
        return Traced(steps, tensors[len(self.inputs) :])

    @property
    def bound(self) -> BoundFunction:
        """`main` with its memory plan."""
        return self._main


# --- parts ---------------------------------------------------------------------------------------


def _seen(place: int, spec: TensorSpec) -> np.ndarray:
    """The tensor at an address."""
    block = np.ctypeslib.as_array((ctypes.c_uint8 * programs.nbytes(spec)).from_address(place))
    return typed_memory(block, tuple(map(int, spec.shape)), spec.dtype)


def _holding(memory: object, step: Callable[[], None]) -> None:
    """A step, for which memory is kept alive."""
    step()


def tensors_in(function: Function) -> Iterable[TensorInfo]:
    """The inputs of a straight-line function."""
    for param in function.arguments:
        leaves = flatten(param.value)
        for number, register in enumerate(leaves):
            spec = function.registers[register]
            name = f"{param.name}.{number}" if isinstance(param.value, tuple) else param.name
            yield TensorInfo(name, tuple(map(int, spec.shape)), spec.dtype)


def tensors_out(function: Function) -> Iterable[TensorInfo]:
    """Its outputs."""
    for number, register in enumerate(flatten(function.answer(function.result))):
        spec = function.registers[register]
        yield TensorInfo(function.result_name(number), tuple(map(int, spec.shape)), spec.dtype)


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
            raise refusal(
                f"input `{name}` is a tuple of tensors",
                f"a tuple of {len(wanted)}",
                f"a {type(given).__name__}",
            )
    return leaves


def _as_tuples(value: Any) -> Steps[Any]:
    """A value with Python tuples."""
    from relay.interpreter.values import TupleValue

    if not isinstance(value, TupleValue):
        return value
    return tuple((yield gather(map(_as_tuples, value.fields))))
