"""Compiled patterns: each pattern becomes a step of a backtracking search.

A search holds a list of goals, "this step matches that expression", and the bindings of steps.
Entering a step checks the expression itself and replaces the goal by goals for the parts. Where a
step has alternatives, the search notes the others as choices and returns to them on failure, with
later bindings undone. So there is no recursion, neither over the program nor over the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from relay.dataflow_pattern.patterns import DFPattern
from relay.ir.expr import Call, Expr, Op

if TYPE_CHECKING:
    from relay.dataflow_pattern.matcher import Matcher, Search

# A goal is (step, expression, mark, next goal). With mark < 0 the step is still to be entered; else
# its parts match and it is to be bound, and `mark` is the number of choices before it.
Goals = Any
ENTER: Final = -1
FAIL: Final = object()

COMMUTATIVE: Final = ("add", "multiply")

# What the root of a match can be: names of operators, classes of nodes; None is anything.
Heads = frozenset[Any] | None


class Step:
    """A compiled pattern."""

    __slots__ = ("closed", "cyclic", "final", "guarded", "heads", "pattern")

    # a leaf is checked by `test` alone and binds at once
    leaf = False
    # the operator that it is a call of, where there is only one it can be
    operator: Op | None = None
    # its parts are matched against parts of the expression, not against the expression itself
    descends = False

    def __init__(self, pattern: DFPattern | None, heads: Heads) -> None:
        self.pattern = pattern
        self.heads = heads
        self.closed = False  # nothing below is used elsewhere in the pattern
        self.guarded = False  # closed, with alternatives: its failures are remembered
        self.cyclic = False  # contains itself, and so binds an expression per iteration
        # checked last, when the rest matches
        self.final: Callable[[Expr], bool] | None = None

    def parts(self) -> Sequence[Step]:
        """The steps below."""
        return ()

    @property
    def branches(self) -> bool:
        """Whether it has alternatives."""
        return False

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        """The goals that remain for the parts, or FAIL. `rest` begins with binding this step."""
        raise AssertionError(f"{type(self).__name__} does not say how it is entered")


class Leaf(Step):
    """A pattern without parts."""

    __slots__ = ("test",)
    leaf = True

    def __init__(
        self, pattern: DFPattern | None, heads: Heads, test: Callable[[Expr], bool] | None
    ) -> None:
        super().__init__(pattern, heads)
        self.test = test

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        return rest if self.test is None or self.test(expr) else FAIL


class ConditionStep(Step):
    """Another pattern with a condition on the expression; None is always true."""

    __slots__ = ("condition", "inner")

    def __init__(
        self, pattern: DFPattern, heads: Heads, condition: Callable[[Matcher, Expr], bool] | None
    ) -> None:
        super().__init__(pattern, heads)
        self.condition = condition
        self.inner: Step

    def parts(self) -> Sequence[Step]:
        return (self.inner,)

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        if self.condition is not None and not self.condition(search.matcher, expr):
            return FAIL
        return search.with_parts((self.inner,), (expr,), rest)


class AlternativeStep(Step):
    """One of two patterns."""

    __slots__ = ("left", "right")

    def __init__(self, pattern: DFPattern, heads: Heads, left: Step, right: Step) -> None:
        super().__init__(pattern, heads)
        self.left = left
        self.right = right

    def parts(self) -> Sequence[Step]:
        return (self.left, self.right)

    @property
    def branches(self) -> bool:
        return True

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        search.choose_later((self.right, expr, ENTER, rest))
        return search.with_parts((self.left,), (expr,), rest)


class Structure(Step):
    """An expression of one class; `split` gives its parts, or None when it does not match."""

    __slots__ = ("kind", "split", "steps")
    descends = True

    def __init__(
        self,
        pattern: DFPattern,
        kind: type[Expr],
        steps: Sequence[Step],
        split: Callable[[Any], Sequence[Expr] | None],
    ) -> None:
        super().__init__(pattern, frozenset((kind,)))
        self.kind = kind
        self.steps = tuple(steps)
        self.split = split

    def parts(self) -> Sequence[Step]:
        return self.steps

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        if not isinstance(expr, self.kind):
            return FAIL
        exprs = self.split(expr)
        if exprs is None or len(exprs) != len(self.steps):
            return FAIL
        return search.with_parts(self.steps, exprs, rest)


class CallStep(Step):
    """A call; `steps` None matches any arguments."""

    __slots__ = ("callee", "named", "operator", "rotated", "steps", "swapped")
    descends = True

    def __init__(
        self,
        pattern: DFPattern | None,
        heads: Heads,
        callee: Step,
        steps: Sequence[Step] | None,
        named: Op | None,
    ) -> None:
        super().__init__(pattern, heads)
        self.callee = callee
        self.steps = None if steps is None else tuple(steps)
        self.named = self.operator = named
        self.swapped: Swapped | None = None  # the call with its two operands exchanged
        # (operator of the call, operator of an argument, an equivalent product)
        self.rotated: tuple[tuple[str, str, Step], ...] = ()

    def rotate(self, ways: tuple[tuple[str, str, Step], ...]) -> None:
        """Set `rotated`."""
        if ways:
            self.rotated = ways
            self.operator = None
            self.heads = frozenset((*(self.heads or ()), *(outer for outer, _, _ in ways)))

    def parts(self) -> Sequence[Step]:
        return (self.callee, *(self.steps or ()))

    @property
    def branches(self) -> bool:
        return self.swapped is not None or bool(self.rotated)

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        if type(expr) is not Call:
            return FAIL
        op = expr.op
        if self.named is not None:
            if op is not self.named and not is_operator(op, self.named.name):
                return self._rotate(search, expr, rest) if self.rotated else FAIL
            search.bound[self.callee] = op
        else:
            rest = search.with_parts((self.callee,), (op,), rest)
            if rest is FAIL:
                return FAIL
        if self.steps is None:
            return rest
        if len(self.steps) != len(expr.args):
            return FAIL
        if self.swapped is not None and is_operator(op, *COMMUTATIVE):
            search.choose_later((self.swapped, expr, ENTER, rest))
        return search.with_parts(self.steps, expr.args, rest)

    def _rotate(self, search: Search, expr: Call, rest: Goals) -> Goals:
        """Try equivalent products."""
        ways = [
            step
            for outer, inner, step in self.rotated
            if is_operator(expr.op, outer)
            and any(type(a) is Call and is_operator(a.op, inner) for a in expr.args)
        ]
        for step in ways[1:]:
            search.choose_later((step, expr, ENTER, rest))
        return (ways[0], expr, ENTER, rest) if ways else FAIL


class Swapped(Step):
    """The arguments of a commutative call in the other order; the call itself has matched."""

    __slots__ = ("steps",)

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(None, None)
        self.steps = tuple(reversed(steps))

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        return search.with_parts(self.steps, expr.args, rest)  # type: ignore[attr-defined]


def is_call_of(expr: Expr, operator: Op) -> bool:
    """Whether `expr` is a call of `operator`."""
    return type(expr) is Call and (expr.op is operator or is_operator(expr.op, operator.name))


def is_operator(expr: Expr, *names: str) -> bool:
    """Whether `expr` is one of the operators named."""
    return isinstance(expr, Op) and expr.name in names
