"""What notebooks show of programs, types, schedules and reports: HTML without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from relay.errors import RelayError
from relay.ir.expr import Expr
from relay.ir.module import IRModule

if TYPE_CHECKING:
    from relay.executors.report import Kernels, Memory, Profile
    from relay.te.schedule import Schedule

LINES = 400  # of a text
NODES = 400  # of a picture


def program(shown: IRModule | Expr) -> str:
    """The text, and the picture of a program that is not too large for one."""
    from relay.viz.graph import graph_of
    from relay.viz.pictures import svg

    text = _text(shown.astext(show_meta_data=False))
    graph = graph_of(shown)
    if len(graph.nodes) < 2:
        return text
    if len(graph.nodes) > NODES:
        note = f"{len(graph.nodes)} nodes, too many for a picture here: see relay view"
        return f"{text}<p>{note}</p>"
    picture = f'<div style="overflow:auto;max-height:40em">{svg(graph)}</div>'
    return f"{picture}<details><summary>text</summary>{text}</details>"


def plain(shown: object) -> str:
    """One line, such as a type."""
    return f"<code>{escape(str(shown))}</code>"


def schedule(shown: Schedule) -> str:
    """The definitions of its tensors, its stages, and its loops."""
    from relay.program.explain import definitions
    from relay.te.lower import lower

    try:
        loops = str(lower(shown).body)
    except RelayError as error:  # one that a target extends on its own
        loops = str(error)
    rows = [
        (stage.name, stage.scope.value, " ".join(loop.name for loop in stage.loops))
        for stage in shown.stages
    ]
    stages = table(("stage", "memory", "loops"), rows)
    return f"{_text(definitions(shown.outputs))}{stages}{_text(loops)}"


def profile(shown: Profile) -> str:
    """A row for each step, with a bar for its share."""
    from relay.executors.report import time_text

    whole = shown.seconds or 1.0
    rows = []
    for step in shown:
        share = 100 * step.seconds / whole
        bar = f'<div style="background:#3b82f6;height:0.8em;width:{share * 2:.0f}px"></div>'
        operators = escape(" ".join(step.kernel.operators))
        rates = step.rate(step.kernel.flops), step.rate(step.kernel.bytes), *shown.of_roof(step)
        cells = (
            escape(step.kernel.name),
            str(step.kernel.calls),
            time_text(step.seconds),
            f"{share:.1f} %",
            bar,
            *rates,
            operators,
        )
        rows.append(cells)
    limit = () if shown.roof is None else ("of roof",)
    head = ("kernel", "calls", "time", "share", "", "GFLOP/s", "GB/s", *limit, "operators")
    between = f", {time_text(shown.outside)} of it between the kernels" if shown.outside else ""
    return f"{_table(head, rows)}<p>{time_text(shown.seconds)}{between}</p>"


def lines(shown: Memory | Kernels) -> str:
    """A report that is a table in text."""
    return _text(str(shown))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of texts."""
    return _table(head, [[escape(str(cell)) for cell in row] for row in rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"

    return f"<table>{row(head, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"


def _text(text: str) -> str:
    found = text.splitlines()
    if len(found) > LINES:
        found[LINES:] = [f"… and {len(found) - LINES} more lines"]
    return f'<pre style="line-height:1.25">{escape(chr(10).join(found))}</pre>'
