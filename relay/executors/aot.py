"""All programs as native code: `relay.create_executor("aot", mod)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.executors.compiled import CompiledExecutor, SetParams
from relay.executors.executor import Loaded
from relay.ir.module import IRModule


class AOTExecutor(CompiledExecutor):
    """Runs what `relay.compile` makes of a program; results are the interpreter's values."""

    engine = "native code"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        from relay.driver import compile

        executable = compile(module, weights, target=self.target)
        return lambda values: executable.evaluate(*values), executable.set_params
