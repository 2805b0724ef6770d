"""How a program runs: one file per kind of executor, behind one interface.

f = create_executor("debug", mod).evaluate()      # main, as a Python function
f(np.ones(3, "float32")).numpy()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.errors import RelayError
from relay.executors.debug import DebugExecutor
from relay.executors.executor import Executor
from relay.ir.module import IRModule
from relay.nd import Device

KINDS: Mapping[str, type[Executor]] = {"debug": DebugExecutor}


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Device | None = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor for the functions of `mod`; `params` are values for parameters, by name."""
    if kind not in KINDS:
        raise RelayError(f"there is no executor {kind!r}; there is {', '.join(sorted(KINDS))}")
    return KINDS[kind](mod, device, target, params)
