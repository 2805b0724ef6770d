"""A grouped bar chart as SVG, without dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

COLORS = ("#9aa5b1", "#4c78a8", "#72b7b2", "#54a24b", "#eeca3b", "#f58518", "#e45756", "#b279a2")
BAR, GAP, LEFT, TOP, HEIGHT = 22, 30, 60, 60, 300


def write_bars(
    file: Path, title: str, unit: str, steps: Sequence[str], groups: Mapping[str, Sequence[float]]
) -> None:
    """The chart: one group of bars per entry of `groups`, one bar per step."""
    highest = max(max(values) for values in groups.values())
    tick = next(t for t in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if highest / t <= 8 or t == 100)
    scale = HEIGHT / (tick * (int(highest / tick) + 1))
    wide = LEFT + len(groups) * (len(steps) * BAR + GAP) + GAP
    tall = TOP + HEIGHT + 40 + 20 * ((len(steps) + 1) // 2)
    floor = TOP + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{tall}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="{LEFT}" y="44" fill="#555">{escape(unit)}</text>',
    ]
    for number in range(int(highest / tick) + 2):
        y = floor - number * tick * scale
        lines.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{wide - GAP}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        lines.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * tick:g}</text>'
        )
    x = LEFT + GAP / 2
    for name, values in groups.items():
        for position, value in enumerate(values):
            left, high = x + position * BAR, value * scale
            color = COLORS[position % len(COLORS)]
            lines.append(
                f'<rect x="{left:.1f}" y="{floor - high:.1f}" width="{BAR - 3}" '
                f'height="{high:.1f}" fill="{color}"/>'
            )
            lines.append(
                f'<text x="{left + BAR / 2 - 1:.1f}" y="{floor - high - 3:.1f}" font-size="9" '
                f'text-anchor="middle">{value:.1f}</text>'
            )
        middle = x + len(steps) * BAR / 2
        lines.append(
            f'<text x="{middle:.1f}" y="{floor + 18}" text-anchor="middle">{escape(name)}</text>'
        )
        x += len(steps) * BAR + GAP
    for position, step in enumerate(steps):
        column, line = position % 2, position // 2
        left, y = LEFT + column * (wide - LEFT) / 2, floor + 40 + 20 * line
        color = COLORS[position % len(COLORS)]
        lines.append(f'<rect x="{left:.1f}" y="{y - 10}" width="12" height="12" fill="{color}"/>')
        lines.append(f'<text x="{left + 18:.1f}" y="{y}">{escape(step)}</text>')
    file.write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")
