"""Annotations as Relay types.

    int, float, bool, np.int64      scalars: int32, float32, bool, int64
    Tensor[n, 128]                  a tensor (`annotations.py`)
    tuple[A, B], None               tuples; None is the empty one
    list[A], A | None               List[A] and Option[A] of the prelude
    Callable[[A, B], C]             functions
    Tree, Tree[A]                   a `relay.data` class
    A = TypeVar("A"), def f[A]      every type: the function is polymorphic
    "…"                             any of these, as text

Annotations nest no deeper than Python's parser allows, so they are read by recursion.
"""

from __future__ import annotations

import ast
import collections.abc
import operator
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import AnySpan, FrontendError, RelayError, did_you_mean
from relay.frontend.python import statics
from relay.frontend.python.annotations import Alternatives, Tensor, TensorAnnotation
from relay.frontend.python.declarations import declaration_of
from relay.frontend.python.standard import List, Option
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import ANY, Dim, Symbol
from relay.ir.types import (
    UNIT,
    FuncType,
    GlobalTypeVar,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    as_dim,
    scalar_type,
    substitute,
)
from relay.ir.variables import free_type_vars

SCALARS: dict[Any, str] = {int: "int32", float: "float32", bool: "bool"}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class TypeReader:
    """Reads the annotations of one function or data type, which share their type variables."""

    def __init__(self, find: Callable[[str], Any], use: Callable[[type], None]) -> None:
        self._find = find
        self._use = use  # told of every data type that is met
        self.variables: dict[Any, TypeVar] = {}

    def read(self, annotation: Any, span: AnySpan | None) -> Type:
        """The type that an annotation means."""
        if isinstance(annotation, ast.expr):
            annotation = self._evaluate(annotation, span)
        if isinstance(annotation, str):
            annotation = self._evaluate(self._parse(annotation, span), span)
        if annotation is None or annotation is type(None):
            return UNIT
        if isinstance(annotation, Type) and not isinstance(annotation, GlobalTypeVar):
            return self._renamed(annotation)
        if isinstance(annotation, TensorAnnotation):
            return self._tensor(annotation, span)
        if isinstance(annotation, typing.TypeVar):
            return self.variables.setdefault(annotation, TypeVar(annotation.__name__))
        if isinstance(annotation, type) and annotation in SCALARS:
            return scalar_type(SCALARS[annotation])
        if (found := self._application(annotation, span)) is not None:
            return found
        if isinstance(annotation, type) and (dtype := scalar_dtype(annotation)) is not None:
            return scalar_type(dtype)
        hint = None
        if annotation is typing.Any:
            hint = "leave it out: then the type is that of the argument"
        elif annotation is str:
            hint = "leave it out: a text is known where the function is called"
        raise self._refused(annotation, span, hint)

    def _application(self, annotation: Any, span: AnySpan | None) -> Type | None:
        """The type of `form[args]`, or of a data type without arguments."""
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if isinstance(annotation, Alternatives):
            origin, args = typing.Union, annotation.options
        elif isinstance(annotation, _Application):
            origin, args = annotation.origin, annotation.args
        if origin is None and declaration_of(annotation) is not None:
            origin = annotation
        if origin is typing.Annotated:
            return self.read(args[0], span)
        if origin is tuple or annotation is tuple:
            if Ellipsis in args or annotation is tuple:
                raise self._refused(
                    annotation, span, "say how many fields the tuple has, or use a list"
                )
            return TupleType(tuple(self.read(a, span) for a in args))
        if origin in (typing.Union, types.UnionType):
            some = [a for a in args if a is not None and a is not type(None)]
            if len(some) != 1 or len(args) != 2:
                raise self._refused(annotation, span, "a choice of types is a relay.data class")
            return self._data(Option, (some[0],), span)
        if origin is collections.abc.Callable:
            if len(args) != 2 or not isinstance(args[0], list):
                raise self._refused(annotation, span, "say Callable[[A, B], C]")
            params = tuple(self.read(a, span) for a in args[0])
            return FuncType(params, self.read(args[1], span))
        if origin is list or annotation is list:
            return self._data(List, args, span)
        if declaration_of(origin) is not None:
            return self._data(origin, args, span)
        return None

    def _data(self, cls: Any, args: tuple[Any, ...], span: AnySpan | None) -> Type:
        found = declaration_of(cls)
        assert found is not None
        if len(args) != len(found.parameters):
            name, count = found.name, len(found.parameters)
            raise self._error(
                f"`{name}` takes {count} type argument{'' if count == 1 else 's'}",
                span,
                f"{name}[{', '.join(p.__name__ for p in found.parameters)}]" if count else name,
                f"{len(args)} of them",
            )
        self._use(found.cls)
        return TypeCall(found.header, tuple(self.read(a, span) for a in args))

    def _tensor(self, annotation: TensorAnnotation, span: AnySpan | None) -> Type:
        shape = tuple(self._dimension(d, span) for d in annotation.shape)
        return TensorType(shape, self.element_type(annotation.dtype, span))

    def element_type(self, given: Any, span: AnySpan | None) -> str:
        """The name of an element type."""
        if isinstance(given, str) and (known := dtypes.find(given)) is not None:
            return known
        if isinstance(given, type | np.dtype) and (found := scalar_dtype(given)) is not None:
            return found
        hint = did_you_mean(given, dtypes.NAMES) if isinstance(given, str) else None
        expected = 'a name such as "float32", or np.float32'
        raise self._error("an element type is not known", span, expected, repr(given), hint)

    # --- dimensions

    def _dimension(self, given: Any, span: AnySpan | None) -> Dim:
        if isinstance(given, ast.expr):
            given = self._evaluate(given, span)
        if isinstance(given, str):
            if given == "?":
                return ANY
            if dtypes.is_dtype(given):
                raise self._error(
                    f"`{given}` is an element type, and stands among the dimensions",
                    span,
                    f'Tensor[(…), "{given}"]',
                )
            return self._dimension_text(self._parse(given, span), span)
        if given is dims.Any:
            return ANY
        if isinstance(given, Symbol):
            return dims.substitute(given, self._renamed_symbol)
        try:
            return as_dim(given)
        except RelayError as error:
            raise self._error(str(error), span) from None

    def _dimension_text(self, node: ast.expr, span: AnySpan | None) -> Dim:
        """Arithmetic over names, each a named dynamic dimension of this function."""
        match node:
            case ast.Name():
                return self.variables.setdefault(node.id, ShapeVar(node.id))
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return value
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left = self._dimension_text(node.left, span)
                result: Dim = _ARITHMETIC[type(node.op)](
                    left, self._dimension_text(node.right, span)
                )
                return result
        raise self._error(
            "this is no dimension",
            span,
            "a number, a name, `?`, or arithmetic with + - * // %",
            ast.unparse(node),
        )

    # --- type variables from outside become variables of this function

    def _renamed(self, ty: Type) -> Type:
        return substitute(ty, {v: self._own(v) for v in free_type_vars(ty)})

    def _renamed_symbol(self, symbol: Symbol) -> Dim:
        return self._own(symbol) if isinstance(symbol, TypeVar) else symbol

    def _own(self, variable: TypeVar) -> TypeVar:
        return self.variables.setdefault(variable, TypeVar(variable.name_hint, variable.kind))

    # --- annotations that Python has not evaluated

    def _parse(self, text: str, span: AnySpan | None) -> ast.expr:
        try:
            return ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise self._error(f"the annotation is not Python: {error.msg}", span) from None

    def _evaluate(self, node: ast.expr, span: AnySpan | None) -> Any:
        """The value of an annotation in Python."""
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                found = self._find(node.id)
                if found is statics.MISSING:
                    raise self._error(f"name `{node.id}` is not defined", span)
                return found
            case ast.Attribute():
                found = statics.attribute(self._evaluate(node.value, span), node.attr)
                if found is statics.MISSING:
                    raise self._error(f"`{ast.unparse(node)}` is not defined", span)
                return found
            case ast.Tuple():
                return tuple(self._evaluate(e, span) for e in node.elts)
            case ast.List():
                return [self._evaluate(e, span) for e in node.elts]
            case ast.Subscript():
                return self._subscript(node, span)
            case ast.BinOp(op=ast.BitOr()):
                options = (self._evaluate(node.left, span), self._evaluate(node.right, span))
                return Alternatives(options)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left, right = self._evaluate(node.left, span), self._evaluate(node.right, span)
                if all(isinstance(side, int | Symbol) for side in (left, right)):
                    return _ARITHMETIC[type(node.op)](left, right)
            case ast.Call(args=[], keywords=[]):
                if self._evaluate(node.func, span) is dims.Any:
                    return ANY
        raise self._refused(ast.unparse(node), span)

    def _subscript(self, node: ast.Subscript, span: AnySpan | None) -> Any:
        form, args = self._evaluate(node.value, span), self._evaluate(node.slice, span)
        given = args if isinstance(args, tuple) else (args,)
        if form is Tensor:
            return Tensor[args]
        if declaration_of(form) is not None:
            return _Application(form, given)
        if form is list or form is typing.List:  # noqa: UP006
            return _Application(List, given)
        if form is typing.Optional:
            return Alternatives((args, None))
        known = (tuple, typing.Tuple, typing.Union, typing.Annotated)  # noqa: UP006
        if form in known or form in (typing.Callable, collections.abc.Callable):
            return form[args]
        raise self._refused(ast.unparse(node), span)

    # --- errors

    def _refused(self, found: Any, span: AnySpan | None, hint: str | None = None) -> FrontendError:
        text = found if isinstance(found, str) else getattr(found, "__qualname__", repr(found))
        return self._error(
            "the annotation is not a type of a Relay value",
            span,
            "int, float, bool, relay.Tensor[…], tuple[…], list[…], Callable[…] or a data type",
            text,
            hint,
        )

    @staticmethod
    def _error(
        message: str,
        span: AnySpan | None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        return FrontendError.of(message, span, expected, found, hint)


@frozen
class _Application:
    """`Tree[A]` with arguments that Python's own subscript does not take, such as text."""

    origin: Any
    args: tuple[Any, ...]


def scalar_dtype(given: Any) -> str | None:
    """The name of an element type given as a Python or NumPy type; None if it is none."""
    if isinstance(given, type) and given in SCALARS:
        return SCALARS[given]
    try:
        return dtypes.from_numpy(np.dtype(given))
    except (TypeError, RelayError):
        return None
