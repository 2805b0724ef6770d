"""Blocks of slots that are filled on demand."""

from __future__ import annotations

from typing import Any

import relay
from relay import tree
from relay.ir.expr import Expr, If, Let, TupleGetItem, Var
from relay.transform.partial.residual_blocks import Block, Branching, closed

X, C = Var("x"), Var("c")


def lets(e: Expr) -> list[Expr]:
    found: list[Expr] = []
    while isinstance(e, Let):
        found.append(e.value)
        e = e.body
    return found


def branching(demanded: list[str]) -> tuple[Branching, list[Block]]:
    blocks = [Block(), Block()]

    def decides() -> Any:
        demanded.append("condition")
        return C
        yield

    def make(atom: Expr, bodies: Any) -> Expr:
        return If(atom, *bodies)

    return Branching(make, decides, blocks), blocks


def test_empty_slots_leave_nothing() -> None:
    block = Block()
    block.slot()
    filled = block.slot()
    filled.bindings.append((Var("y"), relay.exp(X)))
    assert len(lets(tree.run(closed(block, X)))) == 1


def test_a_branching_that_nothing_needs_is_not_there() -> None:
    demanded: list[str] = []
    block = Block()
    block.slots.append(branching(demanded)[0])
    assert tree.run(closed(block, X)) is X
    assert not demanded


def test_several_results_of_a_branching_are_a_tuple() -> None:
    demanded: list[str] = []
    block = Block()
    made, _ = branching(demanded)
    block.slots.append(made)
    made.results += [(Var("a"), [X, X]), (Var("b"), [X, C])]
    values = lets(tree.run(closed(block, X)))
    assert [type(value) for value in values] == [If, TupleGetItem, TupleGetItem]
    assert demanded == ["condition"]


def test_a_branching_with_an_effect_stays() -> None:
    demanded: list[str] = []
    block = Block()
    made, inside = branching(demanded)
    block.slots.append(made)
    inside[1].slot().bindings.append((Var("u"), relay.RefWrite(X, X)))
    assert [type(value) for value in lets(tree.run(closed(block, X)))] == [If]
