"""Find the scales of an annotated network by running it, in floats, on examples of its inputs:

fn (%x, %x.scale, %x.low, %x.high) { simulated_quantize(%x, %x.scale, %x.low, %x.high) }
->
fn (%x) { simulated_quantize(%x, 0.02f, -128f, 127f) }

The network that runs is the one before quantization, compiled, with the values that are to be
quantized as its results: one native call for each batch. Weights need no examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from relay import tree
from relay.check.infer import infer_module
from relay.driver import compile
from relay.errors import PassError, RelayError
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr, Function, Tuple, Var, bind
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op.annotation import simulated_quantize
from relay.progress import Progress, silent
from relay.quantize.common_scales import common_scales
from relay.quantize.dataset import Dataset
from relay.quantize.histogram import Histogram, chosen_range
from relay.quantize.points import Point, points
from relay.quantize.qconfig import current_qconfig
from relay.quantize.scheme import Integers, Parameters, Scheme
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# the shares of the largest weight that are tried as ends
SHARES = np.linspace(1, 0.4, 31)


@frozen
class Calibrate(ModulePass):
    """Replaces the open parameters of points by constants, for a scheme or that of the `qconfig`.

    Without a dataset there is only the calibrate_mode "global_scale".
    """

    dataset: Dataset | None = None
    scheme: Scheme | None = None
    progress: Progress = silent

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        scheme = current_qconfig().scheme if self.scheme is None else self.scheme
        return with_parameters(
            module, found_parameters(module, self.dataset, scheme, self.progress)
        )


def found_parameters(
    module: IRModule, dataset: Dataset | None, scheme: Scheme, progress: Progress = silent
) -> dict[str, Parameters]:
    """The parameters of the open points of `main`, by their names."""
    main = module["main"]
    found = [point for point in points(main) if point.is_open]
    data = [point for point in found if not isinstance(point.data, Constant)]
    histograms = _histograms(module, data, dataset, scheme, progress)
    chosen: dict[Expr, Parameters] = {}
    measured: dict[Expr, Histogram] = {}
    for point, histogram in zip(data, histograms, strict=True):
        integers = point.integers(scheme.data.scales)
        chosen[point.call] = integers.parameters(*chosen_range(scheme, histogram, integers))
        measured[point.call] = histogram
    chosen |= common_scales(main, chosen, measured)
    for point in found:
        if isinstance(point.data, Constant):
            chosen[point.call] = weight_parameters(point, scheme)
    return {point.name: chosen[point.call] for point in found}


def with_parameters(module: IRModule, known: Mapping[str, Parameters]) -> IRModule:
    """The module with constants for the parameters of points."""
    module = module.copy()
    main = module["main"]
    bound: dict[Var, Expr] = {}
    for point in points(main):
        if point.is_open:
            for arg, value in zip(point.call.args[1:], as_given(point, known), strict=True):
                assert isinstance(arg, Var)
                bound[arg] = Constant(value)  # type: ignore[arg-type]
    params = tuple(param for param in main.params if param not in bound)
    module["main"] = tree.replace(main, params=params, body=bind(main.body, bound), ret_type=None)
    return infer_module(module)


def as_given(point: Point, known: Mapping[str, Parameters]) -> list[np.ndarray]:
    """Scale and ends of an open point, in its shape."""
    ty = point.call.args[1].checked_type
    assert isinstance(ty, TensorType)
    parameters = known[point.name]
    parts = (parameters.scale, *parameters.ends)
    return [np.broadcast_to(part, ty.concrete_shape).astype(np.float32) for part in parts]


def _histograms(
    module: IRModule,
    data: list[Point],
    dataset: Dataset | None,
    scheme: Scheme,
    progress: Progress,
) -> list[Histogram]:
    found = [Histogram() for _ in data]
    if not data or scheme.calibrate_mode == "global_scale":
        return found
    if dataset is None:
        raise PassError(
            f'calibrate_mode "{scheme.calibrate_mode}" needs a dataset: '
            "relay.quantize.quantize(mod, params, dataset)"
        )
    for number, values in enumerate(observed(module, data, dataset, progress)):
        for point, histogram, value in zip(data, found, values, strict=True):
            if not np.isfinite(value).all():
                what = "NaN" if np.isnan(value).any() else "infinite values"
                raise RelayError(
                    f"batch {number} of the dataset gives {what} in `{point.name}`, whose range "
                    "is to be found"
                )
            histogram.add(value)
    return found


def calibrate(dataset: Iterable[Any] | None = None, scheme: Scheme | None = None) -> Calibrate:
    """The pass; by default with the scheme of the `qconfig`."""
    return Calibrate(None if dataset is None else Dataset(dataset), scheme)


def without_points(main: Function, found: Iterable[Point] | None = None) -> Function:
    """The network in floats, and without the parameters of its points."""
    gone = {arg for point in found or points(main) for arg in point.call.args[1:]}

    def plain(before: Any, after: Any) -> Any:
        return after.args[0] if getattr(after, "op", None) is simulated_quantize else after

    body = tree.transform(main.body, plain)
    params = tuple(param for param in main.params if param not in gone)
    return Function(params, body)


def observed(
    module: IRModule, data: list[Point], dataset: Dataset, progress: Progress = silent
) -> Iterable[list[np.ndarray]]:
    """The values at points, of the network in floats: a list for each batch."""
    main = module["main"]
    whole = Function(main.params, Tuple(tuple(point.data for point in data)))
    program = without_points(whole, points(main))
    compiled = compile(IRModule.from_expr(program, None, module.type_definitions))
    for batch in dataset.batches(program.params, "calibrating", progress):
        results = compiled(**batch)
        yield list(results) if isinstance(results, tuple | list) else [results]


def weight_parameters(point: Point, scheme: Scheme) -> Parameters:
    """The scales of a weight."""
    assert isinstance(point.data, Constant)
    values = point.data.data.array.astype(np.float64)
    if not np.isfinite(values).all():
        raise RelayError(f"`{point.name}` has elements that are NaN or infinite")
    integers = point.integers(scheme.weight.scales)
    axis = point.axis % values.ndim if point.is_per_channel else None
    others = tuple(place for place in range(values.ndim) if place != axis)
    low, high = values.min(others, initial=0), values.max(others, initial=0)
    if scheme.weight_mode == "max":
        return integers.parameters(low, high)
    return _least_error(values, low, high, integers, axis)


def _least_error(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, integers: Integers, axis: int | None
) -> Parameters:
    """The parameters with the least squared error, of each channel."""
    others = tuple(place for place in range(values.ndim) if place != axis)
    best = np.full(np.shape(low), np.inf)
    chosen = np.ones(np.shape(low))
    for share in SHARES:
        known = integers.parameters(low * share, high * share)
        scale = known.scale.astype(np.float64)
        if axis is not None:
            scale = scale.reshape([-1 if place == axis else 1 for place in range(values.ndim)])
        error = ((known.centered(values, axis or 0) * scale - values) ** 2).sum(others)
        chosen = np.where(error < best, share, chosen)
        best = np.minimum(error, best)
    return integers.parameters(low * chosen, high * chosen)
