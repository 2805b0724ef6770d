"""Draw the pictures of `docs/accelerator.md`: a design, and the schedule of a layer.

    python docs/generate_accelerator.py

The design is drawn from a `Config`. The schedule is that of the simulator: the events of the real
instructions of a convolution.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

import relay
from relay import nn, quantize
from relay.external.divide import external_functions
from relay.external.lower import part_of
from relay.target.accel.code import AccelCode
from relay.target.accel.config import Config
from relay.target.accel.isa import Alu, Gemm, Instruction, Memory, Transfer, Unit
from relay.target.accel.offload import offloaded
from relay.target.accel.parts import compile_part
from relay.target.accel.scheme import SCHEME
from relay.target.accel.simulator import Event, Run, timed

DOCS = Path(__file__).parent
DESIGN, SCHEDULE = DOCS / "accelerator_design.svg", DOCS / "accelerator_schedule.svg"
FONT = 'font-family="sans-serif" font-size="12"'
COLORS = {
    "data": "#93c5fd",
    "weights": "#c4b5fd",
    "micro-operations, bias": "#d1d5db",
    "GEMM": "#f59e0b",
    "ALU": "#fcd34d",
    "store": "#86efac",
}


def layer(config: Config) -> AccelCode:
    """The code of a convolution with bias and activation, 32 channels of 14 x 14."""
    chance = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 32, 14, 14))
    weight = relay.const(chance.normal(0, 0.2, (64, 32, 3, 3)).astype("float32"))
    bias = relay.const(chance.normal(0, 0.2, 64).astype("float32"))
    body = nn.relu(nn.bias_add(nn.conv2d(x, weight, padding=1), bias))
    image = chance.standard_normal((1, 32, 14, 14)).astype("float32")
    # there is nothing before this layer that could stay in floats
    scheme = quantize.Scheme(**{**vars(SCHEME), "first": True})
    module = quantize.quantize(relay.Function([x], body), None, [image], scheme=scheme)
    (function,) = external_functions(offloaded(module, config)).values()
    return compile_part(part_of(function), config)


def kind(one: Instruction) -> str | None:
    """The row of the legend that an instruction belongs to."""
    match one:
        case Gemm():
            return "GEMM"
        case Alu():
            return "ALU"
        case Transfer(store=True):
            return "store"
        case Transfer(memory=Memory.INP):
            return "data"
        case Transfer(memory=Memory.WGT):
            return "weights"
        case Transfer():
            return "micro-operations, bias"
    return None


def schedule(code: AccelCode, run: Run) -> str:
    """Units over time: a bar for each instruction, an arrow for each token."""
    width, row, left = 1000, 56, 90
    scale = (width - left - 20) / run.cycles
    top = {unit: 40 + row * unit for unit in Unit}
    parts = []
    for event in run.events:
        one = code.program[event.index]
        name = kind(one)
        if name is None:
            continue
        x, wide = left + event.start * scale, max((event.end - event.start) * scale, 0.6)
        title = f"{event.index}: {one} from {event.start:.0f} to {event.end:.0f}"
        parts.append(
            f'<rect x="{x:.1f}" y="{top[event.unit]}" width="{wide:.1f}" height="30" '
            f'fill="{COLORS[name]}" stroke="#fff" stroke-width="0.4">'
            f"<title>{escape(title)}</title></rect>"
        )
    for source, target in tokens(code, run):
        down = target.unit > source.unit
        begin = top[source.unit] + (30 if down else 0)
        end = top[target.unit] + (0 if down else 30)
        x, to = left + source.end * scale, left + max(target.start, source.end) * scale
        color = "#374151" if down else "#9ca3af"
        parts.append(
            f'<line x1="{x:.1f}" y1="{begin}" x2="{to:.1f}" y2="{end}" stroke="{color}" '
            f'stroke-width="1" marker-end="url(#tip)"/>'
        )
    for unit in Unit:
        parts.append(f'<text x="6" y="{top[unit] + 20}" {FONT}>{unit.name}</text>')
    for number in range(0, int(run.cycles), 5000):
        x = left + number * scale
        parts.append(f'<text x="{x:.0f}" y="{30 + 3 * row}" {FONT} fill="#6b7280">{number}</text>')
    for number, (name, color) in enumerate(COLORS.items()):
        x = left + number * 150
        parts.append(f'<rect x="{x}" y="10" width="14" height="14" fill="{color}"/>')
        parts.append(f'<text x="{x + 19}" y="22" {FONT}>{name}</text>')
    return _svg(width, 40 + 3 * row, parts)


def tokens(code: AccelCode, run: Run) -> list[tuple[Event, Event]]:
    """Who gives each token, and who takes it."""
    waiting: dict[tuple[int, int], list[Event]] = {}
    taken: dict[tuple[int, int], list[Event]] = {}
    for event in sorted(run.events, key=lambda event: event.index):
        sync = code.program[event.index].sync
        unit = int(event.unit)
        for is_there, key, table in (
            (sync.pop_prev, (unit - 1, unit), taken),
            (sync.pop_next, (unit + 1, unit), taken),
            (sync.push_prev, (unit, unit - 1), waiting),
            (sync.push_next, (unit, unit + 1), waiting),
        ):
            if is_there:
                table.setdefault(key, []).append(event)
    return [
        pair
        for key, given in waiting.items()
        for pair in zip(given, taken.get(key, []), strict=False)
    ]


def design(config: Config) -> str:
    """The units, the buffers between them, and the queues of tokens."""
    entries = config.entries
    boxes = {
        "memory": (20, 120, 110, 120, f"memory\n{config.dram_bytes} bytes a cycle"),
        "LOAD": (190, 70, 90, 44, "LOAD"),
        "STORE": (190, 270, 90, 44, "STORE"),
        "inp": (350, 20, 170, 44, f"data: {entries['inp']} entries\nof {config.inp_bytes} bytes"),
        "wgt": (350, 80, 170, 44, f"weights: {entries['wgt']}\nof {config.wgt_bytes} bytes"),
        "uop": (350, 150, 170, 44, f"micro-operations:\n{entries['uop']}"),
        "acc": (350, 270, 170, 44, f"accumulators: {entries['acc']}\nof {config.acc_bytes} bytes"),
        "GEMM": (620, 60, 130, 60, f"GEMM\n{config.name}: {config.macs}\nproducts a cycle"),
        "ALU": (620, 190, 130, 60, f"ALU\n{config.batch * config.block_out} words\na cycle"),
    }
    arrows = [
        ("memory", "LOAD"), ("LOAD", "inp"), ("LOAD", "wgt"), ("memory", "uop"),
        ("inp", "GEMM"), ("wgt", "GEMM"), ("uop", "GEMM"), ("uop", "ALU"), ("GEMM", "acc"),
        ("ALU", "acc"), ("acc", "ALU"), ("acc", "STORE"), ("STORE", "memory"),
    ]  # fmt: skip
    parts = [
        '<rect x="600" y="30" width="170" height="240" fill="none" stroke="#9ca3af" '
        'stroke-dasharray="5 3"/>',
        f'<text x="650" y="290" {FONT}>COMPUTE</text>',
    ]
    for source, target in arrows:
        x, y, wide, high, _ = boxes[source]
        to_x, to_y, to_wide, to_high, _ = boxes[target]
        right = to_x > x
        begin = x + (wide if right else 0), y + high / 2
        end = to_x + (0 if right else to_wide), to_y + to_high / 2
        parts.append(
            f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{end[0]}" y2="{end[1]}" '
            'stroke="#6b7280" marker-end="url(#tip)"/>'
        )
    for x, y, wide, high, text in boxes.values():
        parts.append(
            f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="4" fill="#eff6ff" '
            'stroke="#3b82f6"/>'
        )
        lines = text.split("\n")
        first = y + high / 2 - 7.5 * (len(lines) - 1) + 4
        for number, line in enumerate(lines):
            parts.append(
                f'<text x="{x + wide / 2}" y="{first + 15 * number}" text-anchor="middle" '
                f"{FONT}>{escape(line)}</text>"
            )
    note = f"up to {config.tokens} tokens each way between LOAD and COMPUTE, COMPUTE and STORE"
    parts.append(f'<text x="190" y="345" {FONT} fill="#6b7280">{note}</text>')
    return _svg(790, 360, parts)


def _svg(width: int, height: int, parts: list[str]) -> str:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#6b7280"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><rect width="{width}" height="{height}" fill="#fff"/>'
    )
    return "\n".join([head, tip, *parts, "</svg>"]) + "\n"


def main() -> None:
    config = Config()
    code = layer(config)
    DESIGN.write_text(design(config), encoding="utf-8")
    SCHEDULE.write_text(schedule(code, timed(config, code.program)), encoding="utf-8")


if __name__ == "__main__":
    main()
