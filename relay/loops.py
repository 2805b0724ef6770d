"""`while_loop`: loops as recursive functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay.builder import ScopeBuilder
from relay.errors import RelayError
from relay.ir.expr import Expr, Function, Let, Tuple, TupleWrapper, Var, as_expr, var
from relay.ir.types import TupleType, Type


def while_loop(
    cond: Callable[..., Expr],
    loop_vars: Sequence[Expr],
    loop_bodies: Callable[..., Sequence[Expr] | Expr],
) -> Let:
    """A function that runs `loop_bodies` as long as `cond` holds.

        let %while_loop = fn (%i: int32, %x: …) {
          if (cond(%i, %x)) { %while_loop(bodies(%i, %x)…) } else { (%i, %x) }
        };
        %while_loop

    `loop_vars` give names and types; `cond` and `loop_bodies` are called once, with new variables.
    The result is called with the initial values, and returns the final ones as a tuple.
    """
    types = [_type_of(v) for v in loop_vars]
    variables = [
        var(v.name_hint if isinstance(v, Var) else f"arg{i}", ty)
        for i, (v, ty) in enumerate(zip(loop_vars, types, strict=True))
    ]
    loop = var("while_loop")
    sb = ScopeBuilder()
    with sb.if_scope(cond(*variables)):
        sb.ret(loop(*_as_list(loop_bodies(*variables), len(variables))))
    with sb.else_scope():
        sb.ret(Tuple(tuple(variables)))
    result = None if None in types else TupleType(tuple(t for t in types if t is not None))
    return Let(loop, Function(tuple(variables), sb.get(), result), loop)


def _type_of(loop_var: Expr) -> Type | None:
    """The type of a loop variable; None for an unannotated variable, which inference types."""
    if isinstance(loop_var, Var):
        return loop_var.type_annotation
    return ScopeBuilder().type_of(loop_var)


def _as_list(bodies: Sequence[Expr] | Expr | TupleWrapper, count: int) -> list[Expr]:
    if isinstance(bodies, Expr) and not isinstance(bodies, Tuple):
        found = [bodies]
    else:
        found = [as_expr(body) for body in bodies]
    if len(found) != count:
        raise RelayError(
            f"loop_bodies must give a new value for each of the {count} loop variables, "
            f"found {len(found)}"
        )
    return found
