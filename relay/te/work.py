"""The cost of a statement, as an expression over dynamic sizes."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_

from relay import tree
from relay.te import expr as te
from relay.te.guards import conjunction
from relay.te.loops import Allocate, Block, For, If, Let, Statement, Store, While
from relay.te.simplify import Simplifier
from relay.tree import Steps

_FUNCTION = 12  # cost of a mathematical function


Counted = dict[int, tuple[Statement, te.Expr]]  # by id, with the statement, which so stays alive


def work(statement: Statement, counted: Counted) -> te.Expr:
    """The approximate number of operations; loops whose extent depends on values count once.

    `counted` is a memo for calls that ask for the parts of one nest.
    """
    simplify = Simplifier()

    def count(part: Statement) -> Steps[te.Expr]:
        if id(part) not in counted:
            counted[id(part)] = part, (yield operations(part))
        return counted[id(part)][1]

    def operations(part: Statement) -> Steps[te.Expr]:
        inside: te.Expr
        match part:
            case For():
                inside = yield count(part.body)
                turns = part.extent if _is_size(part.extent) else te.const(1, te.INDEX)
                return simplify(inside * turns)
            case Block():
                total: te.Expr = te.const(0, te.INDEX)
                for step in part.steps:
                    total = total + (yield count(step))
                return simplify(total)
            case If():
                # both branches: the condition is unknown
                total = yield count(part.then)
                if part.otherwise is not None:
                    total = total + (yield count(part.otherwise))
                return total
            case Let() | Allocate() | While():
                inside = yield count(part.body)
                return inside
            case Store():
                return te.const(_cost(part.value), te.INDEX)
            case _:
                return te.const(0, te.INDEX)

    return simplify(tree.run(count(statement)))


def _is_size(extent: te.Expr) -> bool:
    known = all(isinstance(var, te.Extent) for var in te.variables(extent))
    return known and not te.reads(extent)


def _cost(value: te.Expr) -> int:
    total = 1
    for part in tree.postorder(value, enter=lambda e: e.dtype != te.INDEX):
        if isinstance(part, te.Call):
            total += _FUNCTION
        elif isinstance(part, te.Binary | te.Read) and part.dtype != te.INDEX:
            total += 1
    return total


# --- empty loops -------------------------------------------------------------------------------


def without_idle_loops(statement: Statement) -> Statement:
    """Skip loops whose inner loops are empty at run time: the axes before an empty one may have
    2^40 elements.
    """

    def walk(part: Statement, known: frozenset[te.Expr]) -> Steps[Statement]:
        match part:
            case For():
                condition = _busy(part.body)
                asked: list[te.Expr] = []
                if condition is not None and _is_size(condition):
                    asked = [one for one in conjunction(condition) if one not in known]
                inside = frozenset((*known, *asked, part.extent > 0))
                loop = replace(part, body=(yield walk(part.body, inside)))
                return If(reduce(and_, asked), loop) if asked else loop
            case Block():
                steps = yield tree.gather(walk(step, known) for step in part.steps)
                return replace(part, steps=tuple(steps))
            case Allocate() | Let():
                return replace(part, body=(yield walk(part.body, known)))
            case If():
                then = yield walk(part.then, known)
                otherwise = part.otherwise
                if otherwise is not None:
                    otherwise = yield walk(otherwise, known)
                return replace(part, then=then, otherwise=otherwise)
            case _:
                return part

    return tree.run(walk(statement, frozenset()))


def _busy(statement: Statement) -> te.Expr | None:
    """The condition on sizes under which a statement does something; None if always."""

    def walk(part: Statement) -> Steps[te.Expr | None]:
        inside: te.Expr | None
        match part:
            case For():
                inside = yield walk(part.body)
                if inside is not None and part.var in te.variables(inside):
                    inside = None
                if isinstance(part.extent, te.Const):
                    return inside
                some = part.extent > 0
                return some if inside is None else some & inside
            case Let():
                inside = yield walk(part.body)
                return None if inside is None else te.substitute(inside, {part.var: part.value})
            case Allocate():
                inside = yield walk(part.body)
                return inside
            case Block() if part.steps:
                found: te.Expr | None = None
                for step in part.steps:
                    inside = yield walk(step)
                    if inside is None:
                        return None
                    found = inside if found is None else found | inside
                return found
            case _:
                return None

    return tree.run(walk(statement))
