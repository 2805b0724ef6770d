"""Compute values again instead of keeping them, where they would take too much memory:

Rematerialize(memory=1024):
let %a = exp(%x);
let %b = sin(%a);
let %c = sum(%b, axis=[1], keepdims=True);
let %d = add(%a, %c);
%d
->
let %a = exp(%x);
let %b = sin(%a);
let %c = sum(%b, axis=[1], keepdims=True);
let %a1 = exp(%x);
let %d = add(%a1, %c);
%d

for %x: Tensor[(16, 16), float32]

`memory` is a number of bytes for values between kernels; parameters, constants and results are not
counted. While more is live somewhere, a value that is kept across that place for a later use is
computed again before that use: the one that takes the most memory for the least work, together with
what it is computed from, if that is not there any more. What is random or has effects is never
computed twice. If nothing helps, the program keeps what it needs.

This is for dataflow code, such as a training step; other functions stay as they are. It runs behind
the passes that merge equal expressions, as `relay.compile(…, memory=…)` does: on kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relay import tree
from relay.analysis.mac_count import get_total_mac_number
from relay.analysis.normal_forms import is_kernel
from relay.analysis.precompute import size_of
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.functional.to_a_normal_form import ToANormalFormExpr

_DEEP = 8  # values in a row that are computed again together
_MORE = 4  # times as many steps as before, at most


@frozen
class Rematerialize(FunctionPass):
    """Keeps the values of dataflow code below `memory` bytes by computing some of them again."""

    required = ("InferType", "ToANormalForm")
    memory: int = 0

    def rewrite(self, function: ir.Function) -> ir.Function:
        if self.memory <= 0:
            raise PassError(f"memory is a number of bytes above 0, found {self.memory!r}")
        if is_kernel(function) or (chain := _Chain.of(function)) is None:
            return function
        return ToANormalFormExpr(chain.function()) if chain.shrink(self.memory) else function


@dataclass(eq=False)
class _Step:
    """A call and the variable it is bound to. `size` is 0 for results."""

    variable: ir.Var
    call: ir.Call
    reads: list[ir.Var]
    size: int
    cost: int
    again: bool  # whether it may be computed again


class _Chain:
    """Calls in order; tuples and their fields are parts of what uses them."""

    def __init__(self, function: ir.Function, steps: list[_Step], result: ir.Expr) -> None:
        self._before = function
        self._steps = steps
        self._result = result

    @classmethod
    def of(cls, function: ir.Function) -> _Chain | None:
        """The chain of a function in A-normal form; None if it is more than that."""
        aliases: dict[ir.Syntax, ir.Syntax] = {}
        steps: list[_Step] = []
        e = function.body
        while isinstance(e, ir.Let):
            value = tree.transform(e.value, _same, aliases)
            if isinstance(value, ir.Call) and (isinstance(value.op, OpDef) or is_kernel(value.op)):
                size = size_of(e.variable.checked_type)
                if size is None:
                    return None
                again = all(_is_repeatable(part) for part in tree.postorder(value))
                step = _Step(e.variable, value, _reads(value), size, _cost(e.value), again)
                steps.append(step)
            elif isinstance(value, ir.Tuple | ir.TupleGetItem | ir.Constant) or ir.is_atom(value):
                aliases[e.variable] = value
            else:
                return None
            e = e.body
        result = tree.transform(e, _same, aliases)
        given = set(_reads(result))
        own = {step.variable for step in steps}
        for step in steps:
            step.reads = [read for read in step.reads if read in own]
            if step.variable in given:
                step.size = 0
        return cls(function, steps, result)

    def function(self) -> ir.Function:
        body = self._result
        for step in reversed(self._steps):
            body = ir.Let(step.variable, step.call, body, span=step.call.span)
        return tree.replace(self._before, body=body)

    # --- what is live

    def _uses(self) -> tuple[dict[ir.Var, int], dict[ir.Var, list[int]]]:
        """Where values are made, and where they are read; results at the end."""
        made = {step.variable: place for place, step in enumerate(self._steps)}
        uses: dict[ir.Var, list[int]] = {variable: [] for variable in made}
        for place, step in enumerate(self._steps):
            for read in dict.fromkeys(step.reads):
                uses[read].append(place)
        for read in dict.fromkeys(_reads(self._result)):
            if read in uses:
                uses[read].append(len(self._steps))
        return made, uses

    def _peak(self, made: dict[ir.Var, int], uses: dict[ir.Var, list[int]]) -> tuple[int, int]:
        """The most bytes that are live at a step, and the first such step."""
        change = [0] * (len(self._steps) + 2)
        for step in self._steps:
            first = made[step.variable]
            change[first] += step.size
            change[max([first, *uses[step.variable][-1:]]) + 1] -= step.size
        most, where, total = -1, 0, 0
        for place in range(len(self._steps)):
            total += change[place]
            if total > most:
                most, where = total, place
        return most, where

    # --- less of it

    def shrink(self, limit: int) -> bool:
        """Whether something was changed to keep below the limit."""
        most = _MORE * len(self._steps)
        changed = False
        while len(self._steps) <= most:
            made, uses = self._uses()
            peak, where = self._peak(made, uses)
            if peak <= limit:
                break
            found = self._best(where, made, uses)
            if found is None:
                break
            self._again(*found)
            changed = True
        return changed

    def _best(
        self, where: int, made: dict[ir.Var, int], uses: dict[ir.Var, list[int]]
    ) -> tuple[int, list[_Step]] | None:
        """The place of a later use, and the steps to repeat before it."""
        best: tuple[float, int, list[_Step]] | None = None
        for step in self._steps[:where]:
            later = [place for place in uses[step.variable] if place > where]
            if not (step.again and step.size and later) or where in uses[step.variable]:
                continue
            if later[0] >= len(self._steps):
                continue
            for deep in (False, True):
                group, kept = self._group(step, where, uses, made, deep)
                saved = step.size - kept
                cost = sum(one.cost for one in group)
                if saved > 0 and (best is None or saved / cost > best[0]):
                    best = saved / cost, later[0], group
        return None if best is None else best[1:]

    def _group(
        self,
        step: _Step,
        where: int,
        uses: dict[ir.Var, list[int]],
        made: dict[ir.Var, int],
        deep: bool,
    ) -> tuple[list[_Step], int]:
        """A step with what it is computed from, in order, and the bytes that are kept for them."""
        group: dict[ir.Var, _Step] = {step.variable: step}
        pending, kept = [step], 0
        seen = {step.variable}
        while pending:
            for read in pending.pop().reads:
                if read in seen:
                    continue
                seen.add(read)
                below = self._steps[made[read]]
                if not below.size or uses[read][-1] > where:
                    continue
                if deep and below.again and len(group) < _DEEP:
                    group[read] = below
                    pending.append(below)
                else:
                    kept += below.size
        return sorted(group.values(), key=lambda one: made[one.variable]), kept

    def _again(self, place: int, group: Sequence[_Step]) -> None:
        """Repeat some steps before a place; what follows reads the new values."""
        new: dict[ir.Syntax, ir.Syntax] = {}
        copies = []
        for step in group:
            copy = _renamed(step, new)
            before = step.variable
            variable = ir.Var(before.name_hint, before.type_annotation or before.checked_type)
            copy.variable = variable
            copy.call = tree.replace(copy.call)  # a node of its own: shared ones are computed once
            new[step.variable] = variable
            copies.append(copy)
        last: dict[ir.Syntax, ir.Syntax] = {group[-1].variable: new[group[-1].variable]}
        rest = [_renamed(step, last) for step in self._steps[place:]]
        self._steps = [*self._steps[:place], *copies, *rest]
        self._result = tree.transform(self._result, _same, last)


def _same(_: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
    return after


def _reads(e: ir.Expr) -> list[ir.Var]:
    """The variables in arguments and results, without those of functions."""
    if isinstance(e, ir.Call):
        return [read for argument in e.args for read in _reads_of(argument)]
    return list(_reads_of(e))


def _reads_of(e: ir.Expr) -> Iterator[ir.Var]:
    return (part for part in tree.postorder(e) if isinstance(part, ir.Var))


def _is_repeatable(e: ir.Syntax) -> bool:
    return not (isinstance(e, ir.Call) and isinstance(e.op, OpDef) and not e.op.is_repeatable)


def _cost(e: ir.Expr) -> int:
    """The operations of a call."""
    total = 1
    function = e.op.body if isinstance(e, ir.Call) and isinstance(e.op, ir.Function) else e
    products = get_total_mac_number(function)
    for part in tree.postorder(function):
        if isinstance(part, ir.Call) and isinstance(part.op, OpDef):
            total += part.op.cost * (size_of(part.checked_type) or 1)
    return total + (2 * products if isinstance(products, int) else 0)


def _renamed(step: _Step, names: Mapping[ir.Syntax, ir.Syntax]) -> _Step:
    """A step that reads other variables."""
    if not any(read in names for read in step.reads):
        return _Step(step.variable, step.call, step.reads, step.size, step.cost, step.again)
    args = tuple(tree.transform(argument, _same, names) for argument in step.call.args)
    call = tree.replace(step.call, args=args)
    reads = [names.get(read, read) for read in step.reads]
    found = [read for read in reads if isinstance(read, ir.Var)]
    return _Step(step.variable, call, found, step.size, step.cost, step.again)
