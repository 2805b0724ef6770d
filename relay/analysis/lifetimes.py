"""Live ranges of the variables of a program in A-normal form.

    let %a = exp(%x); let %b = sqrt(%a); let %c = add(%b, %b); %c
                                |                  |
                           last use of %a     last use of %b

`backwards` walks a function from its end to its beginning, and so meets the last use of every
variable first. `held_by` tells what else must live as long as a variable: a tuple keeps its fields
alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from relay import tree
from relay.analysis.normal_forms import is_kernel
from relay.ir import expr as ir
from relay.ir.variables import binders, free_vars
from relay.tree import Steps


class Live:
    """The live variables at some point.

    `total` is the sum of their known sizes, and `unknown` the number of those without one.
    """

    def __init__(self, sizes: Mapping[ir.Var, int | None]) -> None:
        self.total = self.unknown = 0
        self._sizes = sizes
        self._needed: dict[ir.Var, None] = {}
        self._log: list[ir.Var] = []

    def __contains__(self, variable: ir.Var) -> bool:
        return variable in self._needed

    def add(self, variable: ir.Var) -> None:
        if variable not in self._needed:
            self._needed[variable] = None
            self._log.append(variable)
            self._count(variable, 1)

    def discard(self, variable: ir.Var) -> None:
        if variable in self._needed:
            del self._needed[variable]
            self._count(variable, -1)

    def _count(self, variable: ir.Var, sign: int) -> None:
        size = self._sizes.get(variable, 0)
        if size is None:
            self.unknown += sign
        else:
            self.total += sign * size

    def mark(self) -> int:
        return len(self._log)

    def taken_back(self, mark: int) -> dict[ir.Var, None]:
        """Remove the variables that were added since `mark`, and return them."""
        added = {v: None for v in self._log[mark:] if v in self._needed}
        for variable in added:
            self.discard(variable)
        del self._log[mark:]
        return added


class Visitor(Protocol):
    """What is notified while a function is traversed backward."""

    def uses(self, e: ir.Expr) -> Iterable[ir.Var]:
        """The variables that one operation uses."""

    def at_let(self, let: ir.Let, live: Live, used: list[ir.Var]) -> None:
        """A binding: `live` are the live variables behind it, `used` those its value uses."""

    def at_entry(self, owner: ir.If | ir.Clause, field: str, unused: list[ir.Var]) -> None:
        """A branch that does not use variables that other branches use."""


def backwards(
    function: ir.Function, visitor: Visitor, sizes: Mapping[ir.Var, int | None] | None = None
) -> None:
    """Walk the body of a function in A-normal form backwards, nested functions excluded."""
    live = Live(sizes or {})

    def block(e: ir.Expr) -> Steps[None]:
        lets: list[ir.Let] = []
        while isinstance(e, ir.Let):
            lets.append(e)
            e = e.body
        for variable in visitor.uses(e):
            live.add(variable)
        for let in reversed(lets):
            value = let.value
            if isinstance(value, ir.If | ir.Match):
                is_needed = let.variable in live
                live.discard(let.variable)  # no result exists yet while a branch runs
                yield branches(list(_blocks(value)))
                if is_needed:
                    live.add(let.variable)
            used = list(dict.fromkeys(visitor.uses(value)))
            visitor.at_let(let, live, used)
            live.discard(let.variable)
            for variable in used:
                live.add(variable)

    def branches(parts: list[tuple[ir.If | ir.Clause, str, ir.Expr]]) -> Steps[None]:
        needed: list[dict[ir.Var, None]] = []
        for owner, _, body in parts:
            mark = live.mark()
            yield block(body)
            if isinstance(owner, ir.Clause):
                for variable in (v for p in tree.postorder(owner.lhs) for v in binders(p)):
                    live.discard(variable)
            needed.append(live.taken_back(mark))
        together = {v: None for one in needed for v in one}
        for (owner, field, _), own in zip(parts, needed, strict=True):
            if unused := [v for v in together if v not in own]:
                visitor.at_entry(owner, field, unused)
        for variable in together:
            live.add(variable)

    tree.run(block(function.body))


def _blocks(value: ir.If | ir.Match) -> Iterator[tuple[ir.If | ir.Clause, str, ir.Expr]]:
    if isinstance(value, ir.If):
        yield value, "true_branch", value.true_branch
        yield value, "false_branch", value.false_branch
    else:
        yield from ((clause, "rhs", clause.rhs) for clause in value.clauses)


def operands(e: ir.Expr) -> Iterator[ir.Var]:
    """The variables that an operation is applied to, without those used in its branches."""
    match e:
        case ir.Var():
            yield e
        case ir.Function():
            yield from free_vars(e)
        case ir.If(cond=cond):
            yield from operands(cond)
        case ir.Match(data=data):
            yield from operands(data)
        case ir.Call(op=callee, args=args):
            parts = args if is_kernel(callee) else (callee, *args)
            yield from (part for part in parts if isinstance(part, ir.Var))
        case _:
            yield from (part for part in tree.children(e) if isinstance(part, ir.Var))


def functions_in(root: ir.Function) -> Iterator[ir.Function]:
    """`root` and its nested functions that are not primitive."""

    def enter(node: ir.Syntax) -> bool:
        return not (isinstance(node, ir.Expr) and is_kernel(node))

    nodes: Iterator[ir.Syntax] = tree.postorder(root, enter)
    yield from (node for node in nodes if isinstance(node, ir.Function) and enter(node))


def result_of(block: ir.Expr) -> ir.Expr:
    """The result of a block."""
    while isinstance(block, ir.Let):
        block = block.body
    return block


def held_by(
    function: ir.Function,
    owns: Callable[[ir.Var, ir.Expr], bool],
    keeps: Callable[[ir.Expr], Iterable[ir.Syntax]] | None = None,
    given: Iterable[ir.Var] = (),
) -> Mapping[ir.Var, frozenset[ir.Var]]:
    """For every variable bound in a function, the variables whose objects it keeps alive.

    `owns(variable, value)`: the binding makes a new object. Other holders are found by `keeps`, the
    variables a value may refer to; by default `kept_by`. Variables `given` from outside hold
    themselves. Variables that hold nothing are left out.
    """
    keeps = keeps or kept_by
    bound = {id(n.value): n.variable for n in tree.postorder(function) if isinstance(n, ir.Let)}
    other_names = origins(function)
    parts_of = _parts_of(function)
    found: dict[ir.Var, frozenset[ir.Var]] = {v: frozenset((v,)) for v in given}
    for node in tree.postorder(function):
        whole = parts_of.get(id(node))
        if whole is not None and (held := found.get(other_names.get(whole, whole))) is not None:
            # pattern variables hold what the matched value does
            found.update((v, held) for part in tree.postorder(node) for v in binders(part))
        variable = bound.get(id(node))
        if variable is None or not isinstance(node, ir.Expr) or isinstance(node, ir.Var):
            continue
        parts = (other_names.get(part, part) for part in keeps(node) if isinstance(part, ir.Var))
        sets = [found[part] for part in parts if part in found]
        if owns(variable, node):
            sets.append(frozenset((variable,)))
        if sets:
            found[variable] = sets[0] if len(sets) == 1 else frozenset().union(*sets)
    found.update((name, found[of]) for name, of in other_names.items() if of in found)
    return found


def origins(function: ir.Function) -> Mapping[ir.Var, ir.Var]:
    """For every alias, as in `let %b = %a`, the original variable."""
    found = {
        node.variable: node.value
        for node in tree.postorder(function)
        if isinstance(node, ir.Let) and isinstance(node.value, ir.Var)
    }
    for name in found:
        path = [name]
        while path[-1] in found:
            path.append(found[path[-1]])
        found.update((other, path[-1]) for other in path[:-1])
    return found


def kept_by(value: ir.Expr) -> Iterable[ir.Syntax]:
    """The variables that a value may refer to: the fields of data, the results of branches, the
    callee and arguments of unknown functions."""
    match value:
        case ir.Var():
            return (value,)
        case ir.Tuple() | ir.TupleGetItem() | ir.RefCreate() | ir.RefRead():
            return tree.children(value)
        case ir.If():
            return (result_of(value.true_branch), result_of(value.false_branch))
        case ir.Match():
            return [result_of(clause.rhs) for clause in value.clauses]
        case ir.Function():
            return free_vars(value)
        case ir.Call(op=ir.Constructor(), args=args):
            return args
        case ir.Call(op=callee, args=args) if not isinstance(callee, ir.Op) and not is_kernel(
            callee
        ):
            return (callee, *args)
    return ()


def _parts_of(function: ir.Function) -> dict[int, ir.Var]:
    """The matched variable of each pattern, by identity."""
    return {
        id(clause.lhs): node.data
        for node in tree.postorder(function)
        if isinstance(node, ir.Match) and isinstance(node.data, ir.Var)
        for clause in node.clauses
    }
