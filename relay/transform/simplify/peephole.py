"""Peephole rules for calls, applied in one bottom-up traversal.

    def double_negation(call: Call, window: Window) -> Expr | None:
        inner = window.call_of(call.args[0], "negative")
        return inner.args[0] if inner else None

    rewritten(function, {"negative": (double_negation,)})
    rewritten(function, {having(Trait.INVOLUTION): (twice_is_none,)})

A rule is a function of a call and of the window through which it sees the arguments: their types,
their values, the calls they come from, also through `let`s. It returns the replacement, or None.
Rules are indexed by the operator they begin with, by its name or by a trait of its record, or by
the class of other expressions; the first that matches is applied.

A call is rewritten after its arguments, and the result of a rule is rewritten again until no rule
matches. So a chain of any length collapses in one traversal, which is linear in the size of the
program if each rule makes it smaller; another traversal follows only where rules failed because an
expression had other uses. The following is checked here for all rules: a replacement has the same
type, not even a more precise one; opaque functions are not entered; through a variable only calls
over variables are visible, and expressions that a function shares with the code around it are
neither looked through nor removed, so that nothing is computed more often than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from relay import tree
from relay.check.infer import infer_local, with_known_types
from relay.errors import PassError, RelayError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_opaque
from relay.ir.types import TupleType, Type
from relay.op.facts import Trait
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass, Pass
from relay.transform.simplify.rule_window import Window
from relay.tree import Steps

Rule = Callable[[Any, Window], ir.Expr | None]
# The expressions that rules begin with: calls of an operator, or of all that fit, or a class.
Head = str | type[ir.Expr] | Callable[[OpDef], bool]
Rules = Mapping[Head, Sequence[Rule]]
# What a rule made, and the types of its new parts, arguments first.
Made = tuple[ir.Expr, Mapping[ir.Expr, Type]]

# The passes that rules require.
TYPED: tuple[str | Pass, ...] = ("InferType",)
# How often rules are tried again after an expression has lost another use.
WALKS = 8
# Rules that still match after this many steps at one expression undo each other's work.
LIMIT = 100


@frozen
class RulePass(FunctionPass):
    """A pass that only applies rules."""

    required = TYPED
    rules: ClassVar[Sequence[Rules]]

    def rewrite(self, function: ir.Function) -> ir.Function:
        return rewritten(function, *self.rules)


def rewritten(function: ir.Function, *several: Rules) -> ir.Function:
    """The typed `function` with the rules applied wherever they fit; itself when none does."""
    rules = _Table(several)
    nodes = tree.postorder(function)
    if is_opaque(function) or not any(rules.of(node) for node in nodes):
        return function
    for _ in range(WALKS):
        window = Window(function)
        result = _walked(function, rules, window)
        is_settled = result is function or not window.has_refused
        function = result
        if is_settled:
            break
    return function


def _walked(function: ir.Function, rules: _Table, window: Window) -> ir.Function:
    """The function after one traversal."""
    kept: dict[ir.Syntax, ir.Syntax] = {}
    for node in tree.postorder(function):
        if is_opaque(node):
            kept[node] = node
            window.note(node, node)
    result = tree.transform(function, _Rewriting(window, rules).visit, kept)
    if result is function:
        return function
    return with_known_types(result, function, window.type_of)


def having(trait: Trait) -> Callable[[OpDef], bool]:
    """The operators with that trait."""
    return lambda op: trait in op.traits


class _Table:
    """The rules for an expression, in order; looked up once for every operator."""

    def __init__(self, several: Sequence[Rules]) -> None:
        self._entries = [entry for rules in several for entry in rules.items()]
        self._found: dict[object, list[Rule]] = {}

    def of(self, e: ir.Syntax) -> Sequence[Rule]:
        start = _start(e)
        if start not in self._found:
            fitting = (members for head, members in self._entries if _fits(head, start))
            self._found[start] = [rule for members in fitting for rule in members]
        return self._found[start]


def _start(e: ir.Syntax) -> OpDef | type[ir.Syntax]:
    """The operator that `e` calls, or its class."""
    return e.op if isinstance(e, ir.Call) and isinstance(e.op, OpDef) else type(e)


def _fits(head: Head, start: OpDef | type[ir.Syntax]) -> bool:
    if not isinstance(start, OpDef):
        return head is start
    return head == start.name if isinstance(head, str | type) else head(start)


class _Rewriting:
    """One traversal of a program."""

    def __init__(self, window: Window, rules: _Table) -> None:
        self._window = window
        self._rules = rules

    def visit(self, before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
        if not isinstance(before, ir.Expr) or ir.is_atom(before):
            return after
        assert isinstance(after, ir.Expr)
        self._window.note(before, after)
        result = after
        if (made := self._applied(after)) is not None:
            result = tree.run(self._settled_from(after, made))
        self._window.now[before] = result
        return result

    def _applied(self, e: ir.Expr) -> Made | None:
        """The result of the first rule that matches `e`."""
        for rule in self._rules.of(e):
            result = rule(e, self._window)
            if result is None or result is e:
                continue
            types = self._types_of(result)
            if types is not None and types.get(result, self._window.type_of(result)) == (
                self._window.type_of(e)
            ):
                return result, types
        return None

    def _settled_from(self, e: ir.Expr, made: Made | None) -> Steps[ir.Expr]:
        for _ in range(LIMIT):
            if made is None:
                return e
            e = yield self._placed(*made, e)
            made = self._applied(e)
        raise PassError(
            f"rules undo each other's work at an expression that begins with {_start(e)}"
        )

    def _placed(
        self, made: ir.Expr, types: Mapping[ir.Expr, Type], origin: ir.Expr
    ) -> Steps[ir.Expr]:
        """`made`, whose new parts have these types, with those parts rewritten."""
        done: dict[ir.Syntax, ir.Expr] = {}
        for part, ty in types.items():
            new: Any = tree.rebuild(part, [done.get(c, c) for c in tree.children(part)])
            if new.span is None and origin.span is not None:
                new = tree.replace(new, span=origin.span)
            self._window.note_made(new, ty)
            if part is not made and (found := self._applied(new)) is not None:
                new = yield self._settled_from(new, found)
            done[part] = new
        return done.get(made, made)

    # --- types

    def _types_of(self, result: ir.Expr) -> dict[ir.Expr, Type] | None:
        """The types of the parts that a rule made, arguments first; None if one is ill-typed."""
        types: dict[ir.Expr, Type] = {}
        is_made = self._window.is_made
        if not is_made(result):
            return types
        try:
            for part in tree.postorder(result, enter=is_made):
                if is_made(part):
                    types[part] = self._inferred(part, types)
        except RelayError:
            return None
        return types

    def _inferred(self, e: ir.Expr, types: Mapping[ir.Expr, Type]) -> Type:
        """The type of what a rule made, from the types of its parts."""

        def known(part: ir.Expr) -> Type:
            found = types[part] if part in types else self._window.type_of(part)
            if found is None:
                raise PassError("a rule was applied to an expression without a type")
            return found

        match e:
            case ir.Tuple(fields=fields):
                return TupleType(tuple(map(known, fields)))
            case ir.TupleGetItem(tuple_value=value, index=index):
                ty = known(value)
                assert isinstance(ty, TupleType)
                return ty.fields[index]
            case ir.Call(args=args):
                # inference looks at the call alone, so variables stand for the rest
                given = [a if isinstance(a, ir.Constant) else ir.Var("x", known(a)) for a in args]
                return infer_local(tree.replace(e, args=tuple(given)))
        raise PassError(f"a rule must not make a {type(e).__name__}")
