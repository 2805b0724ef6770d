"""The virtual machine as an executor: `relay.create_executor("vm", mod)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.executors.compiled import CompiledExecutor, SetParams
from relay.executors.executor import Loaded
from relay.ir.module import IRModule
from relay.program.program import MAIN


class VMExecutor(CompiledExecutor):
    """Runs all programs, one instruction at a time."""

    engine = "virtual machine"

    def compile(self, module: IRModule, weights: Mapping[str, Any]) -> tuple[Loaded, SetParams]:
        from relay.vm import VirtualMachine, compile

        machine = VirtualMachine(compile(module, self.target, weights))
        return lambda values: machine.invoke(MAIN, *values), machine.exe.set_params
