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
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    If,
    Let,
    Match,
    Op,
    RefWrite,
    Syntax,
    Var,
    is_atom,
)
from relay.ir.module import IRModule
from relay.ir.types import UNIT, FuncType
from relay.ir.variables import free_vars
from relay.op.memory import STORAGE, kill
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext

# Operators whose result is a tensor in the storage, or over the memory, of their first argument.
VIEWS = ("memory.alloc_tensor", "vm.reshape_tensor")


@frozen
class ManifestLifetimes(FunctionPass):
    """Inserts `memory.kill` behind the last uses of values."""

    required = ("InferType", "ToANormalForm")

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        if is_kernel(function):
            return function
        kills = _Kills()
        for inside in functions_in(function):
            kills.look_at(inside)
        return kills.inserted(function)


@dataclass(eq=False)
class _Kills:
    """The variables to kill behind bindings, and at the beginnings of blocks."""

    behind: dict[int, list[Var]] = field(default_factory=dict)
    entries: dict[tuple[int, str], list[Var]] = field(default_factory=dict)

    def look_at(self, function: Function) -> None:
        backwards(function, _Uses(self, function))

    def inserted(self, function: Function) -> Function:
        if not self.behind and not self.entries:
            return function

        def visit(before: Syntax, after: Syntax) -> Syntax:
            match after:
                case Let(body=body) if id(before) in self.behind:
                    return tree.replace(after, body=_killed(self.behind[id(before)], body))
                case If() | Clause():
                    parts = {
                        name: _killed(self.entries[id(before), name], getattr(after, name))
                        for name in ("true_branch", "false_branch", "rhs")
                        if (id(before), name) in self.entries
                    }
                    return tree.replace(after, **parts) if parts else after
            return after

        return tree.transform(function, visit)


def _killed(variables: list[Var], body: Expr) -> Expr:
    for variable in reversed(variables):
        body = Let(Var("_"), kill(variable), body)
    return body


class _Uses:
    """The uses of the variables of one function."""

    def __init__(self, kills: _Kills, function: Function) -> None:
        self._kills = kills
        self._storages = held_by(function, _is_storage, _lies_in)
        self._mortal = _mortal(function, self._storages)
        self._first_names = origins(function)

    def uses(self, e: Expr) -> Iterator[Var]:
        """The used variables and their storages, as far as they may be killed."""
        for variable in operands(e):
            first = self._first_names.get(variable, variable)
            for one in chain((first,), self._storages.get(variable, ())):
                if one in self._mortal:
                    yield one

    def at_let(self, let: Let, live: Live, used: list[Var]) -> None:
        last = [v for v in used if v not in live]
        own = let.variable
        if own in self._mortal and own not in live:
            last.append(own)
        if last:
            self._kills.behind[id(let)] = last

    def at_entry(self, owner: If | Clause, field: str, unused: list[Var]) -> None:
        self._kills.entries[id(owner), field] = unused


def _is_storage(variable: Var, value: Expr) -> bool:
    return variable.ty == STORAGE and not is_atom(value)


def _lies_in(value: Expr) -> Iterable[Syntax]:
    match value:
        case Call(op=Op(name=name), args=args) if name in VIEWS:
            return args[:1]
    return kept_by(value)


def _mortal(function: Function, storages: Mapping[Var, frozenset[Var]]) -> set[Var]:
    """The variables that may be killed in a function."""
    bound: dict[Var, Expr] = {}
    kept = set(_leaving(function, storages)) if storages else set()
    for node in tree.postorder(function, lambda n: n is function or not isinstance(n, Function)):
        others: Iterable[Syntax] = ()
        match node:
            case Let(variable=variable, value=value):
                bound[variable] = value
            case Function() if node is not function:
                others = free_vars(node)
                kept.update(free_vars(node))
            case Call(op=Op(name="memory.kill"), args=(Var() as killed,)):
                kept.add(killed)
            case RefWrite(value=stored):
                others = (stored,)
            case Call(op=callee, args=args) if _is_unknown(callee):
                others = args
        kept.update(s for v in others if isinstance(v, Var) for s in storages.get(v, ()))
    return {
        variable
        for variable, value in bound.items()
        if variable not in kept
        and not is_atom(value)
        and variable.ty != UNIT
        and not isinstance(variable.ty, FuncType)
    }


def _leaving(function: Function, storages: Mapping[Var, frozenset[Var]]) -> Iterator[Var]:
    """The storages allocated in branches that hold results of these: they are not visible
    outside."""
    blocks = Blocks(function)
    lets = [node for node in tree.postorder(function) if isinstance(node, Let)]
    homes = {let.variable: blocks.home(let) for let in lets}
    for let in lets:
        if isinstance(let.value, If | Match):
            here = homes[let.variable]
            for storage in storages.get(let.variable, ()):
                if here.ancestor_at(homes[storage].depth) is not homes[storage]:
                    yield storage


def _is_unknown(callee: Expr) -> bool:
    """Whether the arguments of a call may escape."""
    return not (isinstance(callee, Op | Constructor) or is_kernel(callee))
