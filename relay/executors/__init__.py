"""Executors: several ways to run a program, behind one interface.

f = create_executor("debug", mod).evaluate()      # main, as a Python function
f(np.ones(3, "float32")).numpy()

    debug.py        the interpreter
    compiled.py     compiled programs: "graph" straight-line code, "vm" all programs in the virtual
                    machine, "aot" all programs as native code
    executable.py   a compiled program as Python calls it; without the compiler, as are bound.py,
                    arrays.py, memory.py, report.py and artifact.py
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relay.errors import RelayError, did_you_mean

if TYPE_CHECKING:
    from relay.executors.executor import Executor
    from relay.ir.module import HasModule, IRModule
    from relay.nd import Device

# Kind -> module and class, imported on demand: loading a compiled model does not load the compiler.
KINDS: Mapping[str, tuple[str, str]] = {
    "debug": ("relay.executors.debug", "DebugExecutor"),
    "graph": ("relay.executors.compiled", "GraphExecutor"),
    "vm": ("relay.executors.compiled", "VMExecutor"),
    "aot": ("relay.executors.compiled", "AOTExecutor"),
}


def create_executor(
    kind: str = "debug",
    mod: IRModule | HasModule | None = None,
    device: Device | None = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor for the functions of `mod`; `params` are values for parameters, by name."""
    if kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS)
        raise RelayError(
            f"there is no executor {kind!r}; there is {', '.join(sorted(KINDS))}"
            + (f"; {hint}" if hint else "")
        )
    home, name = KINDS[kind]
    made: Executor = getattr(importlib.import_module(home), name)(mod, device, target, params)
    return made
