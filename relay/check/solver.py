"""The solver: relations between types, solved with a queue.

Holes and constraints form a bipartite graph: an edge says that a constraint waits for a hole. A
constraint is tried when it is new and whenever a hole it waits for is filled; it either is
discharged, possibly filling other holes, or waits on. The end is reached when the queue is empty.

A constraint whose tensors have unknown *dimensions* waits too, because one of them might still turn
out to be 1 and broadcast. When nothing else can move, such constraints are tried with what is
known, in the order they were made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from relay.check.unify import Mismatch, Unifier
from relay.errors import AnySpan, TypeCheckError
from relay.ir.types import IncompleteType, Occurs, TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.site import Site


class Report(Protocol):
    """Records an error about an expression; inference continues."""

    def __call__(
        self,
        about: Any,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None: ...


class Constraint:
    """Something that must hold between types; `attempt` is True once it does."""

    __slots__ = ("about", "done", "queued")

    def __init__(self, about: Any) -> None:
        self.about = about
        self.done = False
        self.queued = False

    def attempt(self, solver: Solver, forced: bool) -> bool:
        raise AssertionError("each constraint defines it")

    def waits_for(self) -> Sequence[Type]:
        """The types whose holes, when filled, trigger another attempt."""
        return ()


class OperatorConstraint(Constraint):
    """The type relation of one use of an operator."""

    __slots__ = ("args", "attrs", "op", "result", "span")

    def __init__(
        self, about: Any, op: OpDef, args: tuple[Type, ...], result: Type, attrs: Any
    ) -> None:
        Constraint.__init__(self, about)
        self.op = op
        self.args = args
        self.result = result
        self.attrs = attrs
        self.span: AnySpan | None = about.span

    def waits_for(self) -> Sequence[Type]:
        return (*self.args, self.result)

    def attempt(self, solver: Solver, forced: bool) -> bool:
        self.args = tuple(map(solver.unifier.resolve, self.args))
        if not forced and any(_has_unknown_dimension(a) for a in self.args):
            return False
        site = Site(
            self.op.name,
            [name for name, _ in self.op.arguments],
            self.args,
            solver.unifier.resolve(self.result),
            self.attrs,
            self.span,
            lambda index, ty: solver.unify(ty, self.args[index], self.about),
            lambda a, b: solver.unifier.unify_dim(a, b) is not None,
        )
        if self.op.relation is None:
            solver.report(
                self.about,
                f"operator `{self.op.name}` has no type relation",
                hint=f'give it one with relay.op.get("{self.op.name}").add_type_rel(…)',
            )
            return True
        try:
            result = self.op.relation(site)
        except TypeCheckError as error:
            for found in error.diagnostics:
                solver.report(self.about, found.message, found.expected, found.found, found.hint)
            return True
        if result is None:
            return False
        solver.unify(result, self.result, self.about)
        return True


def _has_unknown_dimension(ty: Type) -> bool:
    if not ty.occurs & Occurs.HOLE:
        return False
    if isinstance(ty, TupleType):
        return any(isinstance(f, TensorType) and f.occurs & Occurs.HOLE for f in ty.fields)
    return isinstance(ty, TensorType)


class ProjectionConstraint(Constraint):
    """`t.index`, while the type of t is not known."""

    __slots__ = ("index", "result", "tuple_type")

    def __init__(self, about: Any, tuple_type: Type, index: int, result: Type) -> None:
        Constraint.__init__(self, about)
        self.tuple_type = tuple_type
        self.index = index
        self.result = result

    def waits_for(self) -> Sequence[Type]:
        return (self.tuple_type,)

    def attempt(self, solver: Solver, forced: bool) -> bool:
        found = solver.unifier.find(self.tuple_type)
        if isinstance(found, IncompleteType):
            return False
        field = solver.project(found, self.index, self.about)
        if field is not None:
            solver.unify(field, self.result, self.about)
        return True


class Solver:
    """The queue of constraints, and which constraints wait for which hole."""

    def __init__(self, report: Report) -> None:
        self.unifier = Unifier(self._wake)
        self.report = report
        self._queue: deque[Constraint] = deque()
        self._waiting: dict[IncompleteType, list[Constraint]] = {}
        self._unsolved: dict[Constraint, None] = {}

    def add(self, constraint: Constraint) -> None:
        """Take up a constraint, and solve as far as that goes."""
        self._unsolved[constraint] = None
        self._enqueue(constraint)
        self.solve()

    def unify(self, found: Type, expected: Type, about: Any, message: str = "") -> Type:
        """Make two types equal or report, at `about`, why they are not."""
        try:
            return self.unifier.unify(expected, found)
        except Mismatch as mismatch:
            shown = [str(self._as_far_as_possible(ty)) for ty in (expected, found)]
            said = mismatch.why == f"`{shown[0]}` is not `{shown[1]}`"
            why = "" if said else f" ({mismatch.why})"
            text = message or "type mismatch"
            self.report(about, f"{text}{why}", shown[0], shown[1], mismatch.hint)
            return expected

    def _as_far_as_possible(self, ty: Type) -> Type:
        try:
            return self.unifier.resolve(ty)
        except Mismatch:  # it is being reported
            return ty

    def project(self, ty: Type, index: int, about: Any) -> Type | None:
        """The type of field `index`; None, reported, when there is none."""
        if isinstance(ty, TupleType) and 0 <= index < len(ty.fields):
            return ty.fields[index]
        if isinstance(ty, TupleType):
            expected, hint = f"an index from 0 to {len(ty.fields) - 1}", None
            if not ty.fields:
                expected = "a tuple with fields"
            found = f"index {index} of {self.unifier.resolve(ty)}"
        else:
            expected, found = "a tuple", str(self.unifier.resolve(ty))
            hint = "only tuples have fields; take apart data types with `match`"
        self.report(about, f"there is no field {index}", expected, found, hint)
        return None

    def solve(self) -> None:
        """Work until the queue is empty."""
        while self._queue:
            constraint = self._queue.popleft()
            constraint.queued = False
            self._attempt(constraint, forced=False)

    def finish(self) -> list[Constraint]:
        """Solve to the end, deciding unknown dimensions where nothing else helps; what is left."""
        self.solve()
        progress = True
        while progress and self._unsolved:
            progress = False
            for constraint in list(self._unsolved):
                if constraint.done:
                    continue
                self._attempt(constraint, forced=True)
                if constraint.done:
                    progress = True
                    self.solve()
        return list(self._unsolved)

    def _attempt(self, constraint: Constraint, forced: bool) -> None:
        if constraint.done:
            return
        try:
            solved = constraint.attempt(self, forced)
        except Mismatch as mismatch:
            self.report(constraint.about, f"type mismatch ({mismatch.why})", hint=mismatch.hint)
            solved = True
        if solved:
            constraint.done = True
            self._unsolved.pop(constraint, None)
            return
        for ty in constraint.waits_for():
            for hole in self.unifier.holes(self.unifier.resolve(ty)):
                waiting = self._waiting.setdefault(hole, [])
                if constraint not in waiting[-8:]:
                    waiting.append(constraint)

    def _wake(self, hole: IncompleteType, value: Any) -> None:
        """A hole was filled: try again what waited for it, or wait for the hole it became."""
        for constraint in self._waiting.pop(hole, ()):
            if not constraint.done:
                self._enqueue(constraint)

    def _enqueue(self, constraint: Constraint) -> None:
        if not constraint.queued:
            constraint.queued = True
            self._queue.append(constraint)
