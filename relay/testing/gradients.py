"""Gradients against central differences: `check_grad(func, mod=mod)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relay.executors import create_executor
from relay.interpreter.values import TupleValue
from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.transform.gradients.differentiate import gradient
from relay.transform.infer_type import InferType

NAME = "checked_gradient"


def check_grad(
    func: Function | GlobalVar,
    inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    mode: str = "higher_order",
    mod: IRModule | None = None,
) -> list[np.ndarray]:
    """Compare the gradients of the tensors `func` takes with central differences, and return them.

    Without `inputs` they are random. The differences are taken along random directions, so use
    float64.
    """
    module = IRModule() if mod is None else mod.copy()
    function = module[func] if isinstance(func, GlobalVar) else func
    plain = module.copy()
    module[NAME] = gradient(function, module, mode)
    plain[NAME] = function
    draw = np.random.default_rng(0)
    given = [np.asarray(one) for one in (_random(plain, draw) if inputs is None else inputs)]
    value, gradients = _evaluator(module)(*given)
    run = _evaluator(plain)
    assert _total(value) == _total(run(*given)), "the gradient changes the value"
    found = [one.numpy() for one in gradients]
    for place, (array, slopes) in enumerate(zip(given, found, strict=True)):
        if array.dtype.kind != "f":
            continue
        direction = draw.uniform(-1, 1, array.shape).astype(array.dtype)
        ends = []
        for step in (eps, -eps):
            moved = [*given]
            moved[place] = array + array.dtype.type(step) * direction
            ends.append(_total(run(*moved)))
        wanted = (ends[0] - ends[1]) / (2 * eps)
        np.testing.assert_allclose(
            float((slopes * direction).sum()), wanted, rtol, atol, err_msg=f"argument {place}"
        )
    return found


def _random(module: IRModule, draw: np.random.Generator) -> Iterator[np.ndarray]:
    typed = InferType()(module)
    for param in typed[NAME].params:
        ty = param.checked_type
        assert isinstance(ty, TensorType), f"give inputs: {ty} is no tensor"
        yield draw.uniform(-1, 1, ty.concrete_shape).astype(ty.dtype)


def _evaluator(module: IRModule) -> Any:
    return create_executor("debug", module).evaluate(module.get_global_var(NAME))


def _total(value: Any) -> float:
    """The sum of all floating-point elements."""
    if isinstance(value, TupleValue | tuple):
        return sum(map(_total, value))
    assert isinstance(value, NDArray), "results are tensors and tuples of them"
    array = value.numpy()
    return float(array.astype(np.float64).sum()) if array.dtype.kind == "f" else 0.0
