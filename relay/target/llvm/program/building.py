"""Recursion that only builds data around its result, which is a loop.

    (%5: List) = call @map(%0, %3)        %6: List = data Cons(%4, ?)
    %6: List = data Cons(%4, %5)     ->   the result so far ends in %6;
    return %6                             go on with (%0, %3): what that gives goes where ? is

The data is made first, with a place in it left open, and every turn of the loop fills in the place
that the turn before has left. So a list of any length is mapped without a stack (tail recursion
modulo constructors).
"""

from __future__ import annotations

from collections.abc import Mapping

from relay.immutable import frozen
from relay.program.program import (
    Block,
    CallFunction,
    DataSpec,
    Function,
    Instruction,
    Literal,
    MakeData,
    Retain,
    Return,
    Scalar,
    TailCall,
    TailCallClosure,
    flatten,
)


@frozen
class Building:
    """The end of a block that calls its own function and returns data with the result in it."""

    position: int  # of the call
    call: CallFunction
    between: tuple[Instruction, ...]  # which do not look at the result
    make: MakeData
    field: int  # where the result goes


def building_calls(function: Function) -> Mapping[int, Building]:
    """The blocks that end so, by number; none where the function also ends in calls of others,
    which would have to come back to fill in the result."""
    if any(
        isinstance(one, TailCallClosure)
        or (isinstance(one, TailCall) and one.function != function.name)
        for one in function.instructions
    ):
        return {}
    results = flatten(function.results)
    if len(results) != 1 or not isinstance(results[0], DataSpec):
        return {}
    found = {}
    for number, block in enumerate(function.blocks):
        if (building := _building(function.name, block)) is not None:
            found[number] = building
    return found


def _building(name: str, block: Block) -> Building | None:
    if len(block.instructions) < 3:
        return None
    make, last = block.instructions[-2:]
    if not isinstance(make, MakeData) or last != Return(make.output):
        return None
    position = len(block.instructions) - 3
    while position >= 0 and isinstance(block.instructions[position], Literal | Scalar | Retain):
        position -= 1
    call = block.instructions[position] if position >= 0 else None
    if not isinstance(call, CallFunction) or call.function != name:
        return None
    result = call.outputs[0]
    between = block.instructions[position + 1 : -2]
    # handed over once, and nobody else looks at it
    if make.fields.count(result) != 1 or any(_mentions(one, result) for one in between):
        return None
    return Building(position, call, between, make, make.fields.index(result))


def _mentions(instruction: Instruction, register: int) -> bool:
    return isinstance(instruction, Retain) and instruction.register == register
