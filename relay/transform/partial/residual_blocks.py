"""The residual program under construction: blocks of slots that are filled on demand.

A slot stands where the original program computes a value. It is filled when something residual
needs the value, however late that is, so what nothing needs is never written:

    let %t = (%x, %y);          slot of %t: empty, since its fields are known
    let %a = exp(%t.0);         slot of %a: let %a = exp(%x)
    %a
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relay.ir import expr as ir
from relay.tree import Steps

Binding = tuple[ir.Var, ir.Expr]


@dataclass(eq=False, slots=True)
class Slot:
    """The place of a value in a block; empty as long as nothing needs the value."""

    bindings: list[Binding] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Block:
    """A chain of bindings: the body of a function, a branch, the right side of a clause."""

    slots: list[Slot | Branching] = field(default_factory=list)

    def slot(self) -> Slot:
        """A new slot, at the end."""
        made = Slot()
        self.slots.append(made)
        return made


@dataclass(eq=False, slots=True)
class Branching:
    """An `if` or a `match` that the run decides: a block for each branch.

    `results` are the values that are needed behind it, each with an atom for every branch. Without
    any, and with nothing in its blocks, it is not needed at all.
    """

    make: Callable[[ir.Expr, Sequence[ir.Expr]], ir.Expr]  # of what decides, and the branches
    decides: Callable[[], Steps[ir.Expr]]  # asked for the atom of what decides, in the end
    blocks: list[Block]
    results: list[tuple[ir.Var, list[ir.Expr]]] = field(default_factory=list)
    atom: ir.Expr | None = None

    def made(self, bodies: Sequence[ir.Expr]) -> ir.Expr:
        assert self.atom is not None, "blocks are closed when they are settled"
        return self.make(self.atom, bodies)


def closed(block: Block, result: ir.Expr) -> Steps[ir.Expr]:
    """The chain of lets of a block that is complete."""
    changed = True
    while changed:  # what decides may need what is written in other branches
        _, changed = yield _settled(block)
    bindings = yield _bindings(block)
    return _chain(bindings, result)


def _settled(block: Block) -> Steps[tuple[bool, bool]]:
    """Whether there is something in the block, and whether that made something new necessary."""
    needed = changed = False
    for slot in reversed(block.slots):
        if isinstance(slot, Slot):
            needed = needed or bool(slot.bindings)
            continue
        inside = bool(slot.results)
        for one in slot.blocks:
            found, new = yield _settled(one)
            inside, changed = inside or found, changed or new
        if inside and slot.atom is None:
            slot.atom = yield slot.decides()
            changed = True
        needed = needed or inside
    return needed, changed


def _bindings(block: Block) -> Steps[list[Binding]]:
    found: list[Binding] = []
    for slot in block.slots:
        found += slot.bindings if isinstance(slot, Slot) else (yield _of_branching(slot))
    return found


def _of_branching(branching: Branching) -> Steps[list[Binding]]:
    inside: list[list[Binding]] = []
    for block in branching.blocks:
        inside.append((yield _bindings(block)))
    results = branching.results
    if not results and not any(inside):
        return []
    if len(results) == 1:
        variable, atoms = results[0]
        bodies = [_chain(one, atom) for one, atom in zip(inside, atoms, strict=True)]
        return [(variable, branching.made(bodies))]
    bodies = []
    for number, one in enumerate(inside):
        whole = ir.Var("results")
        fields = ir.Tuple(tuple(atoms[number] for _, atoms in results))
        bodies.append(_chain([*one, (whole, fields)], whole))
    made = ir.Var("results")
    parts = [(v, ir.TupleGetItem(made, index)) for index, (v, _) in enumerate(results)]
    return [(made, branching.made(bodies)), *parts]


def _chain(bindings: Sequence[Binding], result: ir.Expr) -> ir.Expr:
    for variable, value in reversed(bindings):
        result = ir.Let(variable, value, result, span=value.span)
    return result
