"""What a rule of `peephole.py` sees of the program around the call it is applied to.

    window.call_of(e, "negative")     the call of that operator which `e` is, or is bound to
    window.tensor(e)                  its type
    window.value(e)                   its elements, where they are known
    window.is_constant(e)             whether it depends on constants and weights alone
    window.is_used_once(e)            whether it has no other use
    window.is_pure(e)                 whether it may be removed
    window.is_certain(e)              whether a call checks no sizes in a run

The program is being rewritten: expressions are those of the new program, effects and uses those of
the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from relay import tree
from relay.analysis.certain_sizes import proven_type
from relay.analysis.purity import Purity
from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.function_attrs import WEIGHTS
from relay.ir.scopes import Scopes
from relay.ir.types import TensorType, Type
from relay.ir.variables import binders
from relay.nd import Weight
from relay.op.opdef import OpDef


class Window:
    """The program around a call, as a rule sees it."""

    def __init__(self, root: ir.Function) -> None:
        self._root = root
        self._purity: Purity | None = None
        # whether a rule failed because of another use, which may be gone by now
        self.has_refused = False
        self._bound: dict[ir.Var, ir.Expr] = {}  # what variables are bound to, as it was
        self._means: dict[ir.Var, ir.Expr] = {}  # and what that is now, through other names
        self._readers: dict[ir.Expr, int] = {}  # how many there are
        self.now: dict[ir.Expr, ir.Expr] = {}  # what became of an expression
        self._origin: dict[ir.Expr, ir.Expr] = {}  # what an expression of the new program was
        self._types: dict[ir.Expr, Type | None] = {}  # of expressions of the new program
        self._constant: set[ir.Expr] = set()  # expressions over constants and weights alone
        self._pure: set[ir.Expr] = set()  # as far as asked
        self._shared = _shared_with_functions(root)
        self._holding: set[ir.Expr] = set()  # what is shared so, and all that is made of it
        names = root.attrs.get(WEIGHTS, ())
        self._constant.update(p for p in root.params if p.name_hint in names)
        for node in tree.postorder(root):
            if isinstance(node, ir.Let):
                self._bound[node.variable] = node.value
            hidden = len(binders(node))
            for child in set(tree.children(node)[hidden:]):
                if isinstance(child, ir.Expr):
                    self._readers[child] = self._readers.get(child, 0) + 1
            if self._shared and isinstance(node, ir.Expr) and not ir.is_atom(node):
                parts = tree.children(node)
                if node in self._shared or any(part in self._holding for part in parts):
                    self._holding.add(node)

    # --- types and shapes

    def type_of(self, e: ir.Expr) -> Type | None:
        """The type of an expression of the new program."""
        if isinstance(e, ir.Constant):
            return e.tensor_type
        if e.ty is not None:
            return e.ty
        return e.type_annotation if isinstance(e, ir.Var) else self._types.get(e)

    def tensor(self, e: ir.Expr) -> TensorType | None:
        """The type, if it is a tensor type."""
        ty = self.type_of(e)
        return ty if isinstance(ty, TensorType) else None

    def dtype(self, e: ir.Expr) -> str:
        """The element type; "" of what is no tensor."""
        ty = self.tensor(e)
        return "" if ty is None else ty.dtype

    def shape(self, e: ir.Expr) -> tuple[int, ...] | None:
        """The shape, if it is static."""
        ty = self.tensor(e)
        return ty.concrete_shape if ty is not None and _is_static(ty) else None

    def is_certain(self, call: ir.Call, *following: ir.Call) -> bool:
        """Whether types prove that the sizes of the arguments fit: only such a call may be left
        out, since another one may be refused in a run. So for calls `following`, each of which has
        the one before as its first argument."""
        result: Type | None = self.type_of(call.args[0]) if call.args else None
        for one in (call, *following):
            types = [result, *map(self.type_of, one.args[1:])]
            known = [ty for ty in types if ty is not None]
            if len(known) < len(types) or not isinstance(one.op, OpDef):
                return False
            result = proven_type(one.op, known, one.attrs)
        return result is not None

    # --- what expressions are

    def definition(self, e: ir.Expr) -> ir.Expr | None:
        """`e`, or the value it is bound to if that may replace it."""
        if self._shared and self._origin.get(e) in self._shared:
            self.has_refused = True
            return None
        if not isinstance(e, ir.Var) or e not in self._bound:
            return e
        value = self._meant(e)
        return value if ir.is_atom(value) or _is_flat(value) else e

    def _meant(self, e: ir.Expr) -> ir.Expr:
        """The value that a variable is bound to, through other variables."""
        passed = []
        while isinstance(e, ir.Var) and e in self._bound:
            passed.append(e)
            value = self._bound[e]
            e = self._means.get(e) or self.now.get(value, value)
        # path compression
        self._means.update((variable, e) for variable in passed)
        return e

    def call_of(self, e: ir.Expr, *operators: str | Callable[[OpDef], bool]) -> ir.Call | None:
        """The call that `e` is or is bound to, if it is of one of these operators."""
        found = self.definition(e)
        if not isinstance(found, ir.Call) or not isinstance(found.op, OpDef):
            return None
        op = found.op
        fits = any(one == op.name if isinstance(one, str) else one(op) for one in operators)
        return found if fits else None

    def fields(self, e: ir.Expr) -> tuple[ir.Expr, ...] | None:
        """The fields of the tuple that `e` is or is bound to."""
        found = self.definition(e)
        return found.fields if isinstance(found, ir.Tuple) else None

    def value(self, e: ir.Expr) -> np.ndarray | None:
        """The tensor that `e` is, if it is known; weights may change."""
        found = self.definition(e)
        if isinstance(found, ir.Constant) and not isinstance(found.data, Weight):
            return found.data.array
        return None

    def is_constant(self, e: ir.Expr) -> bool:
        """Whether `e` depends on constants and weights alone."""
        value = self._meant(e)
        return isinstance(value, ir.Constant) or value in self._constant

    def is_used_once(self, e: ir.Expr) -> bool:
        """Whether the call is the only use of `e`."""
        if self._readers.get(self._origin.get(e, e), 1) == 1:
            return True
        self.has_refused = True
        return False

    def is_pure(self, *expressions: ir.Expr) -> bool:
        """Whether these need not be evaluated."""
        pending: list[ir.Syntax] = [e for e in expressions if not ir.is_atom(e)]
        passed: list[ir.Expr] = []
        while pending:
            e = pending.pop()
            if not isinstance(e, ir.Expr) or ir.is_atom(e) or e in self._pure:
                continue
            if (origin := self._origin.get(e)) is None:
                pending += tree.children(e)  # rules make nothing that has effects by itself
            elif origin in self._holding:
                self.has_refused = True
                return False
            elif not self._was_pure(origin):
                return False
            passed.append(e)
        self._pure.update(passed)
        return True

    def _was_pure(self, origin: ir.Expr) -> bool:
        if self._purity is None:
            self._purity = Purity(self._root)
        return self._purity.is_pure(origin)

    # --- what is noted on the way

    def is_made(self, e: ir.Syntax) -> bool:
        """Whether a rule has just made it."""
        return isinstance(e, ir.Expr) and not ir.is_atom(e) and e not in self._types

    def note(self, before: ir.Expr, after: ir.Expr) -> None:
        """`after` is `before` over rewritten parts."""
        self._types[after] = before.ty
        self._origin[after] = before
        if self._is_computed(after):
            self._constant.add(after)

    def note_made(self, e: ir.Expr, ty: Type | None) -> None:
        """A rule has made `e`."""
        self._types[e] = ty
        if self._is_computed(e):
            self._constant.add(e)

    def _is_computed(self, e: ir.Expr) -> bool:
        """Whether it is an operator call, or a tuple, of constants."""
        match e:
            case ir.Call(op=OpDef() as op, args=args) if args:
                return op.is_repeatable and all(map(self.is_constant, args))
            case ir.Tuple(fields=fields) if fields:
                return all(map(self.is_constant, fields))
            case ir.TupleGetItem(tuple_value=value):
                return self.is_constant(value)
        return False


def _shared_with_functions(root: ir.Function) -> set[ir.Expr]:
    """The expressions that several functions use, one of them inside the other."""
    nodes = list(tree.postorder(root))
    if sum(isinstance(node, ir.Function) for node in nodes) < 2:
        return set()
    scopes = Scopes(root)
    reader: dict[ir.Syntax, object] = {}
    found: set[ir.Expr] = set()
    for node in nodes:
        inside = scopes.opened(node, "body") if isinstance(node, ir.Function) else scopes.home(node)
        for child in tree.children(node):
            is_new = reader.setdefault(child, inside.function) is not inside.function
            if is_new and isinstance(child, ir.Expr) and not ir.is_atom(child):
                found.add(child)
    return found


def _is_flat(e: ir.Expr) -> bool:
    """Whether all its parts are atoms."""
    return isinstance(e, ir.Call | ir.Tuple | ir.TupleGetItem) and all(
        map(ir.is_atom, tree.children(e))
    )


def _is_static(ty: TensorType) -> bool:
    return all(isinstance(extent, int) for extent in ty.shape)


# --- questions that rules ask about types --------------------------------------------------------


def static_size(ty: TensorType | None) -> int | None:
    """The number of elements, if the shape is static."""
    return prod(ty.concrete_shape) if ty is not None and _is_static(ty) else None


def covers(whole: TensorType | None, part: TensorType | None) -> bool:
    """Whether broadcasting `part` with `whole` keeps the shape of `whole`, whatever `?` is."""
    if whole is None or part is None or len(part.shape) > len(whole.shape):
        return False
    behind = whole.shape[len(whole.shape) - len(part.shape) :]
    return all(
        small == 1 or (small == large and not isinstance(large, dims.Any))
        for small, large in zip(part.shape, behind, strict=True)
    )
