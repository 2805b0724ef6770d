"""The interpreter as an executor: the reference implementation."""

from __future__ import annotations

from relay.errors import RelayError
from relay.executors.executor import Executor, Loaded
from relay.interpreter.evaluate import call, evaluate
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule


class DebugExecutor(Executor):
    """Interprets programs; the target is ignored."""

    def load(self, module: IRModule, name: str) -> Loaded:
        if self.device is not None and self.device.kind != "cpu":
            raise RelayError(f"the interpreter runs on the CPU, not on {self.device}")
        closure = evaluate(GlobalVar(name), module)
        return lambda values: call(closure, values)
