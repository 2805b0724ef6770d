"""Matching a pattern against expressions: whether it matches, and what its parts are bound to.

`Matcher` matches one prepared pattern against the expressions of one program; what it computes
about the program (dominators, types, failed attempts) serves all its matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from relay import tree
from relay.check.infer import infer_expr
from relay.dataflow_pattern.dominator import Along, DominatorStep, PathTree
from relay.dataflow_pattern.graph import NumberedGraph
from relay.dataflow_pattern.patterns import DFPattern
from relay.dataflow_pattern.prepare import Prepared, prepare
from relay.dataflow_pattern.steps import ENTER, FAIL, Goals, Step, is_call_of
from relay.errors import DiagnosticError
from relay.ir.expr import Constant, Expr, Var, as_expr
from relay.ir.module import IRModule
from relay.ir.types import Type

# What the steps of a pattern are bound to. Most are bound once; the paths of a dominator pattern
# and recursive patterns are bound as often as they occur.
Bindings = list[tuple[Step, Expr]]


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Whether `expr` matches `pattern`."""
    expr = as_expr(expr)
    return Matcher(prepare(pattern), expr).match(expr) is not None


class Matcher:
    """Matches a pattern against expressions of the program `root`."""

    def __init__(
        self,
        prepared: Prepared,
        root: Expr,
        module: IRModule | None = None,
        graph: NumberedGraph | None = None,
    ) -> None:
        self.prepared = prepared
        self.root = root
        self._module = module
        self._given_graph = graph
        self._meetings: dict[DominatorStep, PathTree] = {}
        # (step, id of an expression): closed steps that are known not to fit
        self.failed: set[tuple[Step, int]] = set()

    def match(self, expr: Expr) -> Bindings | None:
        """What every part of the pattern is bound to when it matches `expr`, else None."""
        search = Search(self)
        return self._bindings(search) if search.run(self.prepared.root, expr) else None

    def _bindings(self, search: Search) -> Bindings:
        """What a search has bound, the paths of dominators included."""
        found: Bindings = []
        searches = [search]
        for current in searches:
            found.extend(current.bound.items())
            for step, expr in current.several:
                if isinstance(step, Along):
                    along = Search(self)
                    along.run(step.path, expr)
                    searches.append(along)
                else:
                    found.append((step, expr))
        return found

    def fits(self, step: Step, expr: Expr) -> bool:
        """Whether `step` alone matches `expr`."""
        return Search(self).run(step, expr)

    # --- facts about the program

    @cached_property
    def graph(self) -> NumberedGraph:
        return self._given_graph or NumberedGraph(self.root)

    def meetings(self, dominator: DominatorStep) -> PathTree:
        """The dominator tree for `dominator`."""
        if dominator not in self._meetings:
            # inner ones first, so that none is needed while another is being built
            for current in self.prepared.dominators:
                if current not in self._meetings:
                    self._meetings[current] = PathTree(self, current)
                if current is dominator:
                    break
        return self._meetings[dominator]

    def type_of(self, expr: Expr) -> Type | None:
        """The type of `expr`: as inferred before, as annotated, or inferred now; None: unknown."""
        if expr.ty is not None:
            return expr.ty
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        if isinstance(expr, Constant):
            return expr.tensor_type
        return self._types.get(id(expr))

    @cached_property
    def _types(self) -> dict[int, Type]:
        """The types of the whole program; empty when it cannot be typed."""
        try:
            typed = infer_expr(self.root, self._module)
        except DiagnosticError:
            return {}
        found: dict[int, Type] = {}
        seen: set[int] = set()
        pending: list[tuple[Any, Any]] = [(self.root, typed)]
        while pending:
            before, after = pending.pop()
            if id(before) in seen:
                continue
            seen.add(id(before))
            if isinstance(after, Expr) and after.ty is not None:
                found[id(before)] = after.ty
            pending.extend(zip(tree.children(before), tree.children(after), strict=True))
        return found


class Search:
    """One attempt to match a step with an expression, by backtracking."""

    __slots__ = ("bound", "choices", "matcher", "several")

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        # in the order of binding, so that the latest can be undone
        self.bound: dict[Step, Expr] = {}
        # bindings of steps that are bound any number of times
        self.several: list[tuple[Step, Expr]] = []
        # (goals to continue with, bindings to keep, or the step whose last alternative failed)
        self.choices: list[tuple[Goals, int, int, tuple[Step, int] | None]] = []

    def run(self, root: Step, subject: Expr) -> bool:
        """Whether `root` matches `subject`; the bindings are in `bound` and `several`."""
        bound, choices, failed = self.bound, self.choices, self.matcher.failed
        goals: Goals = (root, subject, ENTER, None)
        while goals is not None:
            step, expr, mark, rest = goals
            if mark != ENTER:
                if step.final is not None and not step.final(expr):
                    goals = FAIL
                else:
                    if step.cyclic:
                        self.several.append((step, expr))
                    else:
                        bound[step] = expr
                    if step.closed:
                        del choices[mark:]
                    goals = rest
            elif (known := bound.get(step)) is not None:
                goals = rest if known == expr else FAIL
            elif step.guarded and (step, id(expr)) in failed:
                goals = FAIL
            else:
                mark = len(choices)
                if step.guarded:
                    choices.append((None, len(bound), len(self.several), (step, id(expr))))
                goals = step.enter(self, expr, (step, expr, mark, rest))
            if goals is FAIL:
                goals = self._go_back()
                if goals is FAIL:
                    return False
        return True

    def with_parts(self, steps: Sequence[Step], exprs: Sequence[Expr], rest: Goals) -> Goals:
        """Goals for several parts before `rest`; leaves are checked immediately."""
        bound = self.bound
        for step, expr in zip(steps, exprs, strict=True):
            if step.leaf:
                known = bound.get(step)
                if known is None:
                    if step.test is not None and not step.test(expr):  # type: ignore[attr-defined]
                        return FAIL
                    bound[step] = expr
                elif known != expr:
                    return FAIL
            elif step.operator is not None and not is_call_of(expr, step.operator):
                # most searches end here
                return FAIL
        for i in range(len(steps) - 1, -1, -1):
            if not steps[i].leaf:
                rest = (steps[i], exprs[i], ENTER, rest)
        return rest

    def choose_later(self, goals: Goals) -> None:
        """Add an alternative, to be tried when the current goals fail."""
        self.choices.append((goals, len(self.bound), len(self.several), None))

    def _go_back(self) -> Goals:
        """Backtrack: the goals of the latest alternative, with later bindings undone."""
        while self.choices:
            goals, kept, several, failed = self.choices.pop()
            while len(self.bound) > kept:
                self.bound.popitem()
            del self.several[several:]
            if failed is None:
                return goals
            self.matcher.failed.add(failed)
        return FAIL
