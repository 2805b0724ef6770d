"""Release of native memory with the Python object that owns it.

    class Block:
        __slots__ = ("_release",)
        __del__ = calls("_release")

Python runs signal handlers in its main thread when a Python function begins or a call in it
returns, and drops what a `__del__` raises: a Ctrl-C that is noticed there would be lost, and the
memory with it. So such a `__del__` is no Python function.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def calls(attribute: str) -> Any:
    """A `__del__` that calls what the attribute holds, if `__init__` came as far as setting it.

    What it holds has to be implemented in C as well: a `partial` of a function of `ctypes`.
    """
    return property(attrgetter(attribute))
