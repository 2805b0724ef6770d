"""`training_step(loss, weights, optimizer)`: a loss, its gradient and the update, as one program.

    def @main(%x, %w) { … }    ->    def @main(%x, %w, State=["w"]) { (loss, w - lr * gradient) }

The weights, and what the optimizer keeps for them, are state of the executable: a call trains on
its inputs and gives the loss. Dataflow code is differentiated as such, which keeps it dataflow code
that runs in planned memory; everything else as a whole program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from relay import dtypes, nd, tree
from relay.check.infer import infer_expr, infer_module
from relay.errors import DiagnosticError, GradientError, RelayError, did_you_mean
from relay.frontend.model import Model, as_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.attrs import DictAttrs
from relay.ir.entry import with_main_apart
from relay.ir.function_attrs import CONVENTION, STATE
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.gradient_rules import build
from relay.optim.leaves import leaves_of, rebuilt
from relay.optim.optimizers import Optimizer, Update
from relay.optim.schedules import DTYPE, number, rate_at
from relay.transform.gradients.accumulate import is_differentiable
from relay.transform.gradients.differentiate import gradient
from relay.transform.gradients.first_order_gradient import is_dataflow
from relay.tree import Steps

STEP = "optimizer.step"  # the number of steps so far


def training_step(
    loss: Model,
    weights: Mapping[str, Any],
    optimizer: Optimizer,
    *,
    frozen: Collection[str] = (),
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """A program that trains, and the initial values of its state, for `relay.compile`.

    `loss` gives a number, or a tuple of that and other results, which are not differentiated; all
    results but the state are results of the step. `weights` are initial values of parameters, by
    name: tensors, and tuples, lists and `relay.data` objects of them, whose tensors are called
    `net.layers.0`. Those that are `frozen`, integers, and the state that the loss has itself
    (`State=[…]`: running averages, the key of a generator) are not trained.
    """
    found = _differentiated(_loss(loss, weights, frozen))
    made = dict(found.kept)
    initial = dict(found.loss.initial)
    params = list(found.function.params)
    slopes = found.gradients
    if optimizer.clip is not None and slopes:
        slopes = optimizer.clip(slopes, [_tensor_type(param) for param in found.trained])

    def state(name: str, value: np.ndarray) -> ir.Var:
        if any(param.name_hint == name for param in params):
            raise RelayError(f"a parameter of the loss is called `{name}`, as state of the step")
        initial[name] = nd.NDArray(value)
        params.append(ir.Var(name, TensorType(value.shape, dtypes.from_numpy(value.dtype))))
        return params[-1]

    step: ir.Expr = number(0)
    if optimizer.counts:
        count = state(STEP, np.zeros((), "int64"))
        made[STEP] = count + ir.const(1, "int64")
        step = build("cast", count, dtype=DTYPE)
    rate = rate_at(optimizer.lr, step)
    step = step + number(1)
    shared = optimizer.shared(step)
    for weight, slope in zip(found.trained, slopes, strict=True):
        ty = _tensor_type(weight)
        zeros = np.zeros(ty.concrete_shape, dtypes.to_numpy(ty.dtype))
        name = weight.name_hint
        slots = [state(f"{name}.{slot}", zeros) for slot in optimizer.slots]
        own = [_as(one, ty.dtype) for one in (rate, *shared)]
        # a gradient of its own: a kernel that also makes it could not write over the weight
        slope = build("annotation.stop_fusion", slope)
        site = Update(weight, slope, slots, step, own[0], own[1:], ty.dtype)
        made[name], after = optimizer.update(site)
        made.update(zip((slot.name_hint for slot in slots), after, strict=True))
    body: ir.Expr = ir.Tuple((found.result, *made.values()))
    if found.bound is not None:
        body = ir.Let(found.bound, found.function.body, body)
    main, module = found.loss.main, found.loss.module
    kept = {name: value for name, value in main.attrs.items() if name != CONVENTION}
    module["main"] = ir.Function(
        tuple(params),
        body,
        None,
        main.type_params,
        DictAttrs({**kept, STATE: tuple(made)}),
        span=main.span,
    )
    return infer_module(module), initial


def trained_weights(state: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
    """`weights` as `training_step` got them, with the values of the state of an executable."""
    return {name: rebuilt(data, name, state) for name, data in weights.items()}


def _as(value: ir.Expr, dtype: str) -> ir.Expr:
    return value if dtype == DTYPE else build("cast", value, dtype=dtype)


# --- the loss ------------------------------------------------------------------------------------


@frozen
class _Loss:
    """A loss that is a function of tensors: `main` gives (loss, other results…, new state…)."""

    module: IRModule
    main: ir.Function  # typed
    results: int | None  # how many there are besides the loss; None: it is not in a tuple
    trained: Sequence[str]
    initial: Mapping[str, nd.NDArray]


def _loss(model: Model, weights: Mapping[str, Any], frozen: Collection[str]) -> _Loss:
    module, own = as_module(model)
    module = infer_module(with_main_apart(module))
    main: ir.Function = module["main"]
    given = {**own, **weights}
    names = [param.name_hint for param in main.params]
    for name in given:
        if names.count(name) != 1:
            hint = did_you_mean(str(name), names)
            text = "several parameters" if name in names else "no parameter"
            raise DiagnosticError.of(f"the loss has {text} `{name}`", main.span, hint=hint)
    params: list[ir.Var] = []
    trained: list[str] = []
    initial: dict[str, nd.NDArray] = {}
    whole: dict[ir.Var, ir.Expr] = {}
    for param in main.params:
        name = param.name_hint
        if name not in given:
            params.append(param)
            continue
        leaves = leaves_of(param, given[name])
        whole[param] = leaves.whole
        params += leaves.variables
        initial |= leaves.values
        for variable in leaves.variables:
            kept = {name, variable.name_hint} & {*frozen, *main.state_names}
            if not kept and dtypes.is_float(leaves.values[variable.name_hint].dtype):
                trained.append(variable.name_hint)
    for name in frozen:
        if name not in given and name not in initial:
            hint = did_you_mean(name, list(initial))
            raise RelayError(f"there is no weight `{name}` to be frozen{hint and f'; {hint}'}")
    body, results = _constant_but_loss(ir.bind(main.body, whole), main)
    function = ir.Function(tuple(params), body, None, main.type_params, main.attrs, span=main.span)
    return _Loss(module, infer_expr(function, module), results, trained, initial)


def _constant_but_loss(body: ir.Expr, main: ir.Function) -> tuple[ir.Expr, int | None]:
    """(loss, other results…, new state…), of which only the loss has gradients."""
    ty = main.body.checked_type
    value = body if isinstance(body, ir.Var) else ir.Var("results", ty)
    whole: ir.Expr = value
    kept: list[tuple[ir.Expr, Type]] = []
    if main.state_names:
        assert isinstance(ty, TupleType)
        kept = [(_field(value, 1 + n), one) for n, one in enumerate(ty.fields[1:])]
        whole, ty = _field(value, 0), ty.fields[0]
    others: list[tuple[ir.Expr, Type]] = []
    if isinstance(ty, TupleType) and ty.fields:
        others = [(_field(whole, 1 + n), one) for n, one in enumerate(ty.fields[1:])]
        loss, loss_type = _field(whole, 0), ty.fields[0]
        count: int | None = len(others)
    else:
        loss, loss_type, count = whole, ty, None
    if not is_differentiable(loss_type) or getattr(loss_type, "shape", None) != ():
        raise GradientError.of(
            "this is no loss",
            main.span,
            "a number, or a tuple that begins with one",
            str(loss_type),
            "relay.mean(…) makes one number of many",
        )
    made = [tree.run(_constant(one, inside, main)) for one, inside in (*others, *kept)]
    result: ir.Expr = ir.Tuple((loss, *made))
    return (result if value is body else ir.Let(value, body, result)), count


def _constant(value: ir.Expr, ty: Type, main: ir.Function) -> Steps[ir.Expr]:
    """A value without gradients."""
    if isinstance(ty, TupleType):
        fields = []
        for number, field in enumerate(ty.fields):
            fields.append((yield _constant(_field(value, number), field, main)))
        return ir.Tuple(tuple(fields))
    if not isinstance(ty, TensorType):
        raise GradientError.of(
            "a loss has this as another result", main.span, "tensors and tuples of them", str(ty)
        )
    return build("stop_gradient", value) if is_differentiable(ty) else value


# --- its gradient --------------------------------------------------------------------------------


@frozen
class _Differentiated:
    """The results of the differentiated loss, as expressions inside of `function`, or behind a
    `let` that binds its result to `bound`."""

    loss: _Loss
    function: ir.Function
    bound: ir.Var | None
    result: ir.Expr
    kept: Mapping[str, ir.Expr]
    trained: Sequence[ir.Var]
    gradients: Sequence[ir.Expr]


def _differentiated(loss: _Loss) -> _Differentiated:
    names = _in_order(loss)
    places = [param.name_hint for param in loss.main.params]
    mode = "first_order" if is_dataflow(loss.main) else "higher_order"
    function = gradient(loss.main, loss.module, mode, [places.index(name) for name in names])
    body = function.body
    bound = None if isinstance(body, ir.Tuple) else ir.Var("made")
    whole = body if bound is None else bound
    values, slopes = _field(whole, 0), _field(whole, 1)
    state = loss.main.state_names
    count = loss.results or 0
    results = [_field(values, number) for number in range(1 + count)]
    by_name = {param.name_hint: param for param in function.params}
    return _Differentiated(
        loss,
        function,
        bound,
        results[0] if loss.results is None else ir.Tuple(tuple(results)),
        {name: _field(values, 1 + count + number) for number, name in enumerate(state)},
        [by_name[name] for name in names],
        [_field(slopes, number) for number in range(len(names))],
    )


def _in_order(loss: _Loss) -> list[str]:
    """The trained weights, the last used first: their gradients are computed in this order, and
    what is updated at once needs no memory for its gradient."""
    used = [one.name_hint for one in tree.postorder(loss.main.body) if isinstance(one, ir.Var)]
    place = {name: number for number, name in reversed([*enumerate(used)])}
    return sorted(loss.trained, key=lambda name: -place.get(name, -1))


def _field(value: ir.Expr, index: int) -> ir.Expr:
    if isinstance(value, ir.Tuple):
        return value.fields[index]
    return ir.TupleGetItem(value, index)


def _tensor_type(param: ir.Var) -> TensorType:
    ty = param.checked_type
    assert isinstance(ty, TensorType)
    return ty
