"""`match` on data types, lists and tuples.

    case Node(left, right):         case Node(left=l):         fields in order, or by name
    case [x, *rest]:  case []:      a list of the prelude      case (a, b):   a tuple
    case Some(x):     case None:    an option                  case _:        anything
    case Leaf() | Empty():          several patterns; the case is translated for each of them
    case Node(_, _) as tree:        the whole, beside its parts

A match that leaves cases out goes on behind it, as in Python.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any

from relay.check.exhaustive import unmatched_cases
from relay.errors import did_you_mean
from relay.frontend.python.blocks import Block, Branch, Flow, Scope
from relay.frontend.python.branches import Branches
from relay.frontend.python.declarations import declaration_of, is_case
from relay.frontend.python.standard import Cons, Nil, Nothing
from relay.frontend.python.unit import Value
from relay.ir.expr import (
    Clause,
    Expr,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
    is_atom,
)
from relay.ir.types import TupleType, Type, TypeCall, substitute
from relay.tree import Steps

Bindings = dict[str, Any]


class Patterns(Branches):
    """Translates `match` statements."""

    @abstractmethod
    def statements(self, nodes: Sequence[ast.stmt], scope: Scope, block: Block) -> Flow:
        """Statements, one after the other."""

    @abstractmethod
    def assign(
        self, target: ast.expr, value: Value, scope: Scope, block: Block, node: ast.stmt
    ) -> Steps[None]:
        """`target = value`"""

    def match(self, node: ast.Match, scope: Scope, block: Block) -> Flow:
        subject = yield self.lift((yield self.expression(node.subject, scope)), node.subject)
        span = self.span(node)
        if not is_atom(subject):
            name = self.variable("subject", self.type_of(subject), self.span(node.subject))
            block.bind(name, subject, span)
            subject = name
        branches: list[Branch] = []
        patterns: list[Pattern] = []
        for case in node.cases:
            alternatives = yield self._alternatives(case.pattern, scope)
            for alternative in alternatives:
                pattern, bindings = yield self._pattern(
                    alternative, self.type_of(subject), subject, scope
                )
                self.generator.bind_pattern(pattern, self.type_of(subject))
                inner, inside = scope.copy(), Block()
                inner.values |= bindings
                flow = yield self.statements(case.body, inner, inside)
                branches.append(Branch(inside, flow))
                patterns.append(pattern)
        if missing := self._missing(subject, patterns):
            branches.append(Branch(Block(), scope.copy()))
            patterns.append(PatternWildcard(span=span))
            scope.frame.partial.append((node, missing))

        def build(results: list[Expr]) -> Expr:
            clauses = [
                Clause(pattern, result, span=pattern.span)
                for pattern, result in zip(patterns, results, strict=True)
            ]
            return Match(subject, tuple(clauses), span=span)

        return (yield self.join(branches, build, node, block))

    def _missing(self, subject: Expr, patterns: list[Pattern]) -> str:
        """The cases that no pattern takes."""
        unit = Tuple(())
        clauses = tuple(Clause(pattern, unit) for pattern in patterns)
        cases = unmatched_cases(Match(subject, clauses), self.program.module)
        return ", ".join(f"`{case}`" for case in cases)

    def _alternatives(self, node: ast.pattern, scope: Scope) -> Steps[list[ast.pattern]]:
        """Patterns without `|` that together say the same."""
        match node:
            case ast.MatchOr():
                found = []
                for part in node.patterns:
                    found.extend((yield self._alternatives(part, scope)))
                return found
            case ast.MatchClass() | ast.MatchSequence() | ast.MatchAs(pattern=ast.pattern()):
                below = _below(node)
                choices = []
                for part in below:
                    choices.append((yield self._alternatives(part, scope)))
                return [_rebuilt(node, chosen) for chosen in product(*choices)]
        return [node]

    def _pattern(self, node: ast.pattern, ty: Type, whole: Expr | None, scope: Scope) -> Steps[Any]:
        """A pattern for values of type `ty`, and the variables that it binds. `whole` is the value
        itself where it has a name."""
        span = self.span(node)
        match node:
            case ast.MatchAs(pattern=None, name=None):
                return PatternWildcard(span=span), {}
            case ast.MatchAs(pattern=None, name=str() as name):
                if whole is not None:
                    return PatternWildcard(span=span), {name: whole}
                variable = Var(name, span=span)
                return PatternVar(variable, span=span), {name: variable}
            case ast.MatchAs(pattern=ast.pattern() as inner, name=name):
                if whole is None:
                    raise self.error(
                        node,
                        "`as` names the whole of a match, not a part of it",
                        hint="match the part once more inside of the case",
                    )
                pattern, bindings = yield self._pattern(inner, ty, whole, scope)
                return pattern, bindings | {str(name): whole}
            case ast.MatchSingleton(value=None):
                return self._constructor(Nothing, [], node), {}
            case ast.MatchSequence():
                return (yield self._sequence(node, ty, scope))
            case ast.MatchClass():
                return (yield self._class(node, ty, scope))
        raise self.error(node, "this pattern has no meaning in a Relay function")

    def _parts(
        self, nodes: list[ast.pattern], types: list[Type], scope: Scope
    ) -> Steps[tuple[list[Pattern], Bindings]]:
        patterns: list[Pattern] = []
        bindings: Bindings = {}
        for node, ty in zip(nodes, types, strict=True):
            pattern, bound = yield self._pattern(node, ty, None, scope)
            patterns.append(pattern)
            bindings |= bound
        return patterns, bindings

    def _constructor(self, cls: type, patterns: list[Pattern], node: ast.pattern) -> Pattern:
        constructor = self.constructor(cls)
        return PatternConstructor(constructor, tuple(patterns), span=self.span(node))

    def _inputs(self, cls: type, ty: Type) -> tuple[Type, ...]:
        """The types of the fields of a constructor, for values of type `ty`."""
        constructor, ty = self.constructor(cls), self.resolve(ty)
        if not isinstance(ty, TypeCall) or ty.func != constructor.belong_to:
            return constructor.inputs
        variables = self.program.module.type_definition(constructor.belong_to.name_hint).type_vars
        arguments = dict(zip(variables, ty.args, strict=True))
        return tuple(substitute(field, arguments) for field in constructor.inputs)

    def _class(self, node: ast.MatchClass, ty: Type, scope: Scope) -> Steps[Any]:
        cls = yield self.expression(node.cls, scope)
        if not is_case(cls):
            raise self.error(
                node.cls,
                "this is no constructor of a data type",
                "a relay.data class, or one of relay.prelude",
                ast.unparse(node.cls),
            )
        declaration = declaration_of(cls)
        assert declaration is not None
        case = declaration.case(cls)
        assert case is not None
        names = [f.name for f in case.fields]
        if len(node.patterns) > len(names):
            raise self.error(
                node,
                f"too many fields in a pattern of `{case.name}`",
                f"{case.name}({', '.join(names)})",
                str(len(node.patterns)),
            )
        given = dict(zip(names, node.patterns, strict=False))
        for name, part in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
            if name not in names or name in given:
                what = "is matched twice" if name in given else f"is no field of `{case.name}`"
                raise self.error(node, f"`{name}` {what}", hint=did_you_mean(name, names))
            given[name] = part
        inputs = self._inputs(cls, ty)
        patterns: list[Pattern] = []
        bindings: Bindings = {}
        for name, field in zip(names, inputs, strict=True):
            if name in given:
                pattern, bound = yield self._pattern(given[name], field, None, scope)
                patterns.append(pattern)
                bindings |= bound
            else:
                patterns.append(PatternWildcard(span=self.span(node)))
        return self._constructor(cls, patterns, node), bindings

    def _sequence(self, node: ast.MatchSequence, ty: Type, scope: Scope) -> Steps[Any]:
        """`(a, b)` of a tuple, `[a, *rest]` of a list."""
        ty = self.resolve(ty)
        if isinstance(ty, TupleType):
            if len(ty.fields) != len(node.patterns):
                raise self.error(
                    node,
                    "the pattern does not fit the tuple",
                    f"{len(ty.fields)} fields",
                    f"{len(node.patterns)}",
                )
            patterns, bindings = yield self._parts(node.patterns, list(ty.fields), scope)
            return PatternTuple(tuple(patterns), span=self.span(node)), bindings
        if not self.is_list(ty):
            raise self.error(node, "only tuples and lists have parts in order", found=str(ty))
        parts = list(node.patterns)
        end: Pattern = self._constructor(Nil, [], node)
        bindings = {}
        if parts and isinstance(parts[-1], ast.MatchStar):
            star: Any = parts.pop()
            rest = ast.copy_location(ast.MatchAs(name=star.name), star)
            end, bindings = yield self._pattern(rest, ty, None, scope)
        element = ty.args[0]  # type: ignore[attr-defined]
        for part in reversed(parts):
            if isinstance(part, ast.MatchStar):
                raise self.error(part, "`*rest` stands at the end of a pattern of a list")
            first, bound = yield self._pattern(part, element, None, scope)
            bindings = bound | bindings
            end = self._constructor(Cons, [first, end], node)
        return end, bindings


def _below(node: Any) -> list[ast.pattern]:
    match node:
        case ast.MatchClass():
            return [*node.patterns, *node.kwd_patterns]
        case ast.MatchSequence():
            return list(node.patterns)
    return [node.pattern]


def _rebuilt(node: Any, parts: tuple[ast.pattern, ...]) -> ast.pattern:
    """`node` with other patterns below it."""
    made: ast.pattern
    match node:
        case ast.MatchClass():
            count = len(node.patterns)
            made = ast.MatchClass(
                node.cls, list(parts[:count]), node.kwd_attrs, list(parts[count:])
            )
        case ast.MatchSequence():
            made = ast.MatchSequence(list(parts))
        case _:
            made = ast.MatchAs(parts[0], node.name)
    return ast.copy_location(made, node)
