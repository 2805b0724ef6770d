"""Bias correction: compensate for the mean error of rounded weights:

nn.conv2d(point(%x), point(W))
->
add(nn.conv2d(point(%x), point(W)), b)

With few bits the mean of an output channel shifts, because the errors of its weights do not cancel
out over the data. `b` is that difference with the sign changed: the mean of the
product of the data, in floats, with the errors of the weights, over all examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import op, tree
from relay.check.infer import infer_module
from relay.driver import compile
from relay.ir.expr import Call, Constant, Expr, Function, Tuple
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.op.annotation import simulated_quantize
from relay.op.opdef import OpDef
from relay.op.quantization import Kind, quantization_of
from relay.progress import Progress, silent
from relay.quantize.dataset import Dataset
from relay.quantize.points import Point


def with_corrected_biases(
    module: IRModule, dataset: Dataset, progress: Progress = silent
) -> IRModule:
    """The calibrated module, whose products with weights have the means of those in floats."""
    main = module["main"]
    places: list[Call] = []
    means: list[Expr] = []

    def in_floats(before: Expr, after: Any) -> Any:
        if getattr(after, "op", None) is simulated_quantize:
            return after.args[0]
        axes = _axes_of_a_channel(before)
        if axes is not None:
            assert isinstance(before, Call)
            places.append(before)
            error = Constant(NDArray(_error(before.args[1])))
            product = Call(after.op, (after.args[0], error), after.attrs)
            means.append(op.mean(product, axis=axes, keepdims=True))
        return after

    tree.transform(main.body, in_floats)
    if not places:
        return module
    function = Function(main.params, Tuple(tuple(means)))
    compiled = compile(IRModule.from_expr(function, None, module.type_definitions))
    sums: list[Any] = [0.0] * len(places)
    count = 0
    for batch in dataset.batches(main.params, "correcting biases", progress):
        found = compiled(**batch)
        count += 1
        sums = [a + b.astype(np.float64) for a, b in zip(sums, found, strict=True)]
    biases = {
        place: Constant(NDArray((-each / count).astype(np.float32)))
        for place, each in zip(places, sums, strict=True)
    }

    def corrected(before: Expr, after: Any) -> Any:
        return op.add(after, biases[before]) if before in biases else after

    module = module.copy()
    body = tree.transform(main.body, corrected)
    module["main"] = tree.replace(main, body=body, ret_type=None)
    return infer_module(module)


def _axes_of_a_channel(e: Expr) -> list[int] | None:
    """The axes over which a product with a rounded weight has the same one; None for others."""
    if not isinstance(e, Call) or not isinstance(e.op, OpDef) or len(e.args) != 2:
        return None
    rule, weight, ty = quantization_of(e.op), e.args[1], e.ty
    if rule.kind is not Kind.PRODUCT or rule.outputs is None or not isinstance(ty, TensorType):
        return None
    if getattr(weight, "op", None) is not simulated_quantize or not isinstance(ty, TensorType):
        return None
    assert isinstance(weight, Call)
    if not isinstance(weight.args[0], Constant) or rule.outputs(e.attrs) is None:
        return None
    known: Any = e.attrs
    layout = getattr(known, "out_layout", "") or getattr(known, "data_layout", "")
    channel = layout.index("C") if layout else len(ty.shape) - 1
    return [axis for axis in range(len(ty.shape)) if axis != channel]


def _error(weight: Expr) -> np.ndarray:
    """The rounding error of a weight."""
    assert isinstance(weight, Call)
    point = Point(weight)
    assert isinstance(point.data, Constant)
    values = point.data.data.array
    known = point.parameters
    scale = known.scale.astype(np.float64)
    if scale.ndim:
        axis = point.axis % values.ndim
        scale = scale.reshape([-1 if place == axis else 1 for place in range(values.ndim)])
    error: np.ndarray = known.centered(values.astype(np.float64), point.axis) * scale - values
    return error.astype(np.float32)
