"""An executable of a whole program: functions, branches, data and dynamic dimensions.

    exe = relay.compile(tree_lstm, params)
    state = exe(Rose(x, [Rose(y, []), Rose(z, [])]))

A call is one native call. Arguments and results are Python data: a list is a List, None or a value
an Option, a tuple a tuple, and an instance of a class with the name and the number of fields of a
constructor is data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from relay import nd
from relay.errors import VALUE, EvaluationError, RelayError, with_value
from relay.executors.arrays import address, plain, wrapper
from relay.executors.bound import Constants
from relay.executors.convention import Convention
from relay.executors.executable import Code, Executable, expect_positive
from relay.executors.report import KernelInfo, Kernels, Memory, Profile, StepTime
from relay.executors.roof import Roof
from relay.executors.state import Values, state_of
from relay.executors.weights import Weights
from relay.extents import EXPECTED, filled
from relay.immutable import frozen
from relay.interpreter.values import TupleValue, Value
from relay.native import layout
from relay.native.call import ConstantObjects, ProgramContext, program_runtime
from relay.program.native import workspace_name
from relay.program.program import MAIN, Program, ScalarSpec, flatten, spec_text
from relay.target.kernel import Kernel, TensorSpec
from relay.target.llvm import abi
from relay.target.llvm.executable.encode import leaves_of
from relay.target.llvm.executable.program_function import ProgramFunction, typed
from relay.target.llvm.executable.style import VALUES, Style, as_tensors, python_style
from relay.target.llvm.jit import Library, load
from relay.target.llvm.loaded import NativeKernels, kernel_failure
from relay.target.llvm.objects import undefined_symbols
from relay.target.llvm.support import externals, imports_of, start
from relay.target.loaded import Loaded

if TYPE_CHECKING:
    from relay.external.functions import ExternalFunction
    from relay.target.llvm.executable.tiers import Specializer, Tiers
    from relay.target.llvm.executable.timing import TimedKernels


class Timer(Protocol):
    """Counts the calls of kernels while a program is profiled, and adds up their times."""

    @property
    def kernels(self) -> Sequence[Kernel]: ...

    @property
    def counts(self) -> np.ndarray: ...

    @property
    def seconds(self) -> np.ndarray: ...

    def reset(self) -> None:
        """Set all counts and times to zero."""


@frozen
class ValueInfo:
    """The name and type of an argument or a result."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class WholeProgramExecutable(Executable):
    """A compiled program. `stack` and `memory` are limits of a call in bytes, 0 for the defaults;
    `classes` are the classes of results, by constructor."""

    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]

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
        stack: int = 0,
        memory: int = 0,
        classes: Mapping[str, type] | None = None,
    ) -> None:
        super().__init__(program, code, threads)
        if code.program is None:
            raise RelayError("the program comes without the code of its functions")
        self._native = code.program
        self._classes = dict(classes or {})
        self._style = python_style(self._classes, plain, as_tensors(plain))  # of the last call
        start(code.support)
        self._externals: dict[str, ExternalFunction] = {}
        self._library, self._loaded = self._linked()
        main = program[MAIN]
        self._limits = {"stack": stack, "memory": memory}
        self._main = self._entered_at(self._library.address(self._native.entry))
        result = main.answer(main.results)
        self.inputs = tuple(
            ValueInfo(param.name, spec_text(typed(param.value, main.registers)))
            for param in main.arguments
        )
        self.outputs = tuple(
            ValueInfo(main.result_name(number), spec_text(spec))
            for number, spec in enumerate(result if isinstance(result, tuple) else (result,))
        )
        self._weights = Weights(program, self._loaded, self.threads, weights, prepared)
        self._objects: tuple[Constants, ConstantObjects] | None = None
        self.threaded = state_of(program, state, current)
        self._result = result
        self._tiers: Tiers | None = None
        self._plain = convention is None or convention.plain_arguments is not None
        if convention is not None:
            takes = flatten(tuple(param.value for param in main.arguments))
            self.convention = convention.fitting(len(takes), len(flatten(result)))
        # no part of a result but tensors can have elements of the state
        self._only_tensors = all(
            isinstance(spec, TensorSpec | ScalarSpec) for spec in flatten(result)
        )

    def _linked(self) -> tuple[Library, Loaded]:
        """The code of functions and kernels, and the kernels alone."""
        program, code = self.program, self.code
        functions = self._externals = externals(program.kernels, code.support)
        kernels = [kernel.name for kernel in program.kernels]
        library = load(
            [*code.objects, self._native.code],
            [*kernels, self._native.entry],
            {**program_runtime().symbols, **imports_of(functions)},
        )
        return library, NativeKernels(program.kernels, library, self.threads, functions)

    def _prepared(self, context: ProgramContext) -> None:
        """Called with each context before its first call."""

    def _entered_at(
        self, address: int, prepare: Callable[[ProgramContext], None] | None = None
    ) -> ProgramFunction:
        """`main`, with its entry at an address."""
        return ProgramFunction(
            self.program,
            self.program[MAIN],
            address,
            self._failure,
            prepare=prepare or self._prepared,
            threads=self.threads,
            **self._limits,
        )

    # --- versions for sizes

    def make_versions(self, specializer: Specializer) -> None:
        from relay.target.llvm.executable.tiers import Tiers  # needs the compiler

        def entered(address: int, libraries: Sequence[Library]) -> ProgramFunction:
            def prepare(context: ProgramContext, held: Sequence[Library] = libraries) -> None:
                self._prepared(context)

            return self._entered_at(address, prepare)

        assert isinstance(self._loaded, NativeKernels)
        self._tiers = Tiers(
            specializer,
            self._loaded,
            self._native,
            imports_of(self._externals),
            entered,
            lambda main, args: main(args, self._constants(), self._style),
        )

    def specialize(self, *args: Any, **named: Any) -> None:
        given = tuple(self.in_order(args, named))
        if self._tiers is None:
            raise RelayError(
                "this executable makes no versions for sizes; one of "
                "relay.compile(…, tiered=True) does"
            )
        if self.threaded is not None:
            given += self.threaded.values.arrays
        self._tiers.specialize(given)

    # --- calling

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The result as Python data: arrays, tuples, lists, instances of `classes`."""
        if named or len(args) != len(self.inputs) or not self._plain:
            args = tuple(self.in_order(args, named))
        wrap = wrapper(args)
        style = self._style
        if wrap is not style.tensor:
            style = python_style(self._classes, wrap, as_tensors(wrap))
            self._style = style
        made = self._run(args, style)
        if self.convention is None or self.convention.is_plain_result:
            return made
        return self.convention.put_together(leaves_of((self._result,), (made,)))

    def evaluate(self, *args: Any, **named: Any) -> Value:
        value: Value = self._run(tuple(self.in_order(args, named)), VALUES)
        return value

    def _run(self, args: tuple[Any, ...], style: Style) -> Any:
        """The result of `main`, which replaces the state."""
        state = self.threaded
        if state is None:
            return self._main_for(args)(args, self._constants(), style)
        with state.call() as before:
            given = (*args, *before.arrays)
            made = self._main_for(given)(given, self._constants(), style)
            fields = made if isinstance(made, tuple) else made.fields
            result, *after = fields
            state.values = Values([self._own(array, result) for array in after])
        return result

    def _main_for(self, args: tuple[Any, ...]) -> ProgramFunction:
        """`main`, or its version for the shapes of these arguments."""
        return (self._tiers and self._tiers.main(args)) or self._main

    @property
    def _contexts(self) -> list[ProgramContext]:
        functions = [self._main, *(self._tiers.functions if self._tiers is not None else ())]
        return [context for function in functions for context in function.contexts]

    def _own(self, given: Any, result: Any) -> np.ndarray:
        """A new value of the state as an array that no part of the caller's result shares."""
        array = nd.as_numpy(given)
        if not self._only_tensors:
            return np.array(array)
        begin = address(array)
        pending = [result]
        while pending:
            part = pending.pop()
            if isinstance(part, tuple | TupleValue):
                pending += part if isinstance(part, tuple) else part.fields
                continue
            other = nd.as_numpy(part)
            first = address(other)
            if first < begin + array.nbytes and begin < first + other.nbytes:
                return np.array(array)
        return array

    def _constants(self) -> ConstantObjects:
        """The weights as objects, updated when weights have changed."""
        current = self._weights.constants
        if self._objects is None or self._objects[0] is not current:
            arrays = {name: current.arrays[name] for name in self._native.constants}
            # scalars are read by the host
            places = [
                current.addresses[name] if array.ndim else address(array)
                for name, array in arrays.items()
            ]
            self._objects = (current, ConstantObjects([*arrays.values()], places))
        return self._objects[1]

    @property
    def options(self) -> dict[str, Any]:
        return {**super().options, **self._limits, "classes": self._classes}

    # --- errors

    def _failure(self, status: int, context: ProgramContext) -> BaseException:
        sites = self._native.sites
        site = sites[context.site] if 0 <= context.site < len(sites) else None
        where = f" in {site.where}" if site is not None and site.where else ""
        if site is not None and site.kernel:
            kernel = self.program.kernel_table[site.kernel]
            return kernel_failure(status, context, kernel, site.where, self._externals)
        if status == layout.STACK_OVERFLOW:
            function = (site.message if site is not None else "") or "the program"
            return EvaluationError.of(
                f"{function} recurses deeper than its stack{where}",
                found=f"a stack of {context[layout.STACK_SIZE] >> 20} MB",
                hint="relay.compile(…, stack=bytes) gives it more",
            )
        if status == abi.OUT_OF_MEMORY:
            used = f"{context.heap_bytes >> 20} MB in use"
            if site is not None and site.found != VALUE:  # the requested size is known
                used = f"{with_value(site.found, context.details[0])}, {used}"
            return EvaluationError.of(
                f"out of memory{where}",
                found=used,
                hint="relay.compile(…, memory=bytes) sets the limit",
            )
        if status == layout.TOO_LARGE and site is not None:
            places = range(layout.ASKED, layout.ASKED + 8 * layout.MOST_ASKED, 8)
            text = filled(site.message, [context[place] for place in places])
            return EvaluationError.of(f"{text}{where}", expected=EXPECTED)
        if status == layout.UNEQUAL and site is not None:
            found, expected, _ = context.details
            return EvaluationError.of(
                f"{site.message}{where}",
                expected=with_value(site.expected, expected),
                found=with_value(site.found, found),
            )
        if site is not None and status == layout.FAILED:
            return EvaluationError.of(f"{site.message}{where}")
        meaning = "interrupted" if status == abi.INTERRUPTED else f"status {status}"
        return EvaluationError.of(f"the program ended early: {meaning}{where}")

    # --- inspection

    def profile(
        self, *args: Any, repeat: int = 10, roof: Roof | None = None, **named: Any
    ) -> Profile:
        """The total time of every kernel, and of the code between them: medians of `repeat` runs of
        the whole program in native code."""
        expect_positive(repeat=repeat)
        if not args and not named:
            args, named = self.example_call()
        given = tuple(self.in_order(args, named))
        if self.threaded is not None:
            given += self.threaded.values.arrays
        main, timers = self._timers()
        counts: list[np.ndarray] = []
        seconds: list[np.ndarray] = []
        outside: list[float] = []
        for _ in range(repeat + 1):  # the first one warms up
            for timer in timers:
                timer.reset()
            start = time.perf_counter()
            main(given, self._constants(), self._style)
            whole = time.perf_counter() - start
            counts.append(np.concatenate([timer.counts for timer in timers]))
            seconds.append(np.concatenate([timer.seconds for timer in timers]))
            outside.append(max(0.0, whole - float(seconds[-1].sum())))
        steps = [
            StepTime(
                KernelInfo.of(kernel, int(count)), float(taken), self._loaded.details(kernel.name)
            )
            for kernel, count, taken in zip(
                [kernel for timer in timers for kernel in timer.kernels],
                counts[-1],
                np.median(seconds[1:], axis=0),
                strict=True,
            )
            if count
        ]
        steps.sort(key=lambda step: -step.seconds)
        return Profile.of(steps, float(np.median(outside[1:])), roof)

    def _timers(self) -> tuple[ProgramFunction, list[Timer]]:
        """`main` with timers in it, and the timers."""
        called = undefined_symbols(self._native.code)
        timer = self._timer_of([k for k in self.program.kernels if k.name in called])
        imports = {**program_runtime().symbols, **timer.imports}
        names = [workspace_name(kernel.name) for kernel in timer.kernels]
        imports |= {name: self._library.address(name) for name in names if name in called}
        library = load(self._native.code, [self._native.entry], imports)

        def prepare(context: ProgramContext, held: Library = library) -> None:
            self._prepared(context)

        return self._entered_at(library.address(self._native.entry), prepare), [timer]

    def _timer_of(self, kernels: list[Kernel]) -> TimedKernels:
        """A timer of kernels of the host."""
        from relay.target.llvm.executable.timing import TimedKernels  # needs the compiler

        return TimedKernels(kernels, {k.name: self._library.address(k.name) for k in kernels})

    @property
    def memory(self) -> Memory:
        """The size of the heaps kept between calls, and of the weights, in bytes. What a call needs
        depends on its arguments."""
        heaps = sum(context.heap_bytes for context in self._contexts)
        return Memory(heaps, 0, self._weights.constants.nbytes, 0, 0)

    @property
    def kernels(self) -> Kernels:
        """The kernels of the program; a table when printed."""
        return Kernels.of(self.program.kernels)

    @property
    def live_objects(self) -> int:
        """The number of live objects after calls: 0, or there is a leak."""
        return sum(context.live for context in self._contexts)

    @property
    def leaked_objects(self) -> int:
        """The number of objects that the last calls did not release: 0, or there is a bug."""
        return sum(context.leaked for context in self._contexts)
