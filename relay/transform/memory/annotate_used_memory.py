"""Annotate kernels with the memory in use while they run:

def @main(%x: Tensor[(4), float32]) {
  let %a = fn (%p0: Tensor[(4), float32], Primitive=1) { exp(%p0) }(%x);
  %a
}
->
def @main(%x: Tensor[(4), float32], io_used_memory=32) {
  let %a = fn (%p0: Tensor[(4), float32], Primitive=1, used_memory=[32]) { exp(%p0) }(%x);
  %a
}

In bytes: inputs and outputs of the kernel, and live values that are needed later. `io_used_memory`
is that of the parameters and the result of a function. Constants and the workspace of kernels are
not counted. Nothing is annotated where sizes are dynamic.

Programs are fused, and in A-normal form. Every result, of a kernel or of branches, has its own
memory here; the plan of a compiled program is better where kernels write in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from relay import tree
from relay.analysis.lifetimes import Live, backwards, functions_in, held_by, kept_by, operands
from relay.analysis.normal_forms import is_kernel
from relay.analysis.precompute import size_of
from relay.immutable import frozen
from relay.ir.expr import Call, Clause, Expr, Function, If, Let, Match, Syntax, Var
from relay.ir.types import TupleType
from relay.ir.variables import all_vars
from relay.transform.base import FunctionPass

USED, IN_AND_OUT = "used_memory", "io_used_memory"


@frozen
class AnnotateUsedMemory(FunctionPass):
    """Gives kernels the attribute `used_memory`, and functions `io_used_memory`."""

    required = ("InferType", "ToANormalForm")

    def rewrite(self, function: Function) -> Function:
        if is_kernel(function):
            return function
        used: dict[int, int] = {}
        for inside in functions_in(function):
            uses = _Uses(inside, used)
            backwards(inside, uses, uses.sizes)

        def visit(before: Syntax, after: Syntax) -> Syntax:
            if id(before) not in used or not isinstance(after, Call):
                return after
            assert isinstance(after.op, Function)
            kernel = _with_attr(after.op, USED, (used[id(before)],))
            return after if kernel is after.op else tree.replace(after, op=kernel)

        result = tree.transform(function, visit)
        parts = (*(param.checked_type for param in function.params), function.body.checked_type)
        total = size_of(TupleType(parts))
        return result if total is None else _with_attr(result, IN_AND_OUT, total)


def _with_attr(function: Function, name: str, value: Any) -> Function:
    """The function with an attribute; itself if it has that value already."""
    return function if function.attrs.get(name) == value else function.with_attr(name, value)


def _has_memory(_: Var, value: Expr) -> bool:
    return isinstance(value, Call | If | Match)


def _without_branches(value: Expr) -> Iterable[Syntax]:
    """The variables that a value refers to; the result of a branch is moved, not referred to."""
    return () if isinstance(value, If | Match) else kept_by(value)


class _Uses:
    """The memory use of the kernels of one function."""

    def __init__(self, function: Function, used: dict[int, int]) -> None:
        self._used = used
        bound = {n.variable for n in tree.postorder(function) if isinstance(n, Let)}
        outside = [v for v in all_vars(function) if v not in bound]
        self._held = held_by(function, _has_memory, _without_branches, outside)
        owners = {owner for held in self._held.values() for owner in held}
        self.sizes = {owner: size_of(owner.ty) for owner in owners}

    def uses(self, e: Expr) -> Iterator[Var]:
        """The owners of the memory that `e` uses."""
        for variable in operands(e):
            yield from self._held.get(variable, ())

    def at_let(self, let: Let, live: Live, used: list[Var]) -> None:
        call = let.value
        if not isinstance(call, Call) or not is_kernel(call.op) or live.unknown:
            return
        needed = dict.fromkeys((*used, *self._held.get(let.variable, ())))
        sizes = [self.sizes[v] for v in needed if v not in live]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):
            self._used[id(call)] = live.total + sum(known)

    def at_entry(self, owner: If | Clause, field: str, unused: list[Var]) -> None:
        """Not of interest here."""
