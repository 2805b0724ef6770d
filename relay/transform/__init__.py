"""Passes: programs in, programs out. One file is one pass, imported when it is asked for.

    mod = relay.transform.InferType()(mod)
    mod = relay.transform.Sequential([relay.transform.FoldConstant(), …])(mod)

The names imported below are what passes are made with and run by; the passes themselves are found
by the names of their files (`catalogue`).
"""

from __future__ import annotations

from typing import Any

from relay.transform import catalogue
from relay.transform.base import FunctionPass as FunctionPass
from relay.transform.base import ModulePass as ModulePass
from relay.transform.base import Pass as Pass
from relay.transform.context import PassContext as PassContext
from relay.transform.function_pass import function_pass as function_pass
from relay.transform.function_pass import module_pass as module_pass
from relay.transform.instruments import PassInstrument as PassInstrument
from relay.transform.instruments import PassPrintingInstrument as PassPrintingInstrument
from relay.transform.instruments import PassTimingInstrument as PassTimingInstrument
from relay.transform.instruments import PrintAfterAll as PrintAfterAll
from relay.transform.instruments import PrintBeforeAll as PrintBeforeAll
from relay.transform.instruments import WellFormedInstrument as WellFormedInstrument
from relay.transform.instruments import pass_instrument as pass_instrument
from relay.transform.pass_info import PassInfo as PassInfo
from relay.transform.sequential import Sequential as Sequential

_MACHINERY = (
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "Sequential",
    "WellFormedInstrument",
    "function_pass",
    "module_pass",
    "pass_instrument",
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_MACHINERY, *catalogue.exports()})
    found = catalogue.find(name)
    if found is None:
        raise AttributeError(f"module 'relay.transform' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_MACHINERY, *catalogue.exports()})
