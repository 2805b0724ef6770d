"""Compiled straight-line programs as an executor: `relay.create_executor("graph", mod)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay import nd
from relay.errors import RelayError
from relay.executors.executor import Executor, Loaded
from relay.interpreter.values import TupleValue, Value, to_value
from relay.ir.module import IRModule
from relay.nd import Device
from relay.program.program import MAIN
from relay.tree import Steps, run


class GraphExecutor(Executor):
    """Compiles a function when it is asked for; `params` become its weights."""

    def __init__(
        self,
        mod: IRModule | None = None,
        device: Device | None = None,
        target: Any = "llvm",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(mod, device, target, params)
        # as values: then it shows by identity whether a call was given another one
        for name, data in self.params.items():
            if isinstance(data, np.ndarray):
                self.params[name] = nd.array(data)

    def load(self, module: IRModule, name: str) -> Loaded:
        from relay.driver import (
            compile_graph,  # the driver is above, and makes executables for anybody
        )

        if self.device is not None and self.device.kind != "cpu":
            raise RelayError(f"the graph executor runs on the CPU, not on {self.device}")
        module = module.copy()
        function = module[MAIN] = module[name]
        names = [param.name_hint for param in function.params]
        weights = {name: data for name, data in self.params.items() if names.count(name) == 1}
        executable = compile_graph(module, weights, target=self.target)
        current = dict(weights)

        def call(values: Sequence[Value]) -> Value:
            inputs = []
            changed: dict[str, Any] = {}
            for param, value in zip(names, values, strict=True):
                if param not in weights:
                    inputs.append(run(_as_tuples(value)))
                elif value is not current[param]:
                    changed[param] = value
            if changed:  # a weight was named in the call, or in the one before
                executable.set_params(changed)
                current.update(changed)
            return to_value(executable(*inputs))

        return call


def _as_tuples(value: Value) -> Steps[Any]:
    """The tensors of a value in Python's tuples."""
    if not isinstance(value, TupleValue):
        return value
    fields = []
    for field in value.fields:
        fields.append((yield _as_tuples(field)))
    return tuple(fields)
