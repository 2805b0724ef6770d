"""Targets: their base class (`target.py`), what they exchange with the compiler (`kernel.py`,
`loaded.py`, `memory.py`), and a folder for each kind in this package."""

from relay.target.kernel import Kernel, KernelCode, Scheduled
from relay.target.loaded import KernelCall, Loaded
from relay.target.target import Target, TargetKind

__all__ = ["Kernel", "KernelCall", "KernelCode", "Loaded", "Scheduled", "Target", "TargetKind"]
