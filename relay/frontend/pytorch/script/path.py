"""A path through a program: the `let`s made on it, and what cells hold there.

The paths of branches and iterations begin where they leave the outer one, and see what that holds.
A check guards everything after it: `if (ok) { the rest } else { fail }`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.errors import AnySpan, FrontendError
from relay.frontend.common.failing import dead_end
from relay.frontend.pytorch.scope import TorchScope
from relay.frontend.pytorch.script.values import Cell
from relay.immutable import frozen
from relay.ir.expr import Expr, If, Let, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType, Type

TRUTH = TensorType((), "bool")


@frozen
class Failure:
    """The end of a run: the error, and a number to show in it."""

    reason: FrontendError
    span: AnySpan | None
    found: Expr | None = None

    def end(self, path: Path, types: Sequence[Type]) -> tree.Steps[Expr]:
        """An expression of these types that ends the run."""
        return dead_end(path.scope.module, types, self.reason, self.span, self.found)
        yield  # a computation like `Forked.end`


@frozen
class Forked:
    """The end of a run on several paths."""

    paths: tuple[Path, ...]
    choose: Callable[[list[Expr]], Expr]

    def end(self, path: Path, types: Sequence[Type]) -> tree.Steps[Expr]:
        ends = []
        for one in self.paths:
            ends.append((yield one._close((), types)))
        return self.choose(ends)


@frozen
class Guard:
    """The rest of a path is entered where a condition holds, or does not hold; otherwise `other`
    ends the run."""

    condition: Expr
    wanted: bool
    other: Path | None  # None: the other case never happens


@dataclass(eq=False)
class Path:
    """The state of a conversion at a point of a program."""

    scope: TorchScope
    parent: Path | None = None
    contents: dict[Any, Any] = field(default_factory=dict)
    guards: dict[Var, Guard] = field(default_factory=dict)
    failure: Failure | Forked | None = None  # the path ends here
    # what views were made of, and what was made: they are made again when that changes
    views: dict[Any, tuple[Any, Any]] = field(default_factory=dict)

    def inner(self) -> Path:
        """A path that leaves this one."""
        return Path(self.scope.inner(), self)

    def outwards(self) -> Iterator[Path]:
        path: Path | None = self
        while path is not None:
            yield path
            path = path.parent

    # --- contents

    def get(self, place: Any) -> Any:
        """What a cell or an attribute holds; KeyError where it is not known."""
        for path in self.outwards():
            if place in path.contents:
                return path.contents[place]
        raise KeyError(place)

    def has(self, place: Any) -> bool:
        return any(place in path.contents for path in self.outwards())

    def put(self, place: Any, content: Any) -> None:
        self.contents[place] = content

    def new(self, cell: Cell, content: Any) -> Any:
        """A new cell that holds something."""
        self.contents[cell] = content
        return cell

    def changed(self) -> list[Any]:
        """The places of the outer path that hold something else here."""
        assert self.parent is not None
        return [place for place in self.contents if self.parent.has(place)]

    def absorb(self, inner: Path) -> None:
        """Continue where an inner path ended: what it did is done here."""
        self.scope.bindings += inner.scope.bindings
        self.scope.extents.update(inner.scope.extents)
        self.contents.update(inner.contents)
        self.guards.update(inner.guards)
        self.views.update(inner.views)
        self.failure = inner.failure

    # --- expressions

    def typed(self, value: Expr, ty: Type, name: str = "value") -> Var:
        """A variable of a type, bound to an expression that is inferred with the whole program."""
        variable = Var(name, ty)
        self.scope.bindings.append((variable, value))
        return variable

    def fields(self, whole: Expr, types: Sequence[Type], name: str = "part") -> list[Expr]:
        """Variables bound to the parts of a packed value."""
        if len(types) == 1:
            return [self.typed(whole, types[0], name)]
        if not types:
            return []
        variable = self.typed(whole, TupleType(tuple(types)), name)
        return [
            self.typed(TupleGetItem(variable, place), ty, name) for place, ty in enumerate(types)
        ]

    def guard(self, condition: Expr, wanted: bool, other: Path | None) -> None:
        """End the run with the end of another path, unless a condition holds (or does not)."""
        variable = Var("checked", TRUTH)
        self.scope.bindings.append((variable, condition))
        self.guards[variable] = Guard(condition, wanted, other)

    @property
    def may_fail(self) -> bool:
        return bool(self.guards)

    def close(self, results: Sequence[Expr], types: Sequence[Type]) -> Expr:
        """The results, packed, inside the `let`s and guards of this path."""
        found: Expr = tree.run(self._close(results, types))
        return found

    def _close(self, results: Sequence[Expr], types: Sequence[Type]) -> tree.Steps[Expr]:
        body = packed(results)
        if self.failure is not None:
            body = yield self.failure.end(self, types)
        for variable, value in reversed(self.scope.bindings):
            guard = self.guards.get(variable)
            if guard is None:
                body = Let(variable, value, body, span=variable.span)
                continue
            if guard.other is None:
                other = yield Failure(_NEVER, None).end(self, types)
            else:
                other = yield guard.other._close((), types)
            branches = (body, other) if guard.wanted else (other, body)
            body = If(guard.condition, *branches)
        return body


_NEVER = FrontendError.of("this never happens")


def packed(values: Sequence[Expr]) -> Expr:
    """One value as it is, several as a tuple."""
    return values[0] if len(values) == 1 else Tuple(tuple(values))


def packed_type(types: Sequence[Type]) -> Type:
    """The type of packed values of these types."""
    return types[0] if len(types) == 1 else TupleType(tuple(types))
