"""The error that quantization adds, as a table, as JSON and as a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from relay.immutable import frozen


@frozen
class Loss:
    """What quantization does to one value. Ratios of signal to noise are in decibels: 6 for each
    bit that is right. Of the sums of a layer that is quantized otherwise than by a scheme there is
    one ratio, and None for the rest."""

    name: str
    kind: str  # data, weight or sums
    bits: int | None
    own_snr: float | None  # with the noise of its own rounding
    snr: float  # with that of all before it, too
    range_use: float | None  # the share of its integers between the least and the greatest element
    clipped: float | None  # the share of elements out of its range

    def row(self, width: int) -> str:
        """A line of the table."""
        cells = (
            (self.bits, "4d"),
            (self.own_snr, "6.1f"),
            (self.snr, "6.1f"),
            (self.range_use, "10.0%"),
            (self.clipped, "7.2%"),
        )
        shown = (
            "-".rjust(int(form.split(".")[0].rstrip("d"))) if value is None else f"{value:{form}}"
            for value, form in cells
        )
        return f"{self.name:{width}}  {self.kind:6}  {'  '.join(shown)}"


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
        lines = [f"{'value':{width}}  kind    bits  own dB      dB  range used  clipped"]
        lines += [loss.row(width) for loss in self.losses]
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


def decibels(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def tensors(result: Any) -> list[np.ndarray]:
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


def milliseconds(exe: Any, batch: Mapping[str, np.ndarray]) -> float:
    return float(exe.benchmark(**batch).median) * 1e3


def _finite(value: Any) -> Any:
    """`value` with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
