"""The names of the package `tvm`, so that scripts written for it run after one change.

    import relay.compat.tvm as tvm
    from relay.compat.tvm import relay
    from relay.compat.tvm.contrib import graph_executor

docs/porting.md lists what differs. What has no counterpart is an error that says what to use.
"""

from relay.compat.tvm.modules import register
from relay.compat.tvm.names import module_names

__path__ = [*__path__, register()]

_SCHEDULES = "relay.tune measures schedules, and relay.compile uses the best"

__getattr__, __dir__ = module_names(
    "tvm",
    {
        "__version__": "relay:__version__",
        "IRModule": "relay:IRModule",
        "TVMError": "relay:RelayError",
        "autotvm": "relay.compat.tvm.autotvm",
        "contrib": "relay.compat.tvm.contrib",
        "cpu": "relay.nd:cpu",
        "device": "relay.nd:device",
        "error": "relay.compat.tvm.error",
        "instrument": "relay.compat.tvm.instrument",
        "ir": "relay.compat.tvm.ir",
        "nd": "relay.nd",
        "parser": "relay.parser",
        "relay": "relay.compat.tvm.relay",
        "runtime": "relay.compat.tvm.runtime",
        "target": "relay.target",
        "testing": "relay.compat.tvm.testing",
        "tir": "relay.tir",
        "transform": "relay.transform",
    },
    {
        "auto_scheduler": _SCHEDULES,
        "build": "relay.compile makes executables, relay.te kernels of tensor expressions",
        "cuda": 'relay.compile(model, target="cuda") compiles for GPUs',
        "gpu": 'relay.compile(model, target="cuda") compiles for GPUs',
        "lower": "relay.te.lower shows the loops of a schedule",
        "meta_schedule": _SCHEDULES,
        "micro": 'relay.compile(…).export("net.o") makes libraries for C',
        "relax": "relay.frontend imports models as Relay programs",
        "rpc": 'compile with target="llvm -mtriple=…" and load the file there',
        "te": "relay.te has tensor expressions and schedules of its own (docs/kernels.md)",
        "topi": "operators are records in relay.op",
    },
)
