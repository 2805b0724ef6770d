"""Loops are recursive functions, whose parameters are the values that iterations change.

    for i in range(n): x = f(x); l.append(x)
      ->   let %loop = fn (%i, %x, %l) {
             if (%i < n) { …; %loop(%i + 1, %x', Cons(%x', %l)) } else { (%x, %l) }
           };
           %loop(0, %x, %l)

The forms of these values are joined until they do not change: extents that differ between
iterations become unknown. A short loop over numbers that are all known is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay import op, tree
from relay.errors import FrontendError
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.script.coding import (
    a_number,
    content,
    decoded,
    encoded,
    form_of,
    is_dim,
    numbered,
    shared_of,
)
from relay.frontend.pytorch.script.forms import COUNT, Form, join
from relay.frontend.pytorch.script.graph import Call as Step
from relay.frontend.pytorch.script.merging import changed_places, check_place, held
from relay.frontend.pytorch.script.path import TRUTH, Path, packed, packed_type
from relay.frontend.pytorch.script.values import Attribute, Cell, Number, Stale
from relay.ir.expr import Call, Expr, Function, If, Let, Var, const

if TYPE_CHECKING:
    from relay.frontend.pytorch.script.converter import Converter

UNLIMITED = 2**63 - 1  # the number of iterations of a `while`
EVALUATED = 64  # iterations of a loop over known numbers
MOST_ROUNDS = 40  # until forms do not change


class Loop:
    """A loop while it is converted."""

    def __init__(self, converter: Converter, path: Path, step: Step) -> None:
        self.converter, self.path, self.step = converter, path, step
        (self.body,) = step.blocks
        self.limit, self.start, *self.initial = converter.operands(path, step)
        self.forms = [form_of(path, value, step.span) for value in self.initial]
        self.places: dict[Any, Form] = {}
        self.stale: dict[Any, Stale] = {}

    def run(self) -> tree.Steps[Any]:
        """The results."""
        if self.start is False or (is_dim(self.limit) and _is_zero(self.limit)):
            return self.initial
        if (found := (yield self._evaluated())) is not None:
            return found
        for _ in range(MOST_ROUNDS):
            turn = yield self._turn()
            if turn is not None:
                return turn
        raise FrontendError.of("each iteration of a loop gives new kinds of values", self.step.span)

    def _evaluated(self) -> tree.Steps[list[Any] | None]:
        """The results of a loop of which everything is known; None for any other."""
        if type(self.limit) is not int or self.start is not True or self.limit > EVALUATED:
            return None
        trial, values = self.path.inner(), [*self.initial]
        for number in range(self.limit):
            results = yield self.converter.entered(trial, self.body, [number, *values])
            if results is None or trial.scope.bindings or type(results[0]) is not bool:
                return None
            going, *values = results
            if not going:
                break
        self.path.absorb(trial)
        return values

    def _turn(self) -> tree.Steps[list[Any] | None]:
        """One round: the results, or None where forms changed."""
        path = self.path.inner()
        number, going = Var("turn", COUNT), Var("going", TRUTH)
        forms = [*self.forms, *self.places.values()]
        variables = [[Var("state", ty) for ty in form.leaves()] for form in forms]
        values = []
        for place, (value, form) in enumerate(zip(self.initial, self.forms, strict=True)):
            shared = shared_of(self.path, value)
            values.append(decoded(path, variables[place], form, shared) if form.leaves() else value)
        inside = variables[len(self.forms) :]
        for (place, form), leaves in zip(self.places.items(), inside, strict=True):
            shared = shared_of(self.path, held(self.path, place))
            _put(path, place, decoded(path, leaves, form, shared))
        for place, reason in self.stale.items():
            path.put(place, reason)
        before = dict(path.contents)
        results = yield self.converter.entered(path, self.body, [a_number(path, number), *values])
        again, *following = results or (False, *values)
        if self._has_changed(path, before, following):
            return None
        return self._written(path, number, going, variables, again, following, results is None)

    def _has_changed(self, path: Path, before: dict[Any, Any], following: Sequence[Any]) -> bool:
        """Whether this iteration gives other forms than those it was given; they are joined."""
        span, same = self.step.span, True
        for place, value in enumerate(following):
            both = join(self.forms[place], form_of(path, value, span))
            same &= both == self.forms[place]
            self.forms[place] = both
        if path.failure is not None:
            return not same
        for place in changed_places([path]):
            now = path.get(place)
            if isinstance(place, Cell) and isinstance(now, Stale):
                same &= place in self.stale
                self.stale[place] = now
                self.places.pop(place, None)
                continue
            if now is before.get(place) and place not in self.places:
                continue
            own = self.places.get(place)
            known = form_of(self.path, held(self.path, place), span) if own is None else own
            both = join(known, form_of(path, held(path, place), span))
            check_place(place, both, span)
            same &= both == own
            self.places[place] = both
        return not same

    def _written(
        self,
        path: Path,
        number: Var,
        going: Var,
        variables: Sequence[Sequence[Var]],
        again: Any,
        following: Sequence[Any],
        ends: bool,
    ) -> list[Any]:
        """The results of the call of the recursive function."""
        span = self.step.span
        forms = [*self.forms, *self.places.values()]
        types = [ty for form in forms for ty in form.leaves()]
        leaves = [one for some in variables for one in some]
        following = [*following, *(held(path, place) for place in self.places)]
        given = [*self.initial, *(held(self.path, place) for place in self.places)]
        begin = [
            e for v, f in zip(given, forms, strict=True) for e in encoded(self.path, v, f, span)
        ]
        always = self.start is True and again is True
        controls = [number]
        first: list[Expr] = [int64(0)]
        then: list[Expr] = [number + int64(1)]
        if not always:
            controls.append(going)
            first.append(numbered(self.path, self.start, span))
        loop = Var("loop")
        if not ends:
            pairs = zip(following, forms, strict=True)
            after = [e for value, form in pairs for e in encoded(path, value, form, span)]
            if not always:
                then.append(numbered(path, again, span))
        else:
            after = [*leaves]
            then += [going] if not always else []
        if forced := path.may_fail or ends:
            leaves.append(Var("checked", TRUTH))
            types.append(TRUTH)
            begin.append(const(True))
            after.append(const(True))
        step = path.close([Call(loop, (*then, *after))], types)
        function = Function(
            (*controls, *leaves),
            If(self._condition(number, going, always), step, packed(leaves)),
            packed_type(types),
        )
        if not types:
            return self.initial
        call = Call(loop, (*first, *begin))
        parts = self.path.fields(Let(loop, function, call), types)
        if forced:
            self.path.guard(parts.pop(), True, None)
        values = []
        for value, form, later in zip(given, forms, following, strict=True):
            count = len(form.leaves())
            taken, parts = parts[:count], parts[count:]
            if not count:
                values.append(value)
                continue
            shared = shared_of(self.path, value) | shared_of(path, later)
            values.append(decoded(self.path, taken, form, shared))
        for place, value in zip(self.places, values[len(self.forms) :], strict=True):
            _put(self.path, place, value)
        for place, reason in self.stale.items():
            self.path.put(place, reason)
        return values[: len(self.forms)]

    def _condition(self, number: Var, going: Var, always: bool) -> Expr:
        if self.limit == UNLIMITED and not isinstance(self.limit, Number):
            return const(True) if always else going
        more = op.less(number, numbered(self.path, self.limit, self.step.span))
        return more if always else op.logical_and(going, more)


def _put(path: Path, place: Any, value: Any) -> None:
    """Give a place the content of a new cell, or an attribute a value."""
    path.put(place, value if isinstance(place, Attribute) else content(path, value))


def _is_zero(limit: Any) -> bool:
    return isinstance(limit, int) and limit <= 0
