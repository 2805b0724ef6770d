"""ScopeBuilder: build nested lets and branches statement by statement.

    sb = ScopeBuilder()
    y = sb.let("y", x + x)                    let %y = add(%x, %x);
    with sb.if_scope(cond):                   if (%cond) {
        sb.ret(y)                               %y
    with sb.else_scope():                     } else {
        sb.ret(x)                               %x
    body = sb.get()                           }

An `if` with its two branches is the result of its scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from relay.check.infer import infer_expr
from relay.errors import RelayError
from relay.ir.expr import Expr, Function, If, Let, Var, as_expr, var
from relay.ir.module import IRModule
from relay.ir.types import Type
from relay.ir.variables import free_vars


@dataclass
class _Block:
    """The bindings of a block, and its result once there is one."""

    bindings: list[tuple[Var, Expr]] = field(default_factory=list)
    result: Expr | None = None
    # the condition and the true branch of an `if` whose `else` has not been built yet
    waiting: tuple[Expr, Expr] | None = None

    def wrap(self, body: Expr) -> Expr:
        """`body` below the bindings."""
        for variable, value in reversed(self.bindings):
            body = Let(variable, value, body)
        return body


class ScopeBuilder:
    """Collects bindings, branches and a result; `get` returns the expression.

    `module` has the functions and data types that the program uses; only `type_of` needs it.
    """

    def __init__(self, module: IRModule | None = None) -> None:
        self._module = module
        self._scopes = [_Block()]

    def let(self, variable: Var | str | tuple[str, Type | None], value: Expr) -> Var:
        """Bind `value`; returns the variable. A name becomes a new variable."""
        if isinstance(variable, str):
            variable = var(variable)
        elif isinstance(variable, tuple):
            variable = var(*variable)
        if not isinstance(variable, Var):
            raise RelayError(
                f"let binds a variable: give a relay.Var, a name, or a name and a type, "
                f"found {type(variable).__name__}"
            )
        self._open("let").bindings.append((variable, as_expr(value)))
        return variable

    @contextmanager
    def if_scope(self, cond: Expr) -> Iterator[None]:
        """Builds the true branch; an `else_scope` must follow."""
        outer = self._open("if_scope")
        cond = as_expr(cond)
        with self._inner():
            yield
        outer.waiting = (cond, self._close("if_scope"))

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Builds the false branch of the `if_scope` directly before."""
        outer = self._scopes[-1]
        if outer.waiting is None:
            raise RelayError("else_scope needs an if_scope directly before it")
        with self._inner():
            yield
        outer.result = If(*outer.waiting, self._close("else_scope"))
        outer.waiting = None

    @contextmanager
    def _inner(self) -> Iterator[None]:
        """A block inside the current one; removed again after an error."""
        self._scopes.append(_Block())
        try:
            yield
        except BaseException:
            self._scopes.pop()
            raise

    def ret(self, value: Expr) -> None:
        """`value` is the result of the scope."""
        self._open("ret").result = as_expr(value)

    def type_of(self, expr: Expr) -> Type:
        """The type of `expr`, which may use the variables bound so far."""
        expr = as_expr(expr)
        if expr.ty is not None:
            return expr.ty
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        for scope in reversed(self._scopes):
            expr = scope.wrap(expr)
        typed = infer_expr(Function(tuple(free_vars(expr)), expr), self._module)
        return typed.body.checked_type

    def get(self) -> Expr:
        """The expression that was built."""
        if len(self._scopes) > 1:
            raise RelayError("get inside of an if_scope or else_scope: leave it first")
        return self._complete(self._scopes[0], "the program")

    def _open(self, action: str) -> _Block:
        """The innermost block, which must not be complete."""
        scope = self._scopes[-1]
        if scope.waiting is not None:
            raise RelayError(f"{action} between an if_scope and its else_scope")
        if scope.result is not None:
            raise RelayError(f"{action} after the result of the scope is set")
        return scope

    def _close(self, name: str) -> Expr:
        return self._complete(self._scopes.pop(), f"an {name}")

    @staticmethod
    def _complete(scope: _Block, what: str) -> Expr:
        if scope.waiting is not None:
            raise RelayError(f"{what} has an if_scope without an else_scope")
        if scope.result is None:
            raise RelayError(
                f"{what} has no result: call ret, or end it with if_scope and else_scope"
            )
        return scope.wrap(scope.result)
