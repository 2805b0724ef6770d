"""`from relay.compat.tvm.contrib.debugger.debug_executor import GraphModuleDebug`."""

from relay.debug_executor import GraphModuleDebug as GraphModuleDebug
from relay.debug_executor import create as create
