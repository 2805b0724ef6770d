"""`tvm.contrib.debugger`: the debug executor."""

from relay.compat.tvm.names import module_names

__getattr__, __dir__ = module_names(
    "tvm.contrib.debugger",
    {"debug_executor": "relay.debug_executor", "debug_runtime": "relay.debug_executor"},
)
