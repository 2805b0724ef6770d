"""Find the scales of an annotated network by running it, in floats, on examples of its inputs:

fn (%x, %x.scale, %x.low, %x.high) { simulated_quantize(%x, %x.scale, %x.low, %x.high) }
->
fn (%x) { simulated_quantize(%x, 0.02f, -128f, 127f) }

The network that runs is the one before quantization, compiled, with the values that are to be
quantized as its results: one native call for each batch. Weights need no examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from relay import tree
from relay.check.infer import infer_module
from relay.driver import compile
from relay.errors import PassError, RelayError
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr, Function, Tuple, Var, bind
from relay.ir.module import IRModule
from relay.op.annotation import simulated_quantize
from relay.quantize.common_scales import common_scales
from relay.quantize.dataset import Dataset
from relay.quantize.histogram import Histogram, chosen_range
from relay.quantize.points import Point, constants, points
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

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        scheme = current_qconfig().scheme if self.scheme is None else self.scheme
        main = module["main"]
        found = [point for point in points(main) if point.is_open]
        weights = [point for point in found if isinstance(point.data, Constant)]
        data = [point for point in found if not isinstance(point.data, Constant)]
        histograms = self._histograms(module, data, scheme)
        known: dict[Var, Expr] = {}
        for point in weights:
            _bind(known, point, weight_parameters(point, scheme))
        chosen: dict[Expr, Parameters] = {}
        for point, histogram in zip(data, histograms, strict=True):
            integers = point.integers(scheme.data.scales)
            chosen[point.call] = integers.parameters(*chosen_range(scheme, histogram, integers))
        measured: dict[Expr, Histogram] = {
            point.call: histogram for point, histogram in zip(data, histograms, strict=True)
        }
        chosen |= common_scales(main, chosen, measured)
        for point in data:
            _bind(known, point, chosen[point.call])
        kept = tuple(param for param in main.params if param not in known)
        body = bind(main.body, known)
        module["main"] = tree.replace(main, params=kept, body=body, ret_type=None)
        return infer_module(module)

    def _histograms(self, module: IRModule, data: list[Point], scheme: Scheme) -> list[Histogram]:
        found = [Histogram() for _ in data]
        if not data or scheme.calibrate_mode == "global_scale":
            return found
        if self.dataset is None:
            raise PassError(
                f'calibrate_mode "{scheme.calibrate_mode}" needs a dataset: '
                "relay.quantize.quantize(mod, params, dataset)"
            )
        names = [point.name for point in data]
        for number, values in enumerate(observed(module, data, self.dataset, "calibrating")):
            for name, histogram, value in zip(names, found, values, strict=True):
                if not np.isfinite(value).all():
                    what = "NaN" if np.isnan(value).any() else "infinite values"
                    raise RelayError(
                        f"batch {number} of the dataset gives {what} in `{name}`, whose range is "
                        "to be found"
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
    module: IRModule, data: list[Point], dataset: Dataset, task: str, *, simulated: bool = False
) -> Iterable[list[np.ndarray]]:
    """The values at points, one list for each batch: of the network in floats, or with its
    quantization simulated."""
    main = module["main"]
    whole = Function(main.params, Tuple(tuple(point.data for point in data)))
    program = whole if simulated else without_points(whole, points(main))
    compiled = compile(IRModule.from_expr(program, None, module.type_definitions))
    for batch in dataset.batches(program.params, task):
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


def _bind(known: dict[Var, Expr], point: Point, parameters: Parameters) -> None:
    ty = point.call.args[1].checked_type
    shape = getattr(ty, "shape", ())
    for arg, value in zip(point.call.args[1:], constants(parameters), strict=True):
        assert isinstance(arg, Var)
        if value.tensor_type.shape != shape:
            value = Constant(np.broadcast_to(value.data.array, shape).copy())  # type: ignore[arg-type]
        known[arg] = value
