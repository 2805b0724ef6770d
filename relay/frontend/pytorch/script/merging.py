"""Where paths meet: their values and what they changed become those of one form.

if c: l.append(x)          %0 = if (%c) { …; (Cons(%x, %l), %n + 1) } else { (%l, %n) }
else: y = None
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay.errors import FrontendError, Span
from relay.frontend.pytorch.script.coding import (
    Shared,
    content,
    decoded,
    encoded,
    form_of,
    shared_of,
)
from relay.frontend.pytorch.script.forms import Form, UnionForm, joined
from relay.frontend.pytorch.script.path import TRUTH, Forked, Path
from relay.frontend.pytorch.script.values import Attribute, Cell, Stale, UnionCell
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.ir.types import Type


@frozen
class Branch:
    """A path that ended, and its results; none if it ends the run."""

    path: Path
    results: Sequence[Any]

    @property
    def is_alive(self) -> bool:
        return self.path.failure is None


def merge(
    path: Path,
    branches: Sequence[Branch],
    choose: Callable[[list[Expr]], Expr],
    span: Span,
    count: int,
    *,
    apart: bool = False,
) -> list[Any]:
    """The `count` results of branches of which `choose` makes an expression, in the path that they
    left; what they changed is changed there. With `apart` lists of different lengths are different
    forms of a result."""
    alive = [one for one in branches if one.is_alive]
    if not alive:
        path.failure = Forked(tuple(one.path for one in branches), choose)
        return []
    slots: list[Slot] = []
    for place in range(count):
        values = [one.results[place] for one in alive]
        slots.append(Slot(path, alive, values, span, apart=apart))
    for place in changed_places(one.path for one in alive):
        slots.append(Slot(path, alive, [held(one.path, place) for one in alive], span, place))
    leaves = [ty for slot in slots for ty in slot.types]
    forced = [TRUTH] if any(one.path.may_fail or not one.is_alive for one in branches) else []
    types = [*leaves, *forced]
    given = iter(
        [[expr for slot in slots for expr in slot.encoded(at)] for at in range(len(alive))]
    )
    bodies = [
        one.path.close(
            [*(next(given) if one.is_alive else ()), *([const(True)] if forced else ())], types
        )
        for one in branches
    ]
    parts = path.fields(choose(bodies), types) if types else []
    if forced:
        path.guard(parts.pop(), True, None)
    found = []
    for slot in slots:
        taken, parts = parts[: len(slot.types)], parts[len(slot.types) :]
        value = slot.decoded(taken)
        if slot.place is None:
            found.append(value)
    return found


def changed_places(paths: Any) -> list[Any]:
    """The places of the outer path that any of these paths changed."""
    found: dict[Any, None] = {}
    for path in paths:
        found.update(dict.fromkeys(path.changed()))
    return [*found]


def held(path: Path, place: Any) -> Any:
    """What stands for the content of a place: the cell itself, or the value of an attribute."""
    return path.get(place) if isinstance(place, Attribute) else place


class Slot:
    """A result of branches, or a place that they changed."""

    def __init__(
        self,
        path: Path,
        branches: Sequence[Branch],
        values: list[Any],
        span: Span,
        place: Any = None,
        *,
        apart: bool = False,
    ) -> None:
        self.path, self.branches, self.values = path, branches, values
        self.span, self.place = span, place
        self.form: Form | None = None
        self.stale: Stale | None = None
        if isinstance(place, Cell):
            contents = [one.path.get(place) for one in branches]
            self.stale = next((one for one in contents if isinstance(one, Stale)), None)
        elif self._is_outer(values):
            return
        if self.stale is None:
            paths = [one.path for one in branches]
            forms = [form_of(p, v, span) for p, v in zip(paths, values, strict=True)]
            self.form = joined(forms, apart=apart)
            check_place(place, self.form, span)

    def _is_outer(self, values: list[Any]) -> bool:
        """Whether all branches give a value that was there before."""
        first = values[0]
        if any(one is not first for one in values):
            return False
        return self.path.has(first) if isinstance(first, Cell) else len(values) > 1

    @property
    def types(self) -> list[Type]:
        return [] if self.form is None else self.form.leaves()

    def encoded(self, at: int) -> list[Expr]:
        """The expressions of the value of a branch."""
        if self.form is None:
            return []
        return encoded(self.branches[at].path, self.values[at], self.form, self.span)

    def decoded(self, leaves: Sequence[Expr]) -> Any:
        """The value in the outer path; a place gets its new content."""
        if self.stale is not None:
            self.path.put(self.place, self.stale)
            return None
        value = self.values[0]
        if self.form is not None:
            shared = Shared()
            for one, given in zip(self.branches, self.values, strict=True):
                shared |= shared_of(one.path, given)
            value = decoded(self.path, leaves, self.form, shared)
        if isinstance(self.place, Attribute):
            self.path.put(self.place, value)
        elif self.place is not None:
            self.path.put(self.place, content(self.path, value))
        return value


def check_place(place: Any, form: Form, span: Span) -> None:
    """Refuse a cell whose content has no common form."""
    if isinstance(place, Cell) and isinstance(form, UnionForm) and not isinstance(place, UnionCell):
        text = f"a {place.what} is changed to different kinds of values"
        raise FrontendError.of(text, span, "one kind, and the same keys, on every path", str(form))
