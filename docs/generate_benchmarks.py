"""Write `docs/benchmarks.md` and its plots from the results in `docs/benchmarks/*.json`.

    python benchmarks/models.py --threads 1 --json docs/benchmarks/models.json
    python docs/generate_benchmarks.py

A file is a list of records as every script in `benchmarks/` writes them with `--json`; a file
beside it with the same name and the ending `.txt` may say on which machine they were measured.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS, PAGE = DOCS / "benchmarks", DOCS / "benchmarks.md"
HEAD = """# Benchmarks

Times are medians of calls that take turns with those of the peers on the same machine, with the
same inputs and as many threads (`benchmarks/measure.py`). The ratio is the time of the fastest peer
over that of Relay: above 1, Relay is faster. The error is the largest difference from float64,
relative to the largest number. Memory is the growth of the largest resident size of a process of
its own, from after its imports, while it compiles and calls five times.
`docs/generate_benchmarks.py` writes this page from the records in `docs/benchmarks/`; the first
lines of `benchmarks/models.py` say how they are made.
"""
BAR, ROW, LEFT, WIDE = 14, 8, 170, 760


def section(path: Path) -> str:
    """A heading, a plot and a table."""
    records = json.loads(path.read_text(encoding="utf-8"))
    note = path.with_suffix(".txt")
    peers = sorted({name for record in records for name in record["peers"]})
    lines = [f"\n## {path.stem.replace('_', ' ').capitalize()}\n"]
    if note.exists():
        lines.append(note.read_text(encoding="utf-8").strip() + "\n")
    lines.append(f"![times](benchmarks/{path.stem}.svg)\n")
    head = ["", "threads", "relay", *peers, "ratio", "error"]
    lines.append(f"| {' | '.join(head)} |")
    lines.append(f"|---|{'--:|' * (len(head) - 1)}")
    for record in records:
        times = [_ms(record["peers"].get(name)) for name in peers]
        cells = [
            record["name"],
            str(record["threads"]),
            _ms(record["relay_ms"]),
            *times,
            f"**{record['ratio']:.2f}**",
            "" if record.get("error") is None else f"{record['error']:.0e}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if any("costs" in record for record in records):
        lines += ["", *costs(records)]
    return "\n".join(lines) + "\n"


def costs(records: list[dict[str, Any]]) -> list[str]:
    """A table of seconds to the first result, and of memory."""
    runners = sorted({name for record in records for name in record.get("costs", {})})
    runners.sort(key=lambda name: name != "relay")
    compiling = [name for name in runners if name != "eager"]
    head = [
        "",
        *(f"{name}: first result" for name in compiling),
        *(f"{name}: memory" for name in runners),
    ]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
    for record in records:
        found = record.get("costs", {})
        seconds = [found.get(name, {}).get("seconds") for name in compiling]
        sizes = [found.get(name, {}).get("mib") for name in runners]
        cells = [
            record["name"],
            *("" if one is None else f"{one:.1f} s" for one in seconds),
            *("" if one is None else f"{one:.0f} MiB" for one in sizes),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g} ms" if value >= 1 else f"{value * 1000:.3g} µs"


def plot(path: Path) -> str:
    """Horizontal bars: the time of each candidate over that of the fastest."""
    records: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    parts: list[str] = []
    y = 10
    for record in records:
        times = {"relay": record["relay_ms"], **record["peers"]}
        slowest, fastest = max(times.values()), min(times.values())
        parts.append(f'<text x="4" y="{y + 11}" font-weight="bold">{escape(record["name"])}</text>')
        for name, value in sorted(times.items(), key=lambda item: item[1]):
            width = (WIDE - LEFT - 120) * value / slowest
            color = "#0969da" if name == "relay" else "#9aa5b1"
            parts.append(
                f'<text x="{LEFT - 6}" y="{y + 11}" text-anchor="end">{escape(name)}</text>'
                f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'
                f'<text x="{LEFT + width + 6:.1f}" y="{y + 11}">{_ms(value)}, '
                f"{value / fastest:.2f}</text>"
            )
            y += BAR + 3
        y += ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{y}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
        + "\n".join(parts)
        + "</svg>\n"
    )


def files() -> list[Path]:
    """The results."""
    return sorted(RESULTS.glob("*.json"))


def main() -> None:
    """Write the page and the plots."""
    PAGE.write_text(HEAD + "".join(map(section, files())), encoding="utf-8")
    for path in files():
        path.with_suffix(".svg").write_text(plot(path), encoding="utf-8")


if __name__ == "__main__":
    main()
