"""Makes the executable of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay.errors import RelayError, TargetError
from relay.executors.convention import Convention
from relay.executors.elsewhere import ElsewhereExecutable
from relay.executors.executable import Code, Executable
from relay.executors.straight_line import StraightLineExecutable
from relay.program.program import MAIN, Program


def make_executable(
    program: Program,
    code: Code,
    weights: Mapping[str, np.ndarray],
    threads: int | None = None,
    prepared: Mapping[str, np.ndarray] | None = None,
    *,
    state: Mapping[str, np.ndarray] | None = None,
    current: Mapping[str, np.ndarray] | None = None,
    convention: Convention | None = None,
    stack: int = 0,
    memory: int = 0,
    classes: Mapping[str, type] | None = None,
) -> Executable:
    """The executable of a program; one for another machine can be saved only.

    `weights` are the given constants by name, `prepared` the constants computed from them, if
    known, `state` the initial values of the state, `current` its present ones, if they are others,
    `convention` how the model is called. `stack` and `memory` are limits of a whole program,
    `classes` the Python classes of its results.
    """
    for name, limit in (("stack", stack), ("memory", memory)):
        if type(limit) is not int or limit < 0:
            raise RelayError(f"`{name}` is a number of bytes, 0 for the usual one, found {limit!r}")
    kept: dict[str, Any] = {"state": state, "current": current, "convention": convention}
    limits = {"stack": stack, "memory": memory, "classes": classes}
    try:
        code.target.require_here("the code")
    except TargetError as reason:
        parts = (program, code, weights, threads, reason)
        away: Executable | None = code.target.elsewhere(*parts, prepared=prepared, **kept)
        return away or ElsewhereExecutable(*parts, **kept)
    given = (program, code, weights, threads, prepared)
    made: Executable | None = code.target.executable(*given, **kept, **limits)
    if made is not None:
        return made
    if not program[MAIN].is_straight_line:
        raise TargetError.of(
            f"the target `{code.target}` gives no code for functions and branches",
            hint="relay.vm.compile(mod, target) has them run by the virtual machine",
        )
    return StraightLineExecutable(*given, **kept)
