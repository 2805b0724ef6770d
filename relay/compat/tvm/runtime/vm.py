"""`from relay.compat.tvm.runtime.vm import VirtualMachine`."""

from relay.vm import VirtualMachine as VirtualMachine
