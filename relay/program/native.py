"""The native code of a program, and what the numbers in it mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from relay.errors import VALUE
from relay.immutable import frozen


@frozen
class Site:
    """A place where a run can end early: what to say, and where in the source it is. For a failing
    kernel `kernel` is its name; for a check the texts show its numbers (`RequireEqual`)."""

    message: str
    where: str
    kernel: str = ""
    expected: str = VALUE
    found: str = VALUE


@frozen
class NativeProgram:
    """The code of a program's functions; that of its kernels is apart."""

    code: bytes
    entry: str  # the symbol of `main`
    sites: tuple[Site, ...]  # by number
    constants: tuple[str, ...]  # the names of those in the context's array, in order

    def facts(self) -> dict[str, Any]:
        """All but the code, to be written down."""
        return {
            "entry": self.entry,
            "sites": [asdict(site) for site in self.sites],
            "constants": list(self.constants),
        }

    @staticmethod
    def of_facts(code: bytes, facts: dict[str, Any]) -> NativeProgram:
        """What `facts` and `code` were read from."""
        sites = tuple(Site(**site) for site in facts["sites"])
        return NativeProgram(code, facts["entry"], sites, tuple(facts["constants"]))


def workspace_name(kernel: str) -> str:
    """The function, beside a kernel, that says how much memory it wants."""
    return f"{kernel}_workspace"
