"""Statements as contexts, and how control flow merges again.

A statement is an expression with a hole for what follows: `y = x + 1` is `let %y = %x + 1; …`.
A block is a list of such contexts, closed by a result, so functions may have any number of
statements.

    both branches continue    let %y = if (c) { … 1 } else { … 2 };    several variables: a tuple
    one branch continues      if (c) { result } else { … }             the rest is inside it
    both, but some return     let %join = fn (%y) { … };               the rest is a function
                              if (c) { if (d) { result } else { %join(1) } } else { %join(2) }
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from relay.errors import Span
from relay.frontend.python import statics
from relay.frontend.python.liveness import Liveness, Names
from relay.frontend.python.unit import Unassigned, Value
from relay.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay.ir.types import Type
from relay.tree import Steps

if TYPE_CHECKING:
    from relay.frontend.python.loops import Loop

# An expression, or the steps to one: contexts nest as deep as `elif` does.
Making = Expr | Steps[Expr]
Context = Callable[[Expr], Making]
Flow = Steps[Any]  # the scope behind a statement, or None when it is unreachable


@dataclass
class FunctionFrame:
    """A function being translated: the facts that all its scopes share."""

    name: str
    result: Type
    has_declared_result: bool
    liveness: Liveness
    locals: Names
    parent: FunctionFrame | None = None
    declared: dict[str, Type] = field(default_factory=dict)  # of annotated variables
    returned: bool = False  # whether there was a `return` with a value
    # inexhaustive matches with the missing cases: the likely reason when a path has no result
    partial: list[tuple[ast.Match, str]] = field(default_factory=list)


@dataclass
class Locals:
    """The values of the variables at one point."""

    frame: FunctionFrame
    values: dict[str, Value] = field(default_factory=dict)
    loop: Loop | None = None

    def copy(self) -> Locals:
        return Locals(self.frame, dict(self.values), self.loop)


@dataclass
class Block:
    """Nested contexts, and the result where the block does not continue."""

    contexts: list[Context] = field(default_factory=list)
    result: Callable[[], Making] | None = None
    leaves: bool = False  # whether some path through it does not reach its end

    def bind(self, variable: Var, value: Expr, span: Span) -> None:
        self.contexts.append(lambda rest: Let(variable, value, rest, span=span))

    def end(self, result: Callable[[], Making]) -> None:
        """Nothing follows; the result is made when the block is closed."""
        self.result = result
        self.leaves = True

    def close(self, rest: Expr | None = None) -> Steps[Expr]:
        """The block as an expression, with `rest` at its end if it has one."""
        made: Any = rest if self.result is None else self.result()
        for context in (None, *reversed(self.contexts)):
            made = made if context is None else context(made)
            if isinstance(made, GeneratorType):
                made = yield made
        return made  # type: ignore[no-any-return]


@dataclass
class Branch:
    """One branch: its statements, and the scope at its end if that is reachable."""

    block: Block
    flow: Locals | None


@dataclass
class Merge:
    """The variables at a control-flow merge: names, new variables, and their values per path."""

    names: list[str]
    variables: list[Var]
    values: list[list[Expr]]  # for each path, in the order of the names

    def tuple_from(self, path: int, span: Span) -> Expr:
        """The values of one path as one expression."""
        values = self.values[path]
        return values[0] if len(values) == 1 else Tuple(tuple(values), span=span)

    def bind_all(self, block: Block, make: Callable[[], Making], span: Span) -> None:
        """Bind the variables to the fields of the result of `make`."""

        def context(rest: Expr) -> Steps[Expr]:
            made: Any = make()
            if isinstance(made, GeneratorType):
                made = yield made
            if len(self.variables) == 1:
                return Let(self.variables[0], made, rest, span=span)
            whole = Var("merged" if self.variables else "_", span=span)
            for index, variable in reversed(list(enumerate(self.variables))):
                rest = Let(variable, TupleGetItem(whole, index, span=span), rest, span=span)
            return Let(whole, made, rest, span=span)

        block.contexts.append(context)


def join_function(
    name: str, variables: Sequence[Var], span: Span
) -> tuple[Var, Callable[[Expr, Expr], Expr]]:
    """A variable for the continuation as a function, and a function that binds it."""
    join = Var(name, span=span)

    def bind(rest: Expr, body: Expr) -> Expr:
        return Let(join, Function(tuple(variables), rest, span=span), body, span=span)

    return join, bind


def call(function: Var, args: Sequence[Expr], span: Span) -> Expr:
    return Call(function, tuple(args), span=span)


def differ(name: str, types: Sequence[Type], line: int) -> Unassigned:
    """The value of a variable that has different types on different paths."""
    shown = " or ".join(dict.fromkeys(map(str, types)))
    return Unassigned(
        f"`{name}` has not one type here: {shown}, depending on the way through line {line}",
        "a variable that is used after the ways meet has one type on all of them",
    )


def same_everywhere(values: Sequence[Value]) -> bool:
    return all(statics.same(values[0], other) for other in values[1:])
