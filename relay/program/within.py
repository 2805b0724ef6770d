"""Straight-line code within a limit of memory: values are rematerialized until the plan fits."""

from __future__ import annotations

from collections.abc import Callable

from relay.errors import RelayError
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.program.plan import plan
from relay.program.program import MAIN, Program
from relay.transform.memory.rematerialize import Rematerialize

Lower = Callable[[IRModule], tuple[Program, dict[str, NDArray]]]

_ROUNDS = 4


def lowered_within(
    module: IRModule, lower: Lower, limit: int, threads: int
) -> tuple[Program, dict[str, NDArray]]:
    """The program of a fused module, whose values and workspaces take `limit` bytes at most."""
    target = least = limit
    for _ in range(_ROUNDS):
        program, constants = lower(Rematerialize(memory=target)(module))
        arena = plan(program[MAIN], program.kernel_table, threads).arena
        if arena <= limit:
            return program, constants
        least = arena if least == limit else min(least, arena)
        # workspaces, and gaps in the plan
        target -= max(arena - limit, limit // 16)
        if target <= 0:
            break
    raise RelayError(
        f"the values of a call take {least} bytes at least, and may take {limit}; "
        "a larger `memory`, or none, lets it keep what it computes"
    )
