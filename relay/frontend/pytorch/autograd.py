"""Programs of Relay as functions of PyTorch that have gradients.

    run = relay.frontend.pytorch.differentiable(f)       f: a relay.function, a module, a model
    loss = run(x, weight).square().sum()
    loss.backward()                                      weight.grad, by the backward program of f

There are two executables: that of the program, and one that computes the gradients of its arguments
from those of its results. The second one computes again what it needs of the values in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from relay.check.infer import infer_module
from relay.errors import GradientError
from relay.frontend.model import Model, as_module
from relay.ir import expr as ir
from relay.ir.entry import with_main_apart
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.gradient_rules import build
from relay.transform.gradients.accumulate import is_differentiable
from relay.transform.gradients.differentiate import gradient
from relay.transform.gradients.first_order_gradient import is_dataflow


def differentiable(
    model: Model, params: Mapping[str, Any] | None = None, **options: Any
) -> Callable[..., Any]:
    """A function of PyTorch's tensors that computes what `model` does, with gradients.

    Arguments and results are tensors. `params` are constants, by the names of parameters, which the
    function does not take and which get no gradients; `options` are those of `relay.compile`.
    """
    from relay.driver import compile  # which imports this frontend

    module, own = as_module(model)
    known = {**own, **(params or {})}
    module = infer_module(with_main_apart(module))
    main: ir.Function = module["main"]
    given = [place for place, param in enumerate(main.params) if param.name_hint not in known]
    for place in given:
        _tensor(main.params[place].checked_type, f"`{main.params[place].name_hint}`", main)
    wanted = [place for place in given if is_differentiable(main.params[place].checked_type)]
    forward = compile(module, known, **options)
    backward = compile(_backward(module, wanted), known, **options) if wanted else None
    places = [given.index(place) for place in wanted]
    return _Function(forward, backward, places, _result_types(main))


def _result_types(main: ir.Function) -> list[TensorType]:
    ty = main.body.checked_type
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return [_tensor(field, "a result", main) for field in fields]


def _tensor(ty: Type, what: str, main: ir.Function) -> TensorType:
    if not isinstance(ty, TensorType):
        raise GradientError.of(f"{what} is no tensor of PyTorch", main.span, "tensors", str(ty))
    return ty


def _backward(module: IRModule, wanted: Sequence[int]) -> IRModule:
    """(arguments, gradients of the results) -> gradients of the arguments `wanted`"""
    made = module.copy()
    main: ir.Function = made["main"]
    seeds: list[ir.Var] = []
    terms: list[ir.Expr] = []
    result = ir.Var("result")
    for place, ty in enumerate(_result_types(main)):
        if is_differentiable(ty):
            several = isinstance(main.body.checked_type, TupleType)
            one: ir.Expr = ir.TupleGetItem(result, place) if several else result
            seeds.append(ir.Var(f"slope_{place}", ty))
            terms.append(build("sum", build("multiply", one, seeds[-1])))
    total: ir.Expr = ir.const(0.0)
    for number, term in enumerate(terms):
        total = term if number == 0 else build("add", total, term)
    body = ir.Let(result, main.body, total)
    function = ir.Function((*main.params, *seeds), body, None, main.type_params, span=main.span)
    mode = "first_order" if is_dataflow(main) else "higher_order"
    found = gradient(function, made, mode, wrt=wanted)
    gradients = ir.TupleGetItem(found.body, 1)
    made["main"] = ir.Function(found.params, gradients, None, found.type_params)
    return infer_module(made)


class _Function:
    """Calls the executables under autograd."""

    def __init__(
        self, forward: Any, backward: Any, places: Sequence[int], results: Sequence[TensorType]
    ) -> None:
        self.forward, self.backward = forward, backward
        self.places = places  # of the arguments with gradients
        self.floats = [place for place, ty in enumerate(results) if is_differentiable(ty)]

    def __call__(self, *tensors: torch.Tensor) -> Any:
        found: Any = _Call.apply(self, *tensors)  # type: ignore[no-untyped-call]
        return found


class _Call(torch.autograd.Function):
    """One call."""

    @staticmethod
    def forward(ctx: Any, function: _Function, *tensors: torch.Tensor) -> Any:
        ctx.function = function
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(True)
        found = function.forward(*(tensor.detach() for tensor in tensors))
        several = found if isinstance(found, tuple) else (found,)
        rest = [one for place, one in enumerate(several) if place not in function.floats]
        ctx.mark_non_differentiable(*rest)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: torch.Tensor) -> Any:
        function = ctx.function
        tensors = ctx.saved_tensors
        result: list[Any] = [None] * (1 + len(tensors))
        if function.backward is None or not function.floats:
            return tuple(result)
        seeds = [slopes[place].contiguous() for place in function.floats]
        found = function.backward(*(tensor.detach() for tensor in tensors), *seeds)
        for place, slope in zip(function.places, found, strict=True):
            result[1 + place] = slope
        return tuple(result)
