"""Quantization reports: the error of each value and of the result, time and memory saved.

report = relay.quantize.report(mod, params, dataset)
print(report)                   a table
report.json()                   the same for programs
report.plot("layers.svg")       the signal-to-noise ratios as bars

Other ways to quantize are compared by the sums of layers:

relay.quantize.report(mod, params, dataset, scheme=relay.quantize.mixed("bfloat16"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.driver import compile
from relay.ir.expr import Constant, Expr, Function, Tuple
from relay.ir.module import IRModule
from relay.quantize.annotate import Annotate
from relay.quantize.calibrate import with_parameters
from relay.quantize.dataset import Dataset
from relay.quantize.flow import prerequisite_optimize
from relay.quantize.loss import Loss, Report, decibels, milliseconds, tensors
from relay.quantize.network import Network
from relay.quantize.points import Point
from relay.quantize.realize import Realize
from relay.quantize.scheme import INT8, Scheme
from relay.quantize.trial import Trial

# (the module, its weights) -> the module that computes with fewer bits
How = Callable[[IRModule, Mapping[str, Any]], IRModule]


def report(
    mod: IRModule | Expr,
    params: Mapping[str, Any] | None = None,
    dataset: Iterable[Any] = (),
    *,
    scheme: Scheme | How = INT8,
) -> Report:
    """What quantizing a network costs, by a scheme or in another way that `relay.compile` takes, on
    the batches that it is calibrated with, which are read twice."""
    examples = Dataset([*Dataset(dataset)])
    module = prerequisite_optimize(mod, params)
    if not isinstance(scheme, Scheme):
        return _compared(module, examples, scheme)
    trial = Trial(module, scheme, examples)
    watched = trial.watched()
    layers = [*trial.layers]
    values = {point.name: _Sums() for point in trial.data}
    results = _Results()
    first: dict[str, np.ndarray] = {}
    for batch in examples.batches(trial.params, "measuring"):
        first = first or batch
        exact, floats = watched((), batch)
        found, integers = watched(layers, batch)
        for point, (_, wanted), (given, made) in zip(trial.data, floats, integers, strict=True):
            values[point.name].add(wanted, made, given, point, trial)
        results.add(exact, found)
    losses = [
        _weight_loss(point, trial)
        if isinstance(point.data, Constant)
        else values[point.name].loss(point, trial)
        for point in trial.points
    ]
    network = Network(Annotate(scheme)(module)["main"])
    realized = Realize(scheme.rounding, scheme.sums)(
        with_parameters(Annotate(scheme)(module), trial.known)
    )
    kept = tuple(sorted({each.name for each in network.layers.values()} - {*layers}))
    without_rule = tuple(network.without_rule())
    return results.report(scheme.name, losses, kept, without_rule, module, realized, first)


def _compared(module: IRModule, examples: Dataset, how: How) -> Report:
    """The report on another program for the same network, from the sums of layers."""
    main = module["main"]
    layers = [*Network(main).layers.values()]
    # the same names for the same values, in floats and otherwise
    whole = Function(main.params, Tuple((main.body, *(layer.call for layer in layers))))
    watched = IRModule.from_expr(whole, None, module.type_definitions)
    for called, function in module.functions.items():
        if called.name_hint != "main":
            watched[called.name_hint] = function
    changed = how(module, {})
    pair = compile(watched), compile(how(watched, {}))
    sums = [[0.0, 0.0] for _ in layers]
    results = _Results()
    first: dict[str, np.ndarray] = {}
    for batch in examples.batches(main.params, "measuring"):
        first = first or batch
        (exact, *wanted), (found, *values) = (each(**batch) for each in pair)
        results.add(exact, found)
        for total, a, b in zip(sums, wanted, values, strict=True):
            floats = a.astype(np.float64)
            total[0] += float((floats**2).sum())
            total[1] += float(((b - floats) ** 2).sum())
    losses = [
        Loss(layer.name, "sums", None, None, decibels(*total), None, None)
        for layer, total in zip(layers, sums, strict=True)
    ]
    name = type(how).__name__.lower()
    return results.report(name, losses, (), (), module, changed, first)


class _Results:
    """What is added up over batches about the results."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.same = self.rows = 0

    def add(self, exact: Any, found: Any) -> None:
        for a, b in zip(tensors(exact), tensors(found), strict=True):
            wanted = a.astype(np.float64)
            self.noise += float(((wanted - b) ** 2).sum())
            self.signal += float((wanted**2).sum())
            self.largest = max(self.largest, float(np.abs(wanted - b).max(initial=0)))
        a, b = tensors(exact)[0], tensors(found)[0]
        if a.ndim and a.size:
            agree = a.argmax(-1) == b.argmax(-1)
            self.same, self.rows = self.same + int(agree.sum()), self.rows + agree.size

    def report(
        self,
        name: str,
        losses: Sequence[Loss],
        kept: tuple[str, ...],
        without_rule: tuple[str, ...],
        module: IRModule,
        changed: IRModule,
        batch: Mapping[str, np.ndarray],
    ) -> Report:
        before, after = compile(module), compile(changed)
        return Report(
            name,
            tuple(losses),
            kept,
            without_rule,
            decibels(self.signal, self.noise),
            self.largest,
            self.same / max(self.rows, 1),
            (milliseconds(before, batch), milliseconds(after, batch)),
            (before.memory.constants, after.memory.constants),
        )


class _Sums:
    """Running sums over batches for the statistics of one value."""

    def __init__(self) -> None:
        self.signal = self.noise = self.own = 0.0
        self.low, self.high = np.inf, -np.inf
        self.outside = self.count = 0

    def add(
        self, wanted: np.ndarray, made: np.ndarray, given: np.ndarray, point: Point, trial: Trial
    ) -> None:
        exact = wanted.astype(np.float64)
        self.signal += float((exact**2).sum())
        self.noise += float(((made - exact) ** 2).sum())
        known = trial.known[point.name]
        scale = known.scale.astype(np.float64)
        self.own += float(((known.centered(exact) * scale - exact) ** 2).sum())
        low, high = known.ends
        self.outside += int(((exact < (low - 0.5) * scale) | (exact > (high + 0.5) * scale)).sum())
        self.count += given.size
        self.low = min(self.low, float(exact.min(initial=0)))
        self.high = max(self.high, float(exact.max(initial=0)))

    def loss(self, point: Point, trial: Trial) -> Loss:
        known = trial.known[point.name]
        ends = known.centered(np.asarray([self.low, self.high]))
        return Loss(
            point.name,
            "data",
            known.integers.bits,
            decibels(self.signal, self.own),
            decibels(self.signal, self.noise),
            float(ends[1] - ends[0]) / (known.integers.highest - known.integers.lowest),
            self.outside / max(self.count, 1),
        )


def _weight_loss(point: Point, trial: Trial) -> Loss:
    assert isinstance(point.data, Constant)
    values = point.data.data.array.astype(np.float64)
    known = trial.known[point.name]
    scale = known.scale.astype(np.float64)
    axis = point.axis % max(values.ndim, 1)
    if scale.ndim:
        scale = scale.reshape([-1 if place == axis else 1 for place in range(values.ndim)])
    whole = known.centered(values, point.axis)
    noise = float(((whole * scale - values) ** 2).sum())
    ratio = decibels(float((values**2).sum()), noise)
    steps = known.integers.highest - known.integers.lowest
    used = float(whole.max(initial=0) - whole.min(initial=0)) / steps
    clipped = (
        float((np.abs(whole * scale - values) > 0.5001 * scale).mean()) if values.size else 0.0
    )
    return Loss(point.name, "weight", known.integers.bits, ratio, ratio, used, clipped)
