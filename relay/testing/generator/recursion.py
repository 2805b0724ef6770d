"""Random recursive functions with a decreasing counter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.ir.expr import Call, Expr, Function, If, Let, Var, const
from relay.ir.types import UNIT, FuncType, Type
from relay.testing.generator import types
from relay.testing.generator.calls import MAX_TURNS, call_one
from relay.testing.generator.choices import chance
from relay.testing.generator.scope import Callee, GeneratorScope
from relay.testing.generator.tensors import call

if TYPE_CHECKING:
    from relay.testing.generator.expressions import Writer


def loop(writer: Writer, goal: Type, scope: GeneratorScope, fuel: int, known: bool) -> Expr:
    """A local recursive function and a call of it.

    let %f = fn (%i: int32, %s: S) -> R { if (%i <= 0) { … } else { … %f(%i - 1, …) … } };
    %f(3, …)
    """
    state = bounded_type(writer, scope.words)
    result = goal if types.is_bounded(goal, scope.words) else bounded_type(writer, scope.words)
    variable = writer.variable(UNIT, scope.words, False, "f")
    before = writer.effects
    value, cost = counting_down(writer, variable, (state,), result, scope, fuel - 1)
    callee = Callee(
        variable,
        FuncType((types.INT32, state), result),
        (),
        cost,
        writer.effects == before,
        counts=True,
    )
    inner = scope.bind([], [callee])
    if result == goal and chance(writer.choices, 70):
        body = call_one(writer, [(callee, {})], inner, fuel - 1, known)
    else:
        body = writer.expression(goal, inner, fuel - 1, known)
    return Let(variable, value, body)


def bounded_type(writer: Writer, words: types.Vocabulary) -> Type:
    """A random type whose values have bounded size."""
    ty = types.random_type(writer.choices, words, 1)
    return ty if types.is_bounded(ty, words) else types.random_tensor(writer.choices, words)


def counting_down(
    writer: Writer,
    recur: Expr,
    states: tuple[Type, ...],
    result: Type,
    scope: GeneratorScope,
    fuel: int,
) -> tuple[Function, int]:
    """`fn (%i, states…) -> result` that calls `recur` with %i - 1; and its cost."""
    counter = Var("i", types.INT32)
    params = [writer.parameter(t, scope.words) for t in states]
    inner = scope.enter([(counter, types.INT32), *zip(params, states, strict=True)])
    share = max(1, (writer.limit - writer.cost) // (2 * (MAX_TURNS + 1)))
    with writer.costing_at_most(share) as spent:
        base = writer.expression(result, inner, fuel - 1, True)
        args = [writer.expression(t, inner, fuel - 1, True) for t in states]
        less = call("subtract", counter, const(1, "int32"))
        again: Expr = Call(recur, (less, *args))
        if chance(writer.choices, 40):
            # uses the result of the recursive call: not a tail call
            inside = writer.variable(result, scope.words, False)
            again = Let(
                inside,
                again,
                writer.expression(result, inner.enter([(inside, result)]), fuel - 1, True),
            )
    body = If(call("less_equal", counter, const(0, "int32")), base, again)
    function = Function((counter, *params), body, scope.words.shown(result))
    return function, spent() * (MAX_TURNS + 1)
