"""Quantization reports: the error of each value and of the result, time and memory saved.

report = relay.quantize.report(mod, params, dataset)
print(report)                   a table
report.json()                   the same for programs
report.plot("layers.svg")       the signal-to-noise ratios as bars
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from relay.driver import compile
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr
from relay.ir.module import IRModule
from relay.quantize.annotate import Annotate
from relay.quantize.calibrate import with_parameters
from relay.quantize.dataset import Dataset
from relay.quantize.flow import prerequisite_optimize
from relay.quantize.network import Network
from relay.quantize.points import Point
from relay.quantize.realize import Realize
from relay.quantize.scheme import INT8, Scheme
from relay.quantize.trial import Trial


@frozen
class Loss:
    """What quantization does to one value. Ratios of signal to noise are in decibels: 6 for each
    bit that is right."""

    name: str
    kind: str  # data or weight
    bits: int
    own_snr: float  # with the noise of its own rounding
    snr: float  # with that of all before it, too
    range_use: float  # the share of its integers between the least and the greatest element
    clipped: float  # the share of elements out of its range


@frozen
class Report:
    """The costs of quantizing a network."""

    scheme: str
    losses: tuple[Loss, ...]
    kept_float: tuple[str, ...]  # layers
    without_rule: tuple[str, ...]  # operators that compute with floats
    snr: float  # of the results
    largest_difference: float
    agreement: float  # the share of rows of the first result with the same greatest element
    milliseconds: tuple[float, float]  # before and after
    constants: tuple[int, int]  # in bytes

    def __str__(self) -> str:
        width = max([len(loss.name) for loss in self.losses] + [5])
        lines = [f"{'value':{width}}  kind    bits  own dB     dB  range used  clipped"]
        lines += [
            f"{loss.name:{width}}  {loss.kind:6}  {loss.bits:4}  {loss.own_snr:6.1f} "
            f"{loss.snr:6.1f}  {loss.range_use:9.0%}  {loss.clipped:7.2%}"
            for loss in self.losses
        ]
        before, after = self.milliseconds
        lines += [
            f"scheme {self.scheme}: results {self.snr:.1f} dB, largest difference "
            f"{self.largest_difference:.3g}, the same greatest element in {self.agreement:.1%}",
            f"time {before:.3g} ms -> {after:.3g} ms, constants "
            f"{self.constants[0] / 2**10:.1f} KiB -> {self.constants[1] / 2**10:.1f} KiB",
        ]
        if self.kept_float:
            lines.append(f"layers in floats: {', '.join(self.kept_float)}")
        if self.without_rule:
            lines.append(f"operators in floats: {', '.join(self.without_rule)}")
        return "\n".join(lines)

    def json(self) -> str:
        """The report as JSON; a ratio without noise is null."""
        return json.dumps(_finite(asdict(self)), indent=1)

    def plot(self, path: str | Path) -> None:
        """The ratios of signal to noise as bars, in an SVG file."""
        row, left, width = 18, 220, 400
        most = max([loss.snr for loss in self.losses if math.isfinite(loss.snr)] + [1.0])
        bars = []
        for place, loss in enumerate(self.losses):
            length = width * min(max(loss.snr, 0.0), most) / most
            y = place * row + 4
            bars.append(
                f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{escape(loss.name)}</text>'
                f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{row - 4}" fill="#47a"/>'
                f'<text x="{left + length + 4:.1f}" y="{y + 12}">{loss.snr:.1f} dB</text>'
            )
        size = f'width="{left + width + 80}" height="{len(self.losses) * row + 8}"'
        text = "".join(bars)
        Path(path).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" '
            f'font-size="12">{text}</svg>\n',
            encoding="utf-8",
        )


def report(
    mod: IRModule | Expr,
    params: Mapping[str, Any] | None = None,
    dataset: Iterable[Any] = (),
    *,
    scheme: Scheme = INT8,
) -> Report:
    """What quantizing a network by a scheme costs, on the batches that it is calibrated with, which
    are read twice."""
    examples = Dataset([*Dataset(dataset)])
    module = prerequisite_optimize(mod, params)
    trial = Trial(module, scheme, examples)
    watched = trial.watched()
    layers = [*trial.layers]
    values = {point.name: _Sums() for point in trial.data}
    results, same, rows, largest = _Sums(), 0, 0, 0.0
    first: dict[str, np.ndarray] = {}
    for batch in examples.batches(trial.params, "measuring"):
        first = first or batch
        exact, floats = watched((), batch)
        found, integers = watched(layers, batch)
        for point, (_, wanted), (given, made) in zip(trial.data, floats, integers, strict=True):
            values[point.name].add(wanted, made, given, point, trial)
        for a, b in zip(_tensors(exact), _tensors(found), strict=True):
            results.noise += float(((a - b).astype(np.float64) ** 2).sum())
            results.signal += float((a.astype(np.float64) ** 2).sum())
            largest = max(largest, float(np.abs(a - b).max(initial=0)))
        a, b = _tensors(exact)[0], _tensors(found)[0]
        if a.ndim and a.size:
            agree = a.argmax(-1) == b.argmax(-1)
            same, rows = same + int(agree.sum()), rows + agree.size
    losses = [
        _weight_loss(point, trial)
        if isinstance(point.data, Constant)
        else values[point.name].loss(point, trial)
        for point in trial.points
    ]
    network = Network(Annotate(scheme)(module)["main"])
    realized = Realize(scheme.rounding)(with_parameters(Annotate(scheme)(module), trial.known))
    before, after = compile(module), compile(realized)
    return Report(
        scheme.name,
        tuple(losses),
        tuple(sorted({each.name for each in network.layers.values()} - {*layers})),
        tuple(network.without_rule()),
        _decibels(results.signal, results.noise),
        largest,
        same / max(rows, 1),
        (_milliseconds(before, first), _milliseconds(after, first)),
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
            _decibels(self.signal, self.own),
            _decibels(self.signal, self.noise),
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
    ratio = _decibels(float((values**2).sum()), noise)
    steps = known.integers.highest - known.integers.lowest
    used = float(whole.max(initial=0) - whole.min(initial=0)) / steps
    clipped = (
        float((np.abs(whole * scale - values) > 0.5001 * scale).mean()) if values.size else 0.0
    )
    return Loss(point.name, "weight", known.integers.bits, ratio, ratio, used, clipped)


def _decibels(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _tensors(result: Any) -> list[np.ndarray]:
    """The tensors of a result."""
    found: list[np.ndarray] = []
    pending = [result]
    while pending:
        one = pending.pop(0)
        if isinstance(one, tuple | list):
            pending = [*one, *pending]
        else:
            found.append(np.asarray(one))
    return found


def _milliseconds(exe: Any, batch: Mapping[str, np.ndarray]) -> float:
    return float(exe.benchmark(**batch).median) * 1e3


def _finite(value: Any) -> Any:
    """`value` with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
