"""The native code of a program, and the tables that its numbers refer to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from relay.errors import VALUE
from relay.immutable import frozen


@frozen
class Site:
    """A place where a run can fail: the message and source location; the `kernel` that fails, or
    the texts of a check (`RequireEqual`)."""

    message: str
    where: str
    kernel: str = ""
    expected: str = VALUE
    found: str = VALUE


@frozen
class NativeProgram:
    """The code of a program's functions, without its kernels."""

    code: bytes
    entry: str  # the symbol of `main`
    sites: tuple[Site, ...]  # by number
    constants: tuple[str, ...]  # names, in the order of the context's array

    def facts(self) -> dict[str, Any]:
        """Everything but the code, for serialization."""
        return {
            "entry": self.entry,
            "sites": [asdict(site) for site in self.sites],
            "constants": list(self.constants),
        }

    @staticmethod
    def of_facts(code: bytes, facts: dict[str, Any]) -> NativeProgram:
        """The inverse of `facts`."""
        sites = tuple(Site(**site) for site in facts["sites"])
        return NativeProgram(code, facts["entry"], sites, tuple(facts["constants"]))


def workspace_name(kernel: str) -> str:
    """The name of the function that computes the workspace size of a kernel."""
    return f"{kernel}_workspace"
