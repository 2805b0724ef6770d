"""`VirtualMachine`: running, timing and profiling executables.

    exe = relay.vm.compile(mod, target="llvm", params=params)
    vm = relay.vm.VirtualMachine(exe, relay.cpu())
    y = vm.invoke("main", x)
    print(vm.profile(x))

Arguments and results are Relay values (`relay.interpreter.values`): tensors, tuples, data,
references, functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.errors import RelayError
from relay.executors.report import BenchmarkResult, time_calls
from relay.executors.state import Values
from relay.interpreter.values import TupleValue, Value
from relay.nd import Device, NDArray, as_numpy
from relay.program.program import ClosureSpec, Function, Return, flatten, unflatten
from relay.vm.boundary import Definitions, Exporter, Importer, arranged
from relay.vm.code import Watch
from relay.vm.executable import Executable
from relay.vm.machine import DEPTH, Machine
from relay.vm.objects import VMClosure
from relay.vm.profile import Profile, Recorder


def _require_cpu(device: Device | None) -> None:
    if device is not None and device.kind != "cpu":
        raise RelayError(f"the program was compiled for the CPU, not for {device}")


class VirtualMachine:
    """Runs an executable. `depth` is the maximal depth of the call stack; None: as much as memory
    allows. `set_input` and `invoke_stateful` are not thread-safe."""

    def __init__(
        self,
        exe: Executable,
        device: Device | None = None,
        memory_cfg: None = None,
        *,
        depth: int | None = DEPTH,
    ) -> None:
        if memory_cfg is not None:
            raise RelayError(f"there is one allocator: memory_cfg is None, not {memory_cfg!r}")
        if not isinstance(exe, Executable):
            raise RelayError(
                f"a virtual machine runs a relay.vm.Executable, found {type(exe).__name__}"
            )
        _require_cpu(device)
        if depth is not None and (type(depth) is not int or depth < 0):
            raise RelayError(f"`depth` is a number of calls, or None, found {depth!r}")
        self.exe = exe
        self._machine = Machine(exe.program, exe.loaded, depth)
        self._definitions = Definitions(exe.program)
        self._inputs: dict[str, list[Any]] = {}
        self._outputs: Value | None = None

    # --- running

    def invoke(self, func_name: str = "main", *args: Any, **kwargs: Any) -> Value:
        """Call a function; without arguments, with those of `set_input`."""
        return self._invoke(self._machine, func_name, args, kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Value:
        """Call `main`."""
        return self.invoke("main", *args, **kwargs)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set arguments for calls of a function without any."""
        self._inputs[func_name] = self._arranged(func_name, args, kwargs)

    def invoke_stateful(self, func_name: str = "main", *args: Any, **kwargs: Any) -> None:
        """Call a function; `get_outputs` returns its results."""
        self._outputs = self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[Value]:
        """The results of the last `invoke_stateful`; a tuple as a list of its fields."""
        if self._outputs is None:
            raise RelayError("there is no output before the first invoke_stateful()")
        if isinstance(self._outputs, TupleValue):
            return list(self._outputs.fields)
        return [self._outputs]

    def get_output(self, index: int) -> Value:
        outputs = self.get_outputs()
        if not 0 <= index < len(outputs):
            raise RelayError(f"there are {len(outputs)} outputs, none of number {index}")
        return outputs[index]

    def get_num_outputs(self) -> int:
        return len(self.get_outputs())

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The number of a parameter; -1 when there is none of that name."""
        names = self.exe.get_function_params(func_name)
        return names.index(input_name) if input_name in names else -1

    # --- measuring

    def benchmark(
        self,
        device: Device | None = None,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        end_to_end: bool = False,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Time calls: `repeat` times the mean of `number` of them, or of as many as take
        `min_repeat_ms`. With `end_to_end`, the results are copied to the caller's memory."""
        _require_cpu(device)

        def once() -> None:
            result = self.invoke(func_name, *args, **kwargs)
            if end_to_end and isinstance(result, NDArray):
                result.numpy()

        once()
        return time_calls(once, repeat, number, min_repeat_ms)

    def profile(self, *args: Any, func_name: str = "main", **kwargs: Any) -> Profile:
        """Run once, counting and timing every instruction."""
        recorder = Recorder()
        recorder.called(self.exe.program[func_name].name)
        self.watched(recorder.watch, func_name, *args, **kwargs)
        return recorder.profile()

    def watched(self, watch: Watch, func_name: str = "main", *args: Any, **kwargs: Any) -> Value:
        """Call a function with every step wrapped."""
        return self._invoke(self._machine.watched(watch), func_name, args, kwargs)

    # --- arguments and results

    def _arranged(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        if not args and not named and name in self._inputs:
            return self._inputs[name]
        return arranged(self.exe.get_function_params(name), args, named, name)

    def _invoke(
        self, machine: Machine, name: str, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Value:
        function = self.exe.program[name]
        importer = Importer(self.exe.program, self._call_closure)
        leaves: list[Any] = []
        given = self._arranged(name, args, named)
        for param, data in zip(function.arguments, given, strict=True):
            structure = _types(function, param.value)
            leaves += importer.take(structure, data, f"argument `{param.name}` of `@{name}`")
        results = _result_types(function)
        if not function.state or self.exe.threaded is None:
            return self._run(machine, importer, name, leaves, results)
        with self.exe.threaded.call() as before:
            for (kept, spec), array in zip(
                function.state_specs.items(), before.arrays, strict=True
            ):
                leaves += importer.take(spec, array, f"state `{kept}` of `@{name}`")
            made = self._run(machine, importer, name, leaves, results)
            assert isinstance(made, TupleValue)
            result, *after = made.fields
            self.exe.threaded.values = Values([np.array(as_numpy(value)) for value in after])
        return result

    def _run(
        self, machine: Machine, importer: Importer, name: str, args: Sequence[Any], results: Any
    ) -> Value:
        exporter = Exporter(self._definitions, importer)
        try:
            values = machine.call(machine.codes[name], args, self.exe.arrays)
            return exporter.give(results, values)
        finally:
            exporter.write_back()  # also after a failed run

    def _call_closure(self, closure: VMClosure, spec: ClosureSpec, args: tuple[Any, ...]) -> Value:
        """Call a function that a program returned."""
        importer = Importer(self.exe.program, self._call_closure)
        name = closure.code.function.name
        given = arranged([f"{i}" for i in range(len(spec.arguments))], args, {}, name)
        leaves = importer.take(spec.arguments, tuple(given), f"an argument of `@{name}`")
        return self._run(self._machine, importer, name, [*closure.captured, *leaves], spec.result)


def _types(function: Function, value: Any) -> Any:
    """The types of registers, nested like them."""
    return unflatten(value, [function.registers[register] for register in flatten(value)])


def _result_types(function: Function) -> Any:
    """The result types of a function; straight-line code need not declare them."""
    last = function.blocks[0].instructions[-1]
    if function.results == () and function.is_straight_line and isinstance(last, Return):
        return _types(function, last.value)
    return function.results
