"""One function being translated: the types of its expressions so far, and its errors.

Expressions are typed as they are made, by the machinery of `relay.check`: what `x[0]` means, or
which element type a number takes, depends on types. The program is inferred once more as a whole
when it is complete, so nothing that is decided here has to be believed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relay import tree
from relay.check.generate import Generator
from relay.check.unify import Mismatch
from relay.errors import AnySpan, Diagnostic, FrontendError, Span, TypeCheckError
from relay.frontend.python.source import Source
from relay.frontend.python.types import TypeReader
from relay.immutable import frozen
from relay.ir.expr import Constructor, Expr, GlobalVar, Op, Syntax, Var
from relay.ir.types import Occurs, Type

if TYPE_CHECKING:
    from relay.frontend.python.program import Program
    from relay.frontend.python.statics import Names

# What a Python expression is during translation: an expression of Relay, or a value that is known
# now. Tuples and lists may hold both.
Value = Any


@frozen
class Place:
    """Something to point at."""

    span: AnySpan | None


@frozen
class Unassigned:
    """What a variable holds that has no value here, or not one that can be used, and why."""

    why: str
    hint: str | None = None


class Unit:
    """The state of a translation; the other files of this folder each add an idea to it."""

    def __init__(self, program: Program, source: Source, names: Names) -> None:
        self.program = program
        self.source = source
        self.names = names
        self.reader = TypeReader(self.find_static, program.use_data)
        self.generator = Generator(program.module, program.signatures)
        self._alive: list[Expr] = []  # types are kept by identity, so nothing typed may vanish

    def find_static(self, name: str) -> Value:
        """The value of a name outside of the function."""
        return self.names.find(name)

    # --- places and errors

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node)

    def error(
        self,
        node: ast.AST | Span,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        """The error to raise. Type errors that were found before are the likely cause, so they are
        raised instead."""
        self.check()
        span = node if isinstance(node, Span) else self.span(node)
        return FrontendError(Diagnostic(message, span, expected, found, hint))

    def report(
        self,
        node: ast.AST | Span,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Note a type error and go on, so that one run shows every independent one."""
        span = node if isinstance(node, Span) else self.span(node)
        self.generator.report(Place(span), message, expected, found, hint)  # type: ignore[arg-type]

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
        """`ty` with everything filled in that is known by now."""
        try:
            return self.generator.solver.unifier.resolve(ty)
        except Mismatch:  # reported where it arose
            return ty

    def unify(self, found: Type, expected: Type, node: ast.AST | Span, message: str) -> Type:
        """Make two types equal, or note the error."""
        span = node if isinstance(node, Span) else self.span(node)
        return self.generator.solver.unify(found, expected, Place(span), message)

    def fits(self, found: Type, expected: Type) -> Type | None:
        """Make two types equal if that can be; their common form, or None."""
        try:
            common = self.generator.solver.unifier.unify(expected, found)
        except Mismatch:
            return None
        self.generator.solver.solve()
        return common

    def variable(self, name: str, ty: Type, span: AnySpan | None) -> Var:
        """A new variable. Its annotation is left to inference where the type is not all known."""
        ty = self.resolve(ty)
        annotation = None if ty.occurs & Occurs.HOLE else ty
        made: Var = self.typed(Var(name, annotation, span=span), ty)
        return made

    # --- expressions

    def placed(self, expr: Expr, node: ast.AST | Span, *known: Expr) -> Expr:
        """`expr`, newly made from `known` parts, with a place in the source for its new parts."""
        span = node if isinstance(node, Span) else self.span(node)

        def with_span(_: Syntax, made: Syntax) -> Syntax:
            if made.span is not None or isinstance(made, Op | Constructor | GlobalVar | Var):
                return made
            return tree.replace(made, span=span)

        seeds: dict[Syntax, Syntax] = {part: part for part in known}
        result: Any = tree.transform(expr, with_span, seeds)
        self.type_of(result)
        return result  # type: ignore[no-any-return]
