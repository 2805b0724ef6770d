"""`relay.build_config`, which is how a PassContext was written once:

    with relay.build_config(opt_level=3, disabled_pass=["FuseOps"], trace=show): …

`trace(module, info, is_before)` is called before and after every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.context import PassContext
from relay.transform.instruments import PassInstrument
from relay.transform.pass_info import PassInfo

__all__ = ["build_config"]

Trace = Callable[[IRModule, PassInfo, bool], Any]


def build_config(
    opt_level: int = 2,
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    trace: Trace | None = None,
) -> PassContext:
    """The PassContext of these options."""
    watching = None if trace is None else [_Traced(trace)]
    return PassContext(opt_level, required_pass, disabled_pass, watching)


@frozen
class _Traced(PassInstrument):
    """Calls a function around every pass."""

    trace: Trace

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.trace(mod, info, True)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.trace(mod, info, False)
