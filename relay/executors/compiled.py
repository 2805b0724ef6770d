"""Executors that compile: `relay.create_executor("graph" | "vm" | "aot", mod)`.

A function becomes `main`, and `params` its weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay import nd
from relay.errors import RelayError
from relay.executors.executor import Executor, Loaded
from relay.interpreter.values import Value
from relay.ir.entry import with_main
from relay.ir.module import IRModule
from relay.nd import HOST, Device
from relay.program.program import MAIN
from relay.target.target import wanted

# Sets weights by name.
SetParams = Callable[[Mapping[str, Any]], None]


class CompiledExecutor(Executor):
    """Compiles functions on demand."""

    engine: str  # its name in errors

    def __init__(
        self,
        mod: IRModule | None = None,
        device: Device | None = None,
        target: Any = "llvm",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(mod, device, target, params)
        # as values, so that identity shows whether a call passes another one
        for name, data in self.params.items():
            if isinstance(data, np.ndarray):
                self.params[name] = nd.array(data)

    @abstractmethod
    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        """`main` of a module as a function of the other parameters, and a setter of weights."""

    def load(self, module: IRModule, name: str) -> Loaded:
        from relay.pipeline.state import without_state  # loads parts of the compiler

        own = wanted(self.target).device
        if self.device is not None and self.device.kind not in (own, HOST.kind):
            name = "the CPU" if own == HOST.kind else f"{own}(0)"
            raise RelayError(f"the {self.engine} runs on {name}, not on {self.device}")
        # a function of all its parameters, as in the interpreter
        module = without_state(with_main(module, name))
        names = [param.name_hint for param in module[MAIN].params]
        weights = {name: data for name, data in self.params.items() if names.count(name) == 1}
        main, set_params = self.compile(module, weights)
        current = dict(weights)

        def call(values: Sequence[Value]) -> Value:
            inputs = []
            changed: dict[str, Any] = {}
            for param, value in zip(names, values, strict=True):
                if param not in weights:
                    inputs.append(value)
                elif value is not current[param]:
                    changed[param] = value
            if changed:  # by this call, or back after the previous one
                set_params(changed)
                current.update(changed)
            return main(inputs)

        return call


class AOTExecutor(CompiledExecutor):
    """All programs as native code; results are values of the interpreter."""

    engine = "native code"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        from relay.driver import compile  # the driver is above

        executable = compile(module, weights, target=self.target)
        return lambda values: executable.evaluate(*values), executable.set_params


class GraphExecutor(CompiledExecutor):
    """Straight-line code; other programs are refused with a reason."""

    engine = "graph executor"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        from relay.driver import compile_graph

        executable = compile_graph(module, weights, target=self.target)
        return lambda values: executable.evaluate(*values), executable.set_params


class VMExecutor(CompiledExecutor):
    """All programs in the virtual machine."""

    engine = "virtual machine"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        from relay.vm import VirtualMachine, compile

        machine = VirtualMachine(compile(module, self.target, weights))
        return lambda values: machine.invoke(MAIN, *values), machine.exe.set_params
