"""One function being translated: the types of its expressions so far, and its errors.

Expressions are typed as they are made, by the machinery of `relay.check`, since the meaning of
`x[0]` and the element type of a number depend on types. The complete program is inferred once more.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relay import tree
from relay.check.generate import Generator
from relay.check.unify import Mismatch
from relay.errors import AnySpan, FrontendError, Span, TypeCheckError
from relay.frontend.python.source import Source
from relay.frontend.python.types import TypeReader
from relay.immutable import frozen
from relay.ir.expr import Constructor, Expr, GlobalVar, Op, Syntax, Var
from relay.ir.types import Occurs, Type

if TYPE_CHECKING:
    from relay.frontend.python.blocks import Block
    from relay.frontend.python.program import ProgramBuilder
    from relay.frontend.python.statics import Names

# A Python expression during translation: a Relay expression, or a value known at translation time.
# Tuples and lists may hold both.
Value = Any


@frozen
class Located:
    """What an error is about, if only its span is known."""

    span: AnySpan | None


@frozen
class Unassigned:
    """The value of a variable that cannot be used here, and why."""

    why: str
    hint: str | None = None


class Unit:
    """The state of a translation; subclasses in the other files add to it."""

    def __init__(self, program: ProgramBuilder, source: Source, names: Names) -> None:
        self.program = program
        self.source = source
        self.names = names
        self.reader = TypeReader(self.find_static, program.use_data)
        self.generator = Generator(program.module, program.signatures)
        self._alive: list[Expr] = []  # types are keyed by identity, so typed objects must live on

    def find_static(self, name: str) -> Value:
        """The value of a name outside the function."""
        return self.names.find(name)

    # --- spans and errors

    def span(self, node: ast.AST | Span) -> Span:
        return node if isinstance(node, Span) else self.source.span(node)

    def error(
        self,
        node: ast.AST | Span,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        """The error to raise. Earlier type errors are the likely cause, so they are raised
        instead."""
        self.check()
        return FrontendError.of(message, self.span(node), expected, found, hint)

    def report(
        self,
        node: ast.AST | Span,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note a type error and continue, so that one run shows every independent one."""
        about: Any = Located(self.span(node))
        self.generator.report(about, message, expected, found, hint)

    def check(self) -> None:
        """Raise the type errors that were found so far."""
        if found := self.generator.diagnostics.diagnostics:
            raise TypeCheckError(found)

    # --- types

    def type_of(self, expr: Expr) -> Type:
        """The type of an expression, as far as it is known."""
        if (found := self.generator.known(expr)) is None:
            found = tree.run(self.generator.infer(expr))
        self._alive.append(expr)
        return self.resolve(found)

    def typed(self, expr: Expr, ty: Type) -> Any:
        """`expr`, whose type is known."""
        self._alive.append(expr)
        self.generator.types[id(expr)] = ty
        return expr

    def resolve(self, ty: Type) -> Type:
        """`ty` with every known hole filled in."""
        try:
            return self.generator.solver.unifier.resolve(ty)
        except Mismatch:  # reported where it arose
            return ty

    def unify(self, found: Type, expected: Type, node: ast.AST | Span, message: str) -> Type:
        """Make two types equal, or note the error."""
        about = Located(self.span(node))
        return self.generator.solver.unify(found, expected, about, message)

    def fits(self, found: Type, expected: Type) -> Type | None:
        """Make two types equal if possible; their common form, or None."""
        try:
            common = self.generator.solver.unifier.unify(expected, found)
        except Mismatch:
            return None
        self.generator.solver.solve()
        return common

    def variable(self, name: str, ty: Type, span: AnySpan | None) -> Var:
        """A new variable. Its annotation is left to inference where the type has holes."""
        ty = self.resolve(ty)
        annotation = None if ty.occurs & Occurs.HOLE else ty
        made: Var = self.typed(Var(name, annotation, span=span), ty)
        return made

    def bind(self, name: str, value: Expr, node: ast.AST | Span, block: Block) -> Var:
        """A new variable that `block` binds to `value`."""
        span = self.span(node)
        variable = self.variable(name, self.type_of(value), span)
        block.bind(variable, value, span)
        return variable

    # --- expressions

    def placed(self, expr: Expr, node: ast.AST | Span, *known: Expr) -> Expr:
        """`expr`, newly made from `known` parts, with a span for its new parts."""
        span = self.span(node)

        def with_span(_: Syntax, made: Syntax) -> Syntax:
            if made.span is not None or isinstance(made, Op | Constructor | GlobalVar | Var):
                return made
            return tree.replace(made, span=span)

        result = tree.transform(expr, with_span, {part: part for part in known})
        self.type_of(result)
        return result
