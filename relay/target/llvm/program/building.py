"""Tail recursion modulo constructors: recursion that only builds data around its result is a loop.

    (%5: List) = call @map(%0, %3)        %6: List = data Cons(%4, ?)
    %6: List = data Cons(%4, %5)     ->   the result so far ends in %6;
    return %6                             go on with (%0, %3): what that gives goes where ? is

The data is allocated first, with one field unset, which the next iteration fills in. So a list of
any length is mapped in constant stack space.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay.immutable import frozen
from relay.program import program as isa


@frozen
class Building:
    """The end of a block that returns data with the result of a recursive call in it."""

    position: int  # of the call
    call: isa.CallFunction
    between: tuple[isa.Instruction, ...]  # which do not use the result
    make: isa.MakeData
    field: int  # of the result


def building_calls(function: isa.Function) -> Mapping[int, Building]:
    """The blocks that end so, by number; none if the function also has other tail calls, which
    could not fill in the result."""
    if any(
        isinstance(one, isa.TailCallClosure)
        or (isinstance(one, isa.TailCall) and one.function != function.name)
        for one in function.instructions
    ):
        return {}
    results = isa.flatten(function.results)
    if len(results) != 1 or not isinstance(results[0], isa.DataSpec):
        return {}
    found = {n: _building(function.name, block) for n, block in enumerate(function.blocks)}
    return {number: building for number, building in found.items() if building is not None}


def _building(name: str, block: isa.Block) -> Building | None:
    if len(block.instructions) < 3:
        return None
    make, last = block.instructions[-2:]
    if not isinstance(make, isa.MakeData) or last != isa.Return(make.output):
        return None
    position = len(block.instructions) - 3
    while position >= 0 and isinstance(
        block.instructions[position], isa.Literal | isa.Scalar | isa.Retain
    ):
        position -= 1
    call = block.instructions[position] if position >= 0 else None
    if not isinstance(call, isa.CallFunction) or call.function != name:
        return None
    result = call.outputs[0]
    between = block.instructions[position + 1 : -2]
    # it is used once, as a field
    if make.fields.count(result) != 1 or isa.Retain(result) in between:
        return None
    return Building(position, call, between, make, make.fields.index(result))
