"""How much a statement does, as an expression over the sizes that only a run knows."""

from __future__ import annotations

from relay import tree
from relay.te.expr import INDEX, Binary, Call, Expr, Extent, Read, const, variables
from relay.te.loops import Allocate, Block, For, If, Let, Statement, Store, While
from relay.te.simplify import Simplifier
from relay.tree import Steps

_FUNCTION = 12  # steps of a function of mathematics


def work(statement: Statement) -> Expr:
    """Elementary steps, about. What depends on values is taken for one turn."""
    simplify = Simplifier()

    def count(part: Statement) -> Steps[Expr]:
        inside: Expr
        match part:
            case For():
                inside = yield count(part.body)
                turns = part.extent if _is_size(part.extent) else const(1, INDEX)
                return simplify(inside * turns)
            case Block():
                total: Expr = const(0, INDEX)
                for step in part.steps:
                    total = total + (yield count(step))
                return simplify(total)
            case If():
                # both sides: which of them is taken is not known
                total = yield count(part.then)
                if part.otherwise is not None:
                    total = total + (yield count(part.otherwise))
                return total
            case Let() | Allocate() | While():
                inside = yield count(part.body)
                return inside
            case Store():
                return const(_cost(part.value), INDEX)
            case _:
                return const(0, INDEX)

    return simplify(tree.run(count(statement)))


def _is_size(extent: Expr) -> bool:
    return all(isinstance(var, Extent) for var in variables(extent)) and not any(
        isinstance(part, Read) for part in tree.postorder(extent)
    )


def _cost(value: Expr) -> int:
    total = 1
    for part in tree.postorder(value, enter=lambda e: e.dtype != INDEX):
        if isinstance(part, Call):
            total += _FUNCTION
        elif isinstance(part, Binary | Read) and part.dtype != INDEX:
            total += 1
    return total
