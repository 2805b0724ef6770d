"""The interpreter as oracle: results and intermediate values of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay import tree
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.frames import Watch
from relay.interpreter.values import TupleValue, Value
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.transform.memory.lift_weights import PREPARE

Weights = Mapping[str, Any]


def result(
    module: IRModule, weights: Weights, inputs: Sequence[Any], watch: Watch | None = None
) -> Value:
    """The result of `main`; `watch` is told of every operator."""
    given = arguments(module, weights, inputs)
    if watch is None:
        return call(evaluate(ir.GlobalVar("main"), module), given)
    variables = tuple(ir.Var(f"x{number}") for number in range(len(given)))
    bindings = dict(zip(variables, given, strict=True))
    return evaluate(ir.Call(ir.GlobalVar("main"), variables), module, bindings, watch=watch)


def arguments(module: IRModule, weights: Weights, inputs: Sequence[Any]) -> list[Any]:
    """The arguments of `main`: inputs in order, weights by name, and last what is prepared from
    weights (`LiftWeights`)."""
    main = module["main"]
    prepared: list[Any] = []
    if PREPARE in main.attrs:
        lifted = module[main.attrs[PREPARE]]
        given = [weights[param.name_hint] for param in lifted.params]
        made = call(evaluate(ir.GlobalVar(main.attrs[PREPARE]), module), given)
        assert isinstance(made, TupleValue)
        prepared = [*made]
    left = iter(inputs)
    params = main.params[: len(main.params) - len(prepared)]
    return [
        weights[param.name_hint] if param.name_hint in weights else next(left) for param in params
    ] + prepared


def visible(body: ir.Expr) -> list[ir.Expr]:
    """The expressions of a function that every call evaluates: not those inside of functions and
    branches, nor what a `let` binds a variable for."""
    opaque = (ir.Function, ir.If, ir.Match, ir.Let)
    return list(tree.postorder(body, enter=lambda e: not isinstance(e, opaque)))


def values(
    module: IRModule, arguments: Sequence[Any], wanted: Sequence[ir.Expr]
) -> dict[ir.Expr, Value]:
    """The values of visible expressions of `main`, for these arguments."""
    bindings = dict(zip(module["main"].params, arguments, strict=True))
    found = evaluate(ir.Tuple(tuple(wanted)), module, bindings)
    assert isinstance(found, TupleValue)
    return dict(zip(wanted, found, strict=True))
