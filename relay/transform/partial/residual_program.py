"""The residual program: names for values where they are needed, and a store for references.

Every change that a value, a block or a reference sees is noted, so that a call whose unfolding is
given up leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relay.ir import expr as ir
from relay.ir.types import UNIT, FuncType, TupleType, Type, is_dynamic
from relay.nd import NDArray, Weight
from relay.transform.partial.residual_blocks import Block, Branching, Slot
from relay.transform.partial.static_values import Cell, Fields, Static, Value
from relay.tree import Steps

Operation = Callable[[], Steps[ir.Expr]]


@dataclass(eq=False, slots=True)
class ResidualFunction:
    """A residual function while it is made, and what references hold at this point of it.

    Code that is not known may write to every reference that has escaped: it begins a new epoch, in
    which what they held before is not known any more.
    """

    block: Block = field(default_factory=Block)
    epoch: int = 0
    _held: dict[Cell, tuple[Value, int]] = field(default_factory=dict)
    _changes: list[tuple[Cell, tuple[Value, int] | None]] = field(default_factory=list)

    def held(self, cell: Cell) -> Value | None:
        """The content of a reference, if it is known."""
        value, epoch = self._held.get(cell, (None, -1))
        own = cell.home is self and not cell.escaped
        return value if own or epoch == self.epoch else None

    def hold(self, cell: Cell, value: Value | None) -> None:
        """Record the content of a reference; None if it is not known."""
        self._changes.append((cell, self._held.get(cell)))
        if value is None:
            self._held.pop(cell, None)
        else:
            self._held[cell] = value, self.epoch

    def mark(self) -> int:
        return len(self._changes)

    def undo(self, mark: int) -> dict[Cell, Value | None]:
        """Undo changes back to a mark; returns the contents of the references that changed."""
        found: dict[Cell, Value | None] = {}
        while len(self._changes) > mark:
            cell, before = self._changes.pop()
            if cell not in found:
                found[cell] = self.held(cell)
            if before is None:
                self._held.pop(cell, None)
            else:
                self._held[cell] = before
        return found


class ResidualProgram:
    """Makes residual code, at the end of the current block of the current function."""

    def __init__(self) -> None:
        self.current = ResidualFunction()
        self.notes: list[Callable[[], object]] = []  # how to undo what was done
        self.may_give_up = 0  # how many unfoldings there are that may be given up

    def note(self, undo: Callable[[], object]) -> None:
        if self.may_give_up:
            self.notes.append(undo)

    def undo(self, length: int) -> None:
        """Undo everything but the first notes."""
        while len(self.notes) > length:
            self.notes.pop()()

    # --- values

    def lazily(
        self,
        ty: Type,
        operation: Operation,
        hint: str = "x",
        static: Static | None = None,
        annotation: Type | None = None,
    ) -> Value:
        """A value that an operation computes here, if it is needed."""
        value = Value(ty, static, None, self.current.block.slot(), operation, hint, annotation)
        return self.with_parts(value)

    def emitted(self, ty: Type, operation: ir.Expr, hint: str = "x") -> Value:
        """The result of an operation that is executed here in any case."""
        variable, slot = ir.Var(hint), self.current.block.slot()
        slot.bindings.append((variable, operation))
        return self.with_parts(Value(ty, None, variable, slot))

    def given(self, ty: Type, variable: ir.Var) -> Value:
        """The value of a parameter, or of a variable of a pattern."""
        value = Value(ty, None, variable, self.current.block.slot(), exact=variable)
        return self.with_parts(value)

    def known(self, tensor: NDArray, constant: ir.Constant | None = None) -> Value:
        """A tensor that is known; of a weight only the type is."""
        constant = constant or ir.Constant(tensor)
        static = None if isinstance(tensor, Weight) else tensor
        return Value(constant.tensor_type, static, constant, exact=constant)

    def with_type(self, value: Value, ty: Type) -> Value:
        """The value as one of another type, which says more or less about dimensions."""
        if value.ty is ty or value.ty == ty or isinstance(ty, FuncType):
            return value
        made = Value(ty, value.static, slot=self.current.block.slot(), hint=value.hint)
        if is_dynamic(value.ty):
            made.operation, made.annotation = (lambda: self.atom(value)), ty
        else:
            made.stands_for = lambda: self.atom(value)
        return made

    def joined(self, branching: Branching, values: list[Value], ty: Type) -> Value:
        """The value of a branching, of those of its branches."""
        first = values[0]
        if len(values) > 1 and all(value is first for value in values):
            return first  # it is from outside

        def whole() -> Steps[ir.Expr]:
            variable, atoms = ir.Var(first.hint), []
            for value in values:
                atoms.append((yield self.exact(value)))
            branching.results.append((variable, atoms))
            self.note(branching.results.pop)
            return variable

        made = Value(ty, slot=self.current.block.slot(), hint=first.hint, stands_for=whole)
        parts = [value.static for value in values]
        if isinstance(ty, TupleType) and all(isinstance(part, Fields) for part in parts):
            fields = []
            for index, field_type in enumerate(ty.fields):
                inside = [part.fields[index] for part in parts if isinstance(part, Fields)]
                fields.append(self.joined(branching, inside, field_type))
            made.static = Fields(tuple(fields))
        return made

    def with_parts(self, value: Value) -> Value:
        """The value; a tuple gets fields, which are projected where they are needed."""
        pending = [value]
        while pending:
            whole = pending.pop()
            if isinstance(whole.ty, TupleType) and whole.static is None:
                parts = [
                    Value(ty, None, None, whole.slot, self._projection(whole, index), whole.hint)
                    for index, ty in enumerate(whole.ty.fields)
                ]
                whole.static = Fields(tuple(parts))
                pending += parts
        return value

    def _projection(self, whole: Value, index: int) -> Operation:
        def operation() -> Steps[ir.Expr]:
            return ir.TupleGetItem((yield self.atom(whole)), index)

        return operation

    # --- names

    def atom(self, value: Value) -> Steps[ir.Expr]:
        """What stands for the value in the residual program; its operation is bound now."""
        if value.atom is not None:
            return value.atom
        if value.stands_for is not None:
            value.atom = yield value.stands_for()
            self.note(lambda: setattr(value, "atom", None))
            return value.atom
        assert value.operation is not None, "what has no operation has a name"
        # first, since a function may call itself
        variable = value.atom = ir.Var(value.hint, value.annotation)
        self.note(lambda: setattr(value, "atom", None))
        operation = yield value.operation()
        self._bind(value.slot, variable, operation)
        return variable

    def exact(self, value: Value) -> Steps[ir.Expr]:
        """`atom`, with exactly the type of the value."""
        if value.exact is None:
            atom = yield self.atom(value)
            if _is_refined(value.ty) and value.annotation is None:
                variable = ir.Var("known", value.ty)
                self._bind(value.slot, variable, atom)
                atom = variable
            value.exact = atom
            self.note(lambda: setattr(value, "exact", None))
        return value.exact

    def all_exact(self, values: Sequence[Value]) -> Steps[tuple[ir.Expr, ...]]:
        atoms: list[ir.Expr] = []
        for value in values:
            atoms.append((yield self.exact(value)))
        return tuple(atoms)

    def all_atoms(self, values: Sequence[Value]) -> Steps[tuple[ir.Expr, ...]]:
        atoms: list[ir.Expr] = []
        for value in values:
            atoms.append(value.atom or (yield self.atom(value)))
        return tuple(atoms)

    def _bind(self, slot: Slot | None, variable: ir.Var, operation: ir.Expr) -> None:
        assert slot is not None, "what is not known here has a place"
        slot.bindings.append((variable, operation))
        self.note(slot.bindings.pop)

    # --- references

    def create(self, initial: Value, ty: Type, content: Type, hint: str) -> Value:
        """A new reference. It is not in the residual program until it escapes."""
        cell = Cell(self.current, content)
        self.current.hold(cell, initial)
        made = self.lazily(ty, lambda: self._escape(made, cell, initial), hint, cell)
        return made

    def _escape(self, reference: Value, cell: Cell, initial: Value) -> Steps[ir.Expr]:
        """Create the reference where it was created, and write to it where it was written."""
        cell.escaped = True
        self.note(lambda: setattr(cell, "escaped", False))
        home: ResidualFunction = cell.home
        value, _ = home._held.get(cell, (None, 0))
        if value is not None:
            home.hold(cell, value)
        first = yield self.exact(initial)
        assert reference.atom is not None
        for slot, written in cell.writes:
            atom = yield self.exact(written)
            self._bind(slot, ir.Var("set"), ir.RefWrite(reference.atom, atom))
        return ir.RefCreate(first)

    def read(self, reference: Value, ty: Type, hint: str) -> Value:
        """The content of a reference."""
        cell = reference.static
        if isinstance(cell, Cell) and (held := self.current.held(cell)) is not None:
            return held

        def operation() -> Steps[ir.Expr]:
            return ir.RefRead((yield self.atom(reference)))

        value = self.lazily(ty, operation, hint)
        if isinstance(cell, Cell):
            self.current.hold(cell, value)
        return value

    def write(self, reference: Value, value: Value) -> Steps[None]:
        """Store a value in a reference."""
        cell = reference.static
        if isinstance(cell, Cell):
            value = self.with_type(value, cell.content)
            if cell.home is self.current and not cell.escaped:
                cell.writes.append((self.current.block.slot(), value))
                self.note(cell.writes.pop)
                self.current.hold(cell, value)
                return
        atom = yield self.atom(reference)
        written = yield self.exact(value)
        self.emitted(UNIT, ir.RefWrite(atom, written), "set")
        if isinstance(cell, Cell):
            self.current.hold(cell, value)
        else:
            self.current.epoch += 1  # it may be any of those that have escaped


def _is_refined(ty: Type) -> bool:
    """Whether inference may find a more precise type of the operation. Functions say theirs."""
    return is_dynamic(ty) and not isinstance(ty, FuncType)
