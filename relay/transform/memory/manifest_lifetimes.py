"""Mark where values are no longer needed:

let %a = exp(%x); let %b = sqrt(%a); let %c = add(%b, %b); %c
->
let %a = exp(%x);
let %b = sqrt(%a);
let %_ = memory.kill(%a);
let %c = add(%b, %b);
let %d = memory.kill(%b);
%c

Programs are in A-normal form. A value that only one branch needs is killed at the beginning of the
others. Values with other owners are not killed: parameters, parts of data, constants, captured
variables. A storage is freed when nothing that lies in it is needed any more, and never if what
lies in it may be kept by others, or is the result of a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from relay import tree
from relay.analysis.lifetimes import (
    Live,
    backwards,
    functions_in,
    held_by,
    kept_by,
    operands,
    origins,
)
from relay.analysis.normal_forms import Blocks, is_kernel
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.types import UNIT, FuncType
from relay.ir.variables import free_vars
from relay.op.memory import STORAGE, kill
from relay.transform.base import FunctionPass

# Operators whose result is a tensor in the storage, or over the memory, of their first argument.
VIEWS = ("memory.alloc_tensor", "vm.reshape_tensor")


@frozen
class ManifestLifetimes(FunctionPass):
    """Inserts `memory.kill` behind the last uses of values."""

    required = ("InferType", "ToANormalForm")

    def rewrite(self, function: ir.Function) -> ir.Function:
        if is_kernel(function):
            return function
        kills = _Kills()
        for inside in functions_in(function):
            kills.look_at(inside)
        return kills.inserted(function)


@dataclass(eq=False)
class _Kills:
    """The variables to kill behind bindings, and at the beginnings of blocks."""

    behind: dict[int, list[ir.Var]] = field(default_factory=dict)
    entries: dict[tuple[int, str], list[ir.Var]] = field(default_factory=dict)

    def look_at(self, function: ir.Function) -> None:
        backwards(function, _Uses(self, function))

    def inserted(self, function: ir.Function) -> ir.Function:
        if not self.behind and not self.entries:
            return function

        def visit(before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
            match after:
                case ir.Let(body=body) if id(before) in self.behind:
                    return tree.replace(after, body=_killed(self.behind[id(before)], body))
                case ir.If() | ir.Clause():
                    parts = {
                        name: _killed(self.entries[id(before), name], getattr(after, name))
                        for name in ("true_branch", "false_branch", "rhs")
                        if (id(before), name) in self.entries
                    }
                    return tree.replace(after, **parts) if parts else after
            return after

        return tree.transform(function, visit)


def _killed(variables: list[ir.Var], body: ir.Expr) -> ir.Expr:
    for variable in reversed(variables):
        body = ir.Let(ir.Var("_"), kill(variable), body)
    return body


class _Uses:
    """The uses of the variables of one function."""

    def __init__(self, kills: _Kills, function: ir.Function) -> None:
        self._kills = kills
        self._storages = held_by(function, _is_storage, _lies_in)
        self._mortal = _mortal(function, self._storages)
        self._first_names = origins(function)

    def uses(self, e: ir.Expr) -> Iterator[ir.Var]:
        """The used variables and their storages, as far as they may be killed."""
        for variable in operands(e):
            first = self._first_names.get(variable, variable)
            for one in chain((first,), self._storages.get(variable, ())):
                if one in self._mortal:
                    yield one

    def at_let(self, let: ir.Let, live: Live, used: list[ir.Var]) -> None:
        last = [v for v in used if v not in live]
        own = let.variable
        if own in self._mortal and own not in live:
            last.append(own)
        if last:
            self._kills.behind[id(let)] = last

    def at_entry(self, owner: ir.If | ir.Clause, field: str, unused: list[ir.Var]) -> None:
        self._kills.entries[id(owner), field] = unused


def _is_storage(variable: ir.Var, value: ir.Expr) -> bool:
    return variable.ty == STORAGE and not ir.is_atom(value)


def _lies_in(value: ir.Expr) -> Iterable[ir.Syntax]:
    match value:
        case ir.Call(op=ir.Op(name=name), args=args) if name in VIEWS:
            return args[:1]
    return kept_by(value)


def _mortal(function: ir.Function, storages: Mapping[ir.Var, frozenset[ir.Var]]) -> set[ir.Var]:
    """The variables that may be killed in a function."""
    bound: dict[ir.Var, ir.Expr] = {}
    kept = set(_leaving(function, storages)) if storages else set()
    for node in tree.postorder(function, lambda n: n is function or not isinstance(n, ir.Function)):
        others: Iterable[ir.Syntax] = ()
        match node:
            case ir.Let(variable=variable, value=value):
                bound[variable] = value
            case ir.Function() if node is not function:
                others = free_vars(node)
                kept.update(free_vars(node))
            case ir.Call(op=ir.Op(name="memory.kill"), args=(ir.Var() as killed,)):
                kept.add(killed)
            case ir.RefWrite(value=stored):
                others = (stored,)
            case ir.Call(op=callee, args=args) if _is_unknown(callee):
                others = args
        kept.update(s for v in others if isinstance(v, ir.Var) for s in storages.get(v, ()))
    return {
        variable
        for variable, value in bound.items()
        if variable not in kept
        and not ir.is_atom(value)
        and variable.ty != UNIT
        and not isinstance(variable.ty, FuncType)
    }


def _leaving(
    function: ir.Function, storages: Mapping[ir.Var, frozenset[ir.Var]]
) -> Iterator[ir.Var]:
    """The storages allocated in branches that hold results of these: they are not visible
    outside."""
    blocks = Blocks(function)
    lets = [node for node in tree.postorder(function) if isinstance(node, ir.Let)]
    homes = {let.variable: blocks.home(let) for let in lets}
    for let in lets:
        if isinstance(let.value, ir.If | ir.Match):
            here = homes[let.variable]
            for storage in storages.get(let.variable, ()):
                if here.ancestor_at(homes[storage].depth) is not homes[storage]:
                    yield storage


def _is_unknown(callee: ir.Expr) -> bool:
    """Whether the arguments of a call may escape."""
    return not (isinstance(callee, ir.Op | ir.Constructor) or is_kernel(callee))
