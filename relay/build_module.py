"""`relay.build`, as older programs call it, and what they find beside it in `relay.build_module`.

lib = relay.build(mod, target="llvm", params=params)
module = relay.graph_executor.GraphModule(lib["default"](relay.cpu(0)))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.driver import Model, compile_graph
from relay.errors import RelayError
from relay.executors import create_executor as create_executor
from relay.graph_executor import GraphLibrary
from relay.ir.parameters import bind_params_by_name as bind_params_by_name
from relay.pipeline import optimize as optimize
from relay.target.target import Target, wanted
from relay.transform.context import PassContext

__all__ = ["bind_params_by_name", "build", "create_executor", "optimize"]


def build(
    ir_mod: Model,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    executor: str | None = None,
    runtime: str | None = None,
    workspace_memory_pools: None = None,
    constant_memory_pools: None = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphLibrary:
    """Compile `ir_mod` at the level of the PassContext, for `relay.graph_executor.GraphModule`.

    `target_host` must be the target's kind of machine. Another `executor` than "graph", another
    `runtime` than "cpp" and memory pools are refused.
    """
    _require("executor", executor, "graph", "relay.vm.compile and relay.compile build others")
    _require("runtime", runtime, "cpp", "relay.compile(…).export makes libraries for C")
    arena = "memory is planned at compile time, and relay.compile(…, memory=) limits it"
    _require("workspace_memory_pools", workspace_memory_pools, None, arena)
    _require("constant_memory_pools", constant_memory_pools, None, arena)
    if target_host is not None:
        target = Target(wanted(target), target_host)
    level = PassContext.current().opt_level
    return GraphLibrary(compile_graph(ir_mod, params, target=target, level=level), mod_name)


def _require(name: str, value: Any, only: str | None, instead: str) -> None:
    if value is not None and value != only:
        raise RelayError(f"relay.build has {name}={only!r} only, found {value!r}; {instead}")
