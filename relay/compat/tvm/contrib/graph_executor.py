"""`from relay.compat.tvm.contrib.graph_executor import GraphModule`."""

from relay.graph_executor import GraphModule as GraphModule
from relay.graph_executor import create as create
