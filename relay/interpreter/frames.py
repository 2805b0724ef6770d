"""Frames of the interpreter, closures over them, and the running module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.errors import EvaluationError, did_you_mean
from relay.interpreter.promises import Extents
from relay.interpreter.values import ObjectValue, Value
from relay.ir.expr import Call, Expr, Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.scopes import Scope, Scopes

# Called with every call of an operator, its arguments and its result.
Watch = Callable[[Call, Sequence[Value], Value], None]


class Stack:
    """The stack of one evaluation, its limit, and who is told of operators."""

    __slots__ = ("limit", "waiting", "watch")

    def __init__(self, limit: int | None, watch: Watch | None = None) -> None:
        self.waiting: list[Any] = []
        self.watch = watch
        self.limit = sys.maxsize if limit is None else limit


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """One call of a function: the values of its variables and of its shared expressions.

    `scope` is the body of that function, `parent` a frame of the enclosing function, `stack` that
    of the current evaluation.
    """

    program: RunningModule
    scopes: Scopes
    scope: Scope
    parent: Frame | None
    values: dict[Expr, Value]
    extents: Extents
    stack: Stack

    def lookup(self, variable: Var) -> Value:
        """The value of a variable, here or in an enclosing function."""
        frame: Frame | None = self
        while frame is not None:
            if (value := frame.values.get(variable)) is not None:
                return value
            frame = frame.parent
        message = f"variable `%{variable.name_hint}` has no value here"
        raise EvaluationError.of(message, variable.span)

    def home(self, expr: Expr) -> Frame:
        """The frame that a shared expression is evaluated in."""
        scope = self.scopes.home(expr).function
        frame = self
        while frame.scope is not scope and frame.parent is not None:
            frame = frame.parent
        return frame


class Closure(ObjectValue):
    """A function and the frame it was made in. Python can call it."""

    __slots__ = ("frame", "function", "name")

    def __init__(self, function: Function, frame: Frame, name: str = "a function") -> None:
        self.function = function
        self.frame = frame
        self.name = name

    def __call__(self, *args: Any) -> Value:
        from relay.interpreter.evaluate import call  # evaluation imports this module

        return call(self, args)


class RunningModule:
    """A running module. Each of its functions is a closure, made on first use."""

    __slots__ = ("_closures", "module")

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._closures: dict[str, Closure] = {}

    def outermost(self, expr: Expr, stack: Stack) -> Frame:
        """The frame for an expression outside of functions."""
        scopes = Scopes(expr)
        return Frame(self, scopes, scopes.root, None, {}, {}, stack)

    def closure(self, variable: GlobalVar, stack: Stack) -> Closure:
        """The function of that name."""
        name = variable.name_hint
        if name not in self._closures:
            if name not in self.module:
                message = f"the module has no function `@{name}`"
                hint = did_you_mean(name, (known.name_hint for known in self.module))
                raise EvaluationError.of(message, variable.span, hint=hint)
            function = self.module[name]
            self._closures[name] = Closure(function, self.outermost(function, stack), f"`@{name}`")
        return self._closures[name]
