"""The names of a graph: a chain of `let`s under construction.

Every value is a variable of known type, or a constant, so that converters know the shapes of their
inputs. Expressions of constants are folded at once: shapes that graphs compute are constants where
those of the inputs are. The scope of a subgraph is inside that of its graph, and sees its names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from relay import tree
from relay.check.infer import infer_expr
from relay.errors import AnySpan
from relay.frontend.common.folding import folded
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Let,
    Op,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import IncompleteType, TensorType, TupleType, Type, TypeCall


@dataclass
class ImportScope:
    """The names of a graph, and the `let`s they stand for."""

    module: IRModule
    parent: Self | None = None
    values: dict[str, Expr] = field(default_factory=dict)
    bindings: list[tuple[Var, Expr]] = field(default_factory=list)

    def find(self, name: str) -> Expr | None:
        """The value of that name, here or outside."""
        return next((s.values[name] for s in self.outwards() if name in s.values), None)

    def outwards(self) -> Iterator[Self]:
        """This scope and those around it, from the innermost."""
        scope: Self | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def everything(self) -> Iterator[Expr]:
        """All named values, those of outer scopes first."""
        for scope in reversed([*self.outwards()]):
            yield from scope.values.values()

    def definition(self, value: Expr) -> Expr | None:
        """The value that a variable is bound to; None for an input."""
        for scope in self.outwards():
            for variable, bound in reversed(scope.bindings):
                if variable is value:
                    return bound
        return None

    def bind(
        self, value: Expr, name: str, span: AnySpan | None = None, declared: Type | None = None
    ) -> Expr:
        """A variable bound to a value, or the constant it folds to; `declared` is a type that says
        more than inference finds, and is checked at run time."""
        if declared is None and (isinstance(value, Var) or is_nothing(value)):
            return value
        if declared is None and isinstance(value, Constant):
            return value if value.ty is not None else infer_expr(value)
        value = _with_spans(value, span)
        typed = infer_expr(value, None if _is_plain(value) else self.module)
        if (folded := _folded(typed)) is not None:
            return folded
        variable = Var(name, declared or typed.checked_type, span=span)
        self.bindings.append((variable, typed))
        return variable

    def inner(self) -> Self:
        """A new scope inside this one."""
        return type(self)(self.module, self)

    def closed(self, body: Expr) -> Expr:
        """`body` inside the `let`s of this scope."""
        for variable, value in reversed(self.bindings):
            body = Let(variable, value, body, span=variable.span)
        return body


def is_nothing(value: Expr) -> bool:
    """Whether it is an empty list or option, which has no type yet and is never bound."""
    return isinstance(value, Call) and isinstance(value.op, Constructor) and not value.args


def type_of(value: Expr) -> Type:
    """The type of a value that `bind` returned."""
    if isinstance(value, Var):
        assert value.type_annotation is not None  # set by `bind`
        return value.type_annotation
    if isinstance(value, Constant) and value.ty is None:
        return TensorType(value.data.array.shape, value.data.dtype)
    if is_nothing(value):
        assert isinstance(value, Call) and isinstance(value.op, Constructor)
        return TypeCall(value.op.belong_to, (IncompleteType(),))
    return value.checked_type


def _is_plain(value: Expr) -> bool:
    """Whether an expression only has operators on tensors, so that inference does not need the
    module with the standard library."""
    for part in tree.postorder(value):
        match part:
            case Var(type_annotation=ty):
                fields = ty.fields if isinstance(ty, TupleType) else (ty,)
                if not all(isinstance(one, TensorType) for one in fields):
                    return False
            case Expr() if not isinstance(part, Call | Op | Constant | Tuple | TupleGetItem):
                return False
    return True


def _with_spans(value: Expr, span: AnySpan | None) -> Expr:
    """The new nodes of an expression with a span."""
    if span is None:
        return value

    def mark(before: Syntax, after: Syntax) -> Syntax:
        if isinstance(after, Call | Tuple | TupleGetItem) and after.span is None:
            return tree.replace(after, span=span)
        return after

    root: Syntax = value
    marked = tree.transform(root, mark)
    assert isinstance(marked, Expr)
    return marked


def _folded(value: Expr) -> Constant | None:
    """The constant that an expression folds to, if it does."""
    found = folded(value)
    if found is None:
        return None
    return infer_expr(Constant(found, span=value.span))
