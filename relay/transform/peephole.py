"""Rewriting by what a call is made of, in one walk from the inside out.

    def double_negation(call: Call, window: Window) -> Expr | None:
        inner = window.call_of(call.args[0], "negative")
        return inner.args[0] if inner else None

    rewritten(function, {"negative": (double_negation,)})

A rule is a function of a call and of the window through which it sees what the arguments are: their
types, their values, the calls they come from, also where a `let` has given these a name. It returns
what the call becomes, or None. Rules are found by the operator they begin with, or by the class of
an expression that is no call of one; of several that fit, the first is taken.

A call is looked at when its arguments have come to rest, and what a rule makes is looked at again
until no rule fits. So a chain of any length collapses in one walk, which is linear in the size of
the program as long as each rule makes it smaller. What must hold for every rewriting is seen to
here: one that would give another type, also one that knows more about it, is not made; functions
that are one thing for somebody else are not entered; through a name only calls over names are seen,
and what a function shares with the code around it is neither seen through nor left out, so that
nothing is computed more often than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from relay import tree
from relay.analysis.purity import Purity
from relay.check.infer import infer_local, with_known_types
from relay.errors import PassError, RelayError
from relay.ir import dims
from relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
    is_atom,
)
from relay.ir.scopes import Scopes
from relay.ir.types import TensorType, TupleType, Type
from relay.ir.variables import binders
from relay.nd import Weight
from relay.op.opdef import OpDef
from relay.transform.fold_constant import OPAQUE
from relay.transform.lift_weights import WEIGHTS
from relay.tree import Steps

Rule = Callable[[Any, "Window"], Expr | None]
Rules = Mapping[str | type[Expr], Sequence[Rule]]

# Rules that have not come to rest at one expression by then undo each other's work.
LIMIT = 100

# Operators of these families do something else than to compute from what they are given.
NOT_COMPUTED = ("random.", "annotation.", "memory.", "vm.")


def rewritten(function: Function, rules: Rules) -> Function:
    """The typed `function` with the rules applied wherever they fit; itself when none does."""
    if _is_opaque(function):
        return function
    window = Window(function)
    kept: dict[Syntax, Syntax] = {
        node: node
        for node in tree.postorder(function)
        if isinstance(node, Function) and _is_opaque(node)
    }
    for node in kept:
        assert isinstance(node, Expr)
        window.note(node, node)
    root: Syntax = function
    result = tree.transform(root, _Rewriting(window, rules).visit, kept)
    assert isinstance(result, Function)
    if result is function:
        return function
    return with_known_types(result, function, window.type_of)


def merged(*several: Rules) -> Rules:
    """Rules of several kinds together; those of the first come first."""
    found: dict[str | type[Expr], list[Rule]] = {}
    for rules in several:
        for head, members in rules.items():
            found.setdefault(head, []).extend(members)
    return found


def _is_opaque(function: Function) -> bool:
    return any(function.attrs.get(name) for name in OPAQUE)


class Window:
    """What a rule sees of the program around a call."""

    def __init__(self, root: Function) -> None:
        self._root = root
        self._purity: Purity | None = None
        self._bound: dict[Var, Expr] = {}  # what variables are bound to, as it was
        self._readers: dict[Expr, int] = {}  # how many there are
        self.now: dict[Expr, Expr] = {}  # what became of an expression
        self._origin: dict[Expr, Expr] = {}  # what an expression of the new program was
        self._types: dict[Expr, Type | None] = {}  # of expressions of the new program
        self._constant: set[Expr] = set()  # expressions over constants and weights alone
        self._pure: set[Expr] = set()  # as far as somebody has asked
        self._shared = _shared_with_functions(root)
        self._holding: set[Expr] = set()  # what is shared so, and all that is made of it
        names = root.attrs.get(WEIGHTS, ())
        self._constant.update(p for p in root.params if p.name_hint in names)
        for node in tree.postorder(root):
            if isinstance(node, Let):
                self._bound[node.variable] = node.value
            hidden = len(binders(node))
            for child in set(tree.children(node)[hidden:]):
                if isinstance(child, Expr):
                    self._readers[child] = self._readers.get(child, 0) + 1
            if self._shared and isinstance(node, Expr) and not is_atom(node):
                parts = tree.children(node)
                if node in self._shared or any(part in self._holding for part in parts):
                    self._holding.add(node)

    # --- types and shapes

    def type_of(self, e: Expr) -> Type | None:
        """The type of an expression of the new program."""
        if isinstance(e, Constant):
            return e.tensor_type
        if e.ty is not None:
            return e.ty
        return e.type_annotation if isinstance(e, Var) else self._types.get(e)

    def tensor(self, e: Expr) -> TensorType | None:
        """The type, where it is that of a tensor."""
        ty = self.type_of(e)
        return ty if isinstance(ty, TensorType) else None

    def dtype(self, e: Expr) -> str:
        """The element type; "" of what is no tensor."""
        ty = self.tensor(e)
        return "" if ty is None else ty.dtype

    def shape(self, e: Expr) -> tuple[int, ...] | None:
        """The extents, where all of them are numbers."""
        ty = self.tensor(e)
        return ty.concrete_shape if ty is not None and _is_static(ty) else None

    # --- what expressions are

    def definition(self, e: Expr) -> Expr | None:
        """What `e` is, or stands for as a name, as far as that may be written in its place."""
        if self._shared and self._origin.get(e) in self._shared:
            return None
        found = e
        while isinstance(found, Var) and found in self._bound:
            value = self.now.get(self._bound[found], self._bound[found])
            if not is_atom(value) and not _is_flat(value):
                break
            found = value
        return found

    def call_of(self, e: Expr, *names: str) -> Call | None:
        """The call that `e` is or stands for, if it is one of these operators."""
        found = self.definition(e)
        is_one = isinstance(found, Call) and isinstance(found.op, OpDef) and found.op.name in names
        return found if is_one else None  # type: ignore[return-value]

    def fields(self, e: Expr) -> tuple[Expr, ...] | None:
        """The fields of the tuple that `e` is or stands for."""
        found = self.definition(e)
        return found.fields if isinstance(found, Tuple) else None

    def value(self, e: Expr) -> np.ndarray | None:
        """The tensor that `e` is, where it is known: that of a weight may change."""
        found = self.definition(e)
        if isinstance(found, Constant) and not isinstance(found.data, Weight):
            return found.data.array
        return None

    def is_constant(self, e: Expr) -> bool:
        """Whether `e` depends on constants and weights alone."""
        seen = e
        while isinstance(seen, Var) and seen not in self._constant and seen in self._bound:
            seen = self.now.get(self._bound[seen], self._bound[seen])
        return isinstance(seen, Constant) or seen in self._constant

    def is_used_once(self, e: Expr) -> bool:
        """Whether the call that is looked at is all that uses `e`."""
        return self._readers.get(self._origin.get(e, e), 1) == 1

    def is_pure(self, *expressions: Expr) -> bool:
        """Whether evaluating these may be left out."""
        pending: list[Syntax] = [e for e in expressions if not is_atom(e)]
        passed: list[Expr] = []
        while pending:
            e = pending.pop()
            if not isinstance(e, Expr) or is_atom(e) or e in self._pure:
                continue
            if (origin := self._origin.get(e)) is None:
                pending += tree.children(e)  # rules make nothing that has effects by itself
            elif origin in self._holding or not self._was_pure(origin):
                return False
            passed.append(e)
        self._pure.update(passed)
        return True

    def _was_pure(self, origin: Expr) -> bool:
        if self._purity is None:
            self._purity = Purity(self._root)
        return self._purity.is_pure(origin)

    # --- what is noted on the way

    def is_made(self, e: Syntax) -> bool:
        """Whether a rule has just made it."""
        return isinstance(e, Expr) and not is_atom(e) and e not in self._types

    def note(self, before: Expr, after: Expr) -> None:
        """`after` is `before` over parts that are at rest."""
        self._types[after] = before.ty
        self._origin[after] = before
        if self._is_computed(after):
            self._constant.add(after)

    def note_made(self, e: Expr, ty: Type | None) -> None:
        """A rule has made `e`."""
        self._types[e] = ty
        if self._is_computed(e):
            self._constant.add(e)

    def _is_computed(self, e: Expr) -> bool:
        """Whether it is an operator, or a tuple, of constants."""
        match e:
            case Call(op=OpDef() as op, args=args) if args:
                if op.stateful or op.on_values or op.name.startswith(NOT_COMPUTED):
                    return False
                return all(map(self.is_constant, args))
            case Tuple(fields=fields) if fields:
                return all(map(self.is_constant, fields))
            case TupleGetItem(tuple_value=value):
                return self.is_constant(value)
        return False


class _Rewriting:
    """One walk over a program."""

    def __init__(self, window: Window, rules: Rules) -> None:
        self._window = window
        self._rules = rules

    def visit(self, before: Syntax, after: Syntax) -> Syntax:
        if not isinstance(before, Expr) or is_atom(before):
            return after
        assert isinstance(after, Expr)
        self._window.note(before, after)
        result = after
        if (found := self._applied(after)) is not None:
            result = tree.run(self._settled_from(after, found))
        self._window.now[before] = result
        return result

    def _rules_for(self, e: Expr) -> Sequence[Rule]:
        if isinstance(e, Call) and isinstance(e.op, OpDef):
            return self._rules.get(e.op.name, ())
        return self._rules.get(type(e), ())

    def _applied(self, e: Expr) -> Expr | None:
        """What the first rule that fits makes of `e`."""
        for rule in self._rules_for(e):
            result = rule(e, self._window)
            if result is not None and result is not e and self._keeps_type(e, result):
                return result
        return None

    def _settled_from(self, e: Expr, found: Expr | None) -> Steps[Expr]:
        for _ in range(LIMIT):
            if found is None:
                return e
            e = yield self._placed(found, e)
            found = self._applied(e)
        raise PassError(f"rules for `{_head(e)}` undo each other's work")

    def _placed(self, made: Expr, origin: Expr) -> Steps[Expr]:
        """`made` with the parts that a rule made come to rest."""
        window = self._window
        done: dict[Syntax, Expr] = {}
        for part in tree.postorder(made, enter=window.is_made):
            if not window.is_made(part):
                continue
            new: Any = tree.rebuild(part, [done.get(c, c) for c in tree.children(part)])
            if new.span is None and origin.span is not None:
                new = tree.replace(new, span=origin.span)
            window.note_made(new, self._type(new))
            if part is not made and (found := self._applied(new)) is not None:
                new = yield self._settled_from(new, found)
            done[part] = new
        return done.get(made, made)

    # --- types

    def _keeps_type(self, e: Expr, result: Expr) -> bool:
        window = self._window
        if not window.is_made(result):
            return window.type_of(result) == window.type_of(e)
        types: dict[Expr, Type] = {}
        try:
            for part in tree.postorder(result, enter=window.is_made):
                if window.is_made(part):
                    assert isinstance(part, Expr)
                    types[part] = self._inferred(part, types)
        except RelayError:
            return False
        return types[result] == window.type_of(e)

    def _type(self, e: Expr) -> Type:
        return self._inferred(e, {})

    def _inferred(self, e: Expr, types: Mapping[Expr, Type]) -> Type:
        """The type of what a rule made, from the types of its parts."""

        def known(part: Expr) -> Type:
            found = types[part] if part in types else self._window.type_of(part)
            if found is None:
                raise PassError("a rule was applied to an expression without a type")
            return found

        match e:
            case Tuple(fields=fields):
                return TupleType(tuple(map(known, fields)))
            case TupleGetItem(tuple_value=value, index=index):
                ty = known(value)
                assert isinstance(ty, TupleType)
                return ty.fields[index]
            case Call(args=args):
                # inference looks at the call alone, so variables stand for the rest
                given = [a if isinstance(a, Constant) else Var("x", known(a)) for a in args]
                return infer_local(tree.replace(e, args=tuple(given)))
        raise PassError(f"a rule must not make a {type(e).__name__}")


def _shared_with_functions(root: Function) -> set[Expr]:
    """The computations that are read in several functions, one of them inside the other."""
    nodes = list(tree.postorder(root))
    if sum(isinstance(node, Function) for node in nodes) < 2:
        return set()
    scopes = Scopes(root)
    reader: dict[Syntax, object] = {}
    found: set[Expr] = set()
    for node in nodes:
        inside = scopes.opened(node, "body") if isinstance(node, Function) else scopes.home(node)
        for child in tree.children(node):
            is_new = reader.setdefault(child, inside.function) is not inside.function
            if is_new and isinstance(child, Expr) and not is_atom(child):
                found.add(child)
    return found


def _head(e: Expr) -> str:
    return e.op.name if isinstance(e, Call) and isinstance(e.op, OpDef) else type(e).__name__


def _is_flat(e: Expr) -> bool:
    """Whether all its parts are atoms."""
    return isinstance(e, Call | Tuple | TupleGetItem) and all(map(is_atom, tree.children(e)))


def _is_static(ty: TensorType) -> bool:
    return all(isinstance(extent, int) for extent in ty.shape)


# --- questions that rules ask about types --------------------------------------------------------


def static_size(ty: TensorType | None) -> int | None:
    """The number of elements, where it is known."""
    return prod(ty.concrete_shape) if ty is not None and _is_static(ty) else None


def covers(whole: TensorType | None, part: TensorType | None) -> bool:
    """Whether `part`, broadcast with `whole`, stretches nothing of it, whatever `?` will be."""
    if whole is None or part is None or len(part.shape) > len(whole.shape):
        return False
    behind = whole.shape[len(whole.shape) - len(part.shape) :]
    return all(
        small == 1 or (small == large and not isinstance(large, dims.Any))
        for small, large in zip(part.shape, behind, strict=True)
    )
