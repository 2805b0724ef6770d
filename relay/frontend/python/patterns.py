"""`match` on data types, lists, tuples and scalars.

    case Node(left, right):         case Node(left=l):         fields in order, or by name
    case [x, *rest]:  case []:      a list of the prelude      case (a, b):   a tuple
    case Some(x):     case None:    an option                  case _:        anything
    case Leaf() | Empty():          several patterns; the case is translated for each of them
    case Node(_, _) as tree:        the whole, beside its parts
    case 0:  case True:             a scalar of that value     case [x, *_] if x > 0:   a guard

Patterns destructure values; a number in one, and a guard, are tests that follow. The cases behind a
case with a test are a function, called where the pattern does not match and where the test fails.
Where no case matches, control continues behind the match, as in Python.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from relay import tree
from relay.check.exhaustive import unmatched_cases
from relay.errors import Span, did_you_mean
from relay.frontend.python import statics
from relay.frontend.python.blocks import Block, Branch, Flow, Locals, call, join_function
from relay.frontend.python.branches import Branches, may_act
from relay.frontend.python.declarations import declaration_of, is_case
from relay.frontend.python.standard import Cons, Nil, Nothing
from relay.frontend.python.unit import Value
from relay.ir import expr as ir
from relay.ir.types import IncompleteType, TensorType, TupleType, Type, TypeCall, substitute
from relay.tree import Steps


@dataclass
class Fit:
    """A matched pattern: its variables, and the tests that follow."""

    values: dict[str, Value] = field(default_factory=dict)
    tests: list[tuple[ir.Var, ast.pattern]] = field(default_factory=list)  # equal to a value


class Patterns(Branches):
    """Translates `match` statements."""

    @abstractmethod
    def statements(self, nodes: Sequence[ast.stmt], scope: Locals, block: Block) -> Flow:
        """Statements, one after the other."""

    @abstractmethod
    def assign(
        self, target: ast.expr, value: Value, scope: Locals, block: Block, node: ast.stmt
    ) -> Steps[None]:
        """`target = value`"""

    def match(self, node: ast.Match, scope: Locals, block: Block) -> Flow:
        subject = yield self.expression(node.subject, scope)
        if statics.is_static(subject) and not isinstance(subject, tuple | list):
            return (yield self._by_value(node, node.cases, subject, scope, block))
        subject = yield self.lift(subject, node.subject)
        if not ir.is_atom(subject):
            subject = self.bind("subject", subject, node.subject, block)
        if isinstance(self.type_of(subject), TensorType):
            return (yield self._by_value(node, node.cases, subject, scope, block))
        cases = yield self._apart(node.cases, scope)
        return (yield self._by_constructor(node, cases, subject, scope, block))

    def _apart(self, cases: Sequence[ast.match_case], scope: Locals) -> Steps[Any]:
        """The cases, with alternatives that contain numbers as separate cases: when a number
        differs, the next alternative is tried."""
        found: list[ast.match_case] = []
        for case in cases:
            alternatives = yield self._alternatives(case.pattern, scope)
            if len(alternatives) == 1 or not any(map(_is_value, ast.walk(case.pattern))):
                found.append(case)
                continue
            if case.guard is not None:
                raise self.error(
                    case.guard,
                    "a guard behind several patterns with numbers in them",
                    hint="write a case for each pattern",
                )
            found += [ast.match_case(alternative, None, case.body) for alternative in alternatives]
        return found

    def _by_constructor(
        self,
        node: ast.Match,
        cases: Sequence[ast.match_case],
        subject: ir.Expr,
        scope: Locals,
        block: Block,
    ) -> Flow:
        """The cases up to the first with a test, as one `match`; the others behind it."""
        span = self.span(node)
        branches: list[Branch] = []
        patterns: list[ir.Pattern] = []
        tests: list[Value] = []  # True, or an expression
        rest: Sequence[ast.match_case] = ()
        for index, case in enumerate(cases):
            alternatives = yield self._alternatives(case.pattern, scope)
            for alternative in alternatives:
                fit = Fit()
                pattern = yield self._pattern(
                    alternative, self.type_of(subject), subject, scope, fit
                )
                self.generator.bind_pattern(pattern, self.type_of(subject))
                inner, inside = scope.copy(), Block()
                inner.values |= fit.values
                test = yield self._test(case, fit, inner)
                tests.append((yield self.lift(test, case.pattern)) if test is False else test)
                flow = yield self.statements(case.body, inner, inside)
                branches.append(Branch(inside, flow))
                patterns.append(pattern)
            if any(test is not True for test in tests):
                rest = cases[index + 1 :]
                break
        missing = self._missing(subject, patterns)
        goes_on = bool(missing) or any(test is not True for test in tests)
        if goes_on:
            inner, inside = scope.copy(), Block()
            if rest:
                flow = yield self._by_constructor(node, rest, subject, inner, inside)
            else:
                flow = inner
                scope.frame.partial.append((node, missing or "where no test holds"))
            branches.append(Branch(inside, flow))

        def build(results: list[ir.Expr]) -> ir.Expr:
            if not goes_on:
                return _match(subject, patterns, results, span)
            *matched, following = results
            otherwise, bind = join_function("otherwise", (), span)

            def go_on() -> ir.Expr:
                """The continuation where no case matches; a new call each time, so that none is
                shared between branches."""
                return following if ir.is_atom(following) else call(otherwise, (), span)

            ends = [
                result if test is True else ir.If(test, result, go_on(), span=span)
                for test, result in zip(tests, matched, strict=True)
            ]
            if missing:
                made = _match(
                    subject, [*patterns, ir.PatternWildcard(span=span)], [*ends, go_on()], span
                )
            else:
                made = _match(subject, patterns, ends, span)
            return made if ir.is_atom(following) else bind(following, made)

        acts = any(map(may_act, tests))
        return (yield self.join(branches, build, node, block, acts))

    def _test(self, case: ast.match_case, fit: Fit, scope: Locals) -> Steps[Any]:
        """The tests of a case besides the pattern."""
        parts: list[Value] = yield tree.gather(
            self._equals(variable, part, scope) for variable, part in fit.tests
        )
        if case.guard is not None:
            guard = yield self.expression(case.guard, scope)
            parts.append(self.condition(guard, case.guard))
        return (yield self.chain(parts, True, case.pattern))

    # --- scalars

    def _by_value(
        self,
        node: ast.Match,
        cases: Sequence[ast.match_case],
        subject: Value,
        scope: Locals,
        block: Block,
        is_not: bool | None = None,
    ) -> Flow:
        """A match on a scalar, or on a Python value: one test after the other. `is_not` is the bool
        that the subject is known not to be."""
        if not cases:
            return scope
        case, *others = cases
        inner = scope.copy()
        said = _bool_of(case.pattern)
        if said is not None and is_not is not None and said is not is_not:
            parts: list[Value] = [True]
        else:
            parts = [(yield self._fits_value(case.pattern, subject, inner))]
        known = said if case.guard is None else None
        if case.guard is not None:
            guard = yield self.expression(case.guard, inner)
            parts.append(self.condition(guard, case.guard))
        test = yield self.chain(parts, True, case.pattern)
        if test is True:
            return (yield self.statements(case.body, inner, block))
        if test is False:
            return (yield self._by_value(node, others, subject, scope, block))
        then, other = Block(), Block()
        branches = [Branch(then, (yield self.statements(case.body, inner, then)))]
        flow = yield self._by_value(node, others, subject, scope.copy(), other, known)
        branches.append(Branch(other, flow))
        span = self.span(node)

        def build(parts: list[ir.Expr]) -> ir.Expr:
            return ir.If(test, *parts, span=span)

        return (yield self.join(branches, build, node, block, may_act(test)))

    def _fits_value(self, node: ast.pattern, subject: Value, scope: Locals) -> Steps[Value]:
        """Whether a scalar matches a pattern; `as` adds to the scope."""
        match node:
            case ast.MatchAs(pattern=None, name=name):
                fits: Value = True
            case ast.MatchAs(pattern=ast.pattern() as inner, name=name):
                fits = yield self._fits_value(inner, subject, scope)
            case ast.MatchOr():
                parts = yield tree.gather(
                    self._fits_value(part, subject, scope) for part in node.patterns
                )
                return (yield self.chain(parts, False, node))
            case _:
                return (yield self._equals(subject, node, scope))
        if name is not None:
            scope.values[name] = subject
        return fits

    def _equals(self, subject: Value, node: ast.pattern, scope: Locals) -> Steps[Value]:
        """Whether a scalar equals the value of a pattern."""
        match node:
            case ast.MatchValue():
                value = yield self.expression(node.value, scope)
            case ast.MatchSingleton():
                value = node.value
                if not isinstance(subject, ir.Expr):
                    return subject is value
            case _:
                found = (
                    str(self.type_of(subject)) if isinstance(subject, ir.Expr) else repr(subject)
                )
                raise self.error(node, "the pattern takes apart what has no parts", found=found)
        return (yield self.comparison(ast.Eq(), subject, value, node))

    def _missing(self, subject: ir.Expr, patterns: list[ir.Pattern]) -> str:
        """The cases that no pattern covers."""
        unit = ir.Tuple(())
        clauses = tuple(ir.Clause(pattern, unit) for pattern in patterns)
        cases = unmatched_cases(ir.Match(subject, clauses), self.program.module)
        return ", ".join(f"`{case}`" for case in cases)

    def _alternatives(self, node: ast.pattern, scope: Locals) -> Steps[list[ast.pattern]]:
        """Equivalent patterns without `|`."""
        match node:
            case ast.MatchOr():
                found = []
                for part in node.patterns:
                    found.extend((yield self._alternatives(part, scope)))
                return found
            case ast.MatchClass() | ast.MatchSequence() | ast.MatchAs(pattern=ast.pattern()):
                below = _below(node)
                choices = yield tree.gather(self._alternatives(part, scope) for part in below)
                return [_rebuilt(node, chosen) for chosen in product(*choices)]
        return [node]

    def _pattern(
        self, node: ast.pattern, ty: Type, whole: ir.Expr | None, scope: Locals, fit: Fit
    ) -> Steps[Any]:
        """A pattern for values of type `ty`; its variables are added to `fit`. `whole` is the
        value, if it is bound to a name."""
        span = self.span(node)
        match node:
            case ast.MatchAs(pattern=None, name=None):
                return ir.PatternWildcard(span=span)
            case ast.MatchAs(pattern=None, name=str() as name):
                if whole is not None:
                    fit.values[name] = whole
                    return ir.PatternWildcard(span=span)
                fit.values[name] = variable = ir.Var(name, span=span)
                return ir.PatternVar(variable, span=span)
            case ast.MatchAs(pattern=ast.pattern() as inner, name=name):
                if whole is None:
                    raise self.error(
                        node,
                        "`as` names the whole of a match, not a part of it",
                        hint="match the part once more inside of the case",
                    )
                fit.values[str(name)] = whole
                return (yield self._pattern(inner, ty, whole, scope, fit))
            case ast.MatchSingleton(value=None):
                return self._constructor(Nothing, [], node)
            case ast.MatchValue() | ast.MatchSingleton():
                if not isinstance(known := self.resolve(ty), TensorType | IncompleteType):
                    raise self.error(
                        node, "only scalars are compared in a pattern", "a number", str(known)
                    )
                tested = ir.Var("value", span=span)
                fit.tests.append((tested, node))
                return ir.PatternVar(tested, span=span)
            case ast.MatchSequence():
                return (yield self._sequence(node, ty, scope, fit))
            case ast.MatchClass():
                return (yield self._class(node, ty, scope, fit))
        raise self.error(node, "this pattern has no meaning in a Relay function")

    def _constructor(self, cls: type, patterns: list[ir.Pattern], node: ast.pattern) -> ir.Pattern:
        constructor = self.constructor(cls)
        return ir.PatternConstructor(constructor, tuple(patterns), span=self.span(node))

    def _inputs(self, cls: type, ty: Type) -> tuple[Type, ...]:
        """The types of the fields of a constructor, for values of type `ty`."""
        constructor, ty = self.constructor(cls), self.resolve(ty)
        if not isinstance(ty, TypeCall) or ty.func != constructor.belong_to:
            return constructor.inputs
        variables = self.program.module.type_definition(constructor.belong_to.name_hint).type_vars
        arguments = dict(zip(variables, ty.args, strict=True))
        return tuple(substitute(field, arguments) for field in constructor.inputs)

    def _class(self, node: ast.MatchClass, ty: Type, scope: Locals, fit: Fit) -> Steps[Any]:
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
        patterns: list[ir.Pattern] = []
        for name, part_type in zip(names, inputs, strict=True):
            if name in given:
                patterns.append((yield self._pattern(given[name], part_type, None, scope, fit)))
            else:
                patterns.append(ir.PatternWildcard(span=self.span(node)))
        return self._constructor(cls, patterns, node)

    def _sequence(self, node: ast.MatchSequence, ty: Type, scope: Locals, fit: Fit) -> Steps[Any]:
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
            patterns = yield tree.gather(
                self._pattern(part, part_type, None, scope, fit)
                for part, part_type in zip(node.patterns, ty.fields, strict=True)
            )
            return ir.PatternTuple(tuple(patterns), span=self.span(node))
        if not self.is_list(ty):
            raise self.error(node, "only tuples and lists have parts in order", found=str(ty))
        parts = list(node.patterns)
        end: ir.Pattern = self._constructor(Nil, [], node)
        if parts and isinstance(parts[-1], ast.MatchStar):
            star: Any = parts.pop()
            rest = ast.copy_location(ast.MatchAs(name=star.name), star)
            end = yield self._pattern(rest, ty, None, scope, fit)
        element = ty.args[0]  # type: ignore[attr-defined]
        for part in reversed(parts):
            if isinstance(part, ast.MatchStar):
                raise self.error(part, "`*rest` stands at the end of a pattern of a list")
            first = yield self._pattern(part, element, None, scope, fit)
            end = self._constructor(Cons, [first, end], node)
        return end


def _match(
    subject: ir.Expr, patterns: Sequence[ir.Pattern], results: Sequence[ir.Expr], span: Span
) -> ir.Expr:
    clauses = [
        ir.Clause(pattern, result, span=pattern.span)
        for pattern, result in zip(patterns, results, strict=True)
    ]
    return ir.Match(subject, tuple(clauses), span=span)


def _is_value(node: ast.AST) -> bool:
    """Whether it is a pattern that compares."""
    return isinstance(node, ast.MatchValue) or (
        isinstance(node, ast.MatchSingleton) and node.value is not None
    )


def _bool_of(node: ast.pattern) -> bool | None:
    """The bool of a pattern `True` or `False`; None for others."""
    value = node.value if isinstance(node, ast.MatchSingleton) else None
    return value if isinstance(value, bool) else None


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
