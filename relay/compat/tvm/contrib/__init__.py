"""`tvm.contrib`: the graph executors, pictures, and temporary folders."""

from relay.compat.tvm.modules import PLACE
from relay.compat.tvm.names import module_names

__path__ = [*__path__, PLACE]

__getattr__, __dir__ = module_names(
    "tvm.contrib",
    {
        "debugger": "relay.compat.tvm.contrib.debugger",
        "graph_executor": "relay.graph_executor",
        "graph_runtime": "relay.graph_executor",
        "relay_viz": "relay.viz",
        "utils": "relay.compat.tvm.contrib.utils",
    },
    {
        "download": "models are files; download them with a tool of your choice",
        "cc": 'relay.compile(…).export("lib.so", "shared") links',
    },
)
