"""Paths of a program that end the run with a message."""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.errors import AnySpan, FrontendError
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    Var,
    const,
)
from relay.ir.module import IRModule
from relay.ir.types import TupleType, Type, TypeCall
from relay.op import require


class Misfit(FrontendError):
    """What a node is given does not fit it. In a branch this ends a run that takes it."""


def dead_end(
    module: IRModule,
    types: Sequence[Type],
    reason: FrontendError,
    span: AnySpan | None,
    found: Expr | None = None,
) -> Expr:
    """An expression of these types that ends the run; `span` is where paths part. `{}` in what the
    reason found is the scalar `found`."""
    ty = types[0] if len(types) == 1 else TupleType(tuple(types))
    first = reason.diagnostics[0]
    cons, nil = module.get_constructor("Cons"), module.get_constructor("Nil")
    empty, ended = (Var(name, TypeCall(cons.belong_to, (ty,))) for name in ("none", "ended"))
    texts = (first.message, first.expected or "", first.found or "")
    end = tree.replace(require(empty, const(False), *texts, found), span=first.span or span)
    value = Var("value")
    taken = PatternConstructor(cons, (PatternVar(value), PatternWildcard()))
    match = Match(ended, (Clause(taken, value),), complete=False, span=span)
    return Let(empty, Call(nil, ()), Let(ended, end, match))
