"""Random graphs of every construct, typed or not, survive their own text, sharing included."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.types import (
    FuncType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeVar,
)
from relay.parser.parser import parse_module

MODULE = parse_module(
    '#[version = "0.0.5"] type List[A] { Cons(A, List[A]), Nil }'
    "def @f() { 1 } def @`two words`() { 1 }",
    "lists",
)
LIST, CONS, NIL = MODULE.get_type("List")
HINTS = ("x", "y", "x1", "two words", "0", "let", "%", "_", "")


class Graphs:
    """Makes expressions that need not have a type, but in which every variable is in scope.

    `pool` holds the expressions that may be used again here: those made in this scope, or in one
    around it.
    """

    def __init__(self, seed: int, size: int) -> None:
        self.rng = random.Random(seed)
        self.left = size

    def type(self, variables: list[TypeVar], depth: int = 0) -> Type:
        rng = self.rng
        kinds = [v for v in variables if v.kind is TypeKind.Type]
        match rng.randrange(3 if depth > 2 else 8):
            case 0:
                return TensorType((), rng.choice(("float32", "int64", "bool")))
            case 1:
                return TensorType(tuple(self.dimension(variables) for _ in range(rng.randrange(4))))
            case 2 if kinds:
                return rng.choice(kinds)
            case 3:
                fields = (self.type(variables, depth + 1) for _ in range(rng.randrange(3)))
                return TupleType(tuple(fields))
            case 4:
                return RefType(self.type(variables, depth + 1))
            case 5:
                return TypeCall(LIST, (self.type(variables, depth + 1),))
            case 6 | 7:
                params = self.type_params()
                inside = variables + params
                args = tuple(self.type(inside, depth + 1) for _ in range(rng.randrange(3)))
                return FuncType(args, self.type(inside, depth + 1), tuple(params))
        return TensorType((2,), "int8")

    def type_params(self) -> list[TypeVar]:
        kinds = (TypeKind.Type, TypeKind.ShapeVar)
        count = self.rng.choice((0, 0, 1, 2))
        return [TypeVar(self.rng.choice("AB"), self.rng.choice(kinds)) for _ in range(count)]

    def dimension(self, variables: list[TypeVar]) -> relay.ir.dims.Dim:
        rng = self.rng
        known = [v for v in variables if v.kind is TypeKind.ShapeVar]
        if not known or rng.random() < 0.3:
            return rng.choice((0, 1, 7, relay.Any()))
        made: relay.ir.dims.Dim = rng.choice(known)
        for _ in range(rng.randrange(3)):
            other = rng.choice((rng.choice(known), rng.randrange(1, 5)))
            made = rng.choice(
                (
                    relay.ir.dims.add,
                    relay.ir.dims.multiply,
                    relay.ir.dims.floor_divide,
                    relay.ir.dims.minimum,
                )
            )(made, other)
        return made

    def var(self, types: list[TypeVar]) -> Var:
        annotation = self.type(types) if self.rng.random() < 0.4 else None
        return Var(self.rng.choice(HINTS), annotation)

    def atom(self, scope: list[Var]) -> Expr:
        constants = [1, -2.5, True, np.arange(3), np.float16(0.1), np.float32("nan")]
        others = [GlobalVar("f"), GlobalVar("two words"), relay.op.get("add"), CONS, NIL]
        if scope and self.rng.random() < 0.6:
            return self.rng.choice(scope)
        if self.rng.random() < 0.3:
            return self.rng.choice(others)  # type: ignore[no-any-return]
        return relay.const(self.rng.choice(constants))

    def pattern(self, scope: list[Var], types: list[TypeVar], depth: int = 0) -> Pattern:
        """A pattern; its variables are added to `scope`."""
        choice = self.rng.randrange(5)
        if choice == 0 or depth > 2:
            return PatternWildcard()
        if choice < 3:
            scope.append(self.var(types))
            return PatternVar(scope[-1])
        count = self.rng.randrange(3)
        if choice == 3:
            parts = (self.pattern(scope, types, depth + 1) for _ in range(count))
            return PatternTuple(tuple(parts))
        inside = [self.pattern(scope, types, depth + 1) for _ in range(2)]
        return PatternConstructor(CONS, tuple(inside)) if count else PatternConstructor(NIL)

    def expr(self, scope: list[Var], pool: list[Expr], types: list[TypeVar]) -> Expr:
        self.left -= 1
        rng = self.rng
        if self.left <= 0 or rng.random() < 0.1:
            return self.atom(scope)
        if pool and rng.random() < 0.35:
            return rng.choice(pool)

        def here() -> Expr:
            return self.expr(scope, pool, types)

        def inside(added: list[Var]) -> Expr:
            return self.expr(scope + added, pool.copy(), types)

        def several() -> tuple[Expr, ...]:
            return tuple(here() for _ in range(rng.randrange(4)))

        def attributes() -> dict[str, object] | None:
            values = (1, 2.5, 'a "b"\n', (1, (None,)), {"c d": True})
            return {"a": rng.choice(values), "b c": 0} if rng.random() < 0.2 else None

        def call() -> Expr:
            type_args = tuple(self.type(types) for _ in range(rng.choice((0, 0, 1))))
            given = attributes()
            attrs = None if given is None else relay.DictAttrs(given)
            return Call(here(), several(), attrs, type_args)

        def function() -> Expr:
            params = self.type_params()
            known = types + params
            variables = [self.var(known) for _ in range(rng.randrange(3))]
            body = self.expr(scope + variables, pool.copy(), known)
            result = self.type(known) if rng.random() < 0.5 else None
            return Function(variables, body, result, params, attributes())

        def let() -> Expr:
            variable = self.var(types)
            value = here()
            return Let(variable, value, inside([variable]))

        def recursive() -> Expr:
            """A function that calls itself shares something with what follows."""
            variable, param = self.var(types), self.var(types)
            shared = [*pool, relay.exp(variable), Tuple([variable, variable])]
            body = self.expr([*scope, variable, param], shared.copy(), types)
            value = Function([param], body)
            if rng.random() < 0.5:
                shared.append(value)
            return Let(variable, value, self.expr([*scope, variable], shared, types))

        def match() -> Expr:
            data = here()
            clauses = []
            for _ in range(rng.randrange(3)):
                added: list[Var] = []
                pattern = self.pattern(added, types)
                clauses.append(Clause(pattern, inside(added)))
            return Match(data, clauses, rng.random() < 0.5)

        makers: tuple[Callable[[], Expr], ...] = (
            call,
            function,
            let,
            recursive,
            match,
            lambda: If(here(), inside([]), inside([])),
            lambda: relay.add(here(), here()),
            lambda: relay.exp(here()),
            lambda: Call(CONS, (here(), here())),
            lambda: Call(NIL, ()),
            lambda: Tuple(several()),
            lambda: TupleGetItem(here(), rng.randrange(3)),
            lambda: RefCreate(here()),
            lambda: RefRead(here()),
            lambda: RefWrite(here(), here()),
        )
        made = rng.choice(makers)()
        pool.append(made)
        return made


def graph(seed: int) -> Expr:
    graphs = Graphs(seed, size=(10, 40, 160)[seed % 3])
    free = [relay.var("x"), relay.var("y", shape=(2,))]
    return graphs.expr(free, [], [TypeVar("A"), relay.ShapeVar("n")])


@pytest.mark.parametrize("start", range(0, 300, 30))
def test_random_graphs_survive_their_own_text(start: int) -> None:
    for seed in range(start, start + 30):
        expr = graph(seed)
        found = relay.parse_expr(expr.astext(), init_module=MODULE)
        assert_structural_equal(found, expr, map_free_vars=True)
