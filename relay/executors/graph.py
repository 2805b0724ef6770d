"""Compiled straight-line programs as an executor: `relay.create_executor("graph", mod)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.executors.compiled import CompiledExecutor, SetParams
from relay.executors.executor import Loaded
from relay.ir.module import IRModule


class GraphExecutor(CompiledExecutor):
    """Runs straight-line code; any other program is refused, with the reason."""

    engine = "graph executor"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        # the driver is above, and makes executables for anybody
        from relay.driver import compile_graph

        executable = compile_graph(module, weights, target=self.target)
        return lambda values: executable.evaluate(*values), executable.set_params
