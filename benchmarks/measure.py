"""Timing, printing and records, shared by the benchmarks.

    times = take_turns({"relay": lambda: exe(x), "torch": lambda: model(t)}, threads=1)
    report.compare("dense", times, error=relative_error(y, expected), compile_s=0.4)

Other processes slow a machine down for seconds at a time. So candidates take turns of some 20 ms
and are measured under the same conditions. A turn begins with a pause, in which the threads of the
previous candidate stop spinning, and with a warm-up call. The result is the median over turns of
the fastest call of a turn. Where one thread computes, its processor time is measured as well, which
other processes do not affect.

A number with a limit is printed with it, and again at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Record = dict[str, Any]
Candidate = Callable[[], Any]


# --- taking times ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Seconds per call, one number per turn; `cpu` is empty where several threads ran."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def best(self) -> float:
        return min(self.wall)

    @property
    def high(self) -> float:
        """The 90th percentile of the turns."""
        return sorted(self.wall)[int(0.9 * (len(self.wall) - 1))]

    @property
    def cpu_median(self) -> float | None:
        return statistics.median(self.cpu) if self.cpu else None


@dataclass(frozen=True)
class Effort:
    """The number of turns, the seconds of a turn, and of the pause before it."""

    turns: int = 15
    seconds: float = 0.02
    pause: float = 0.02


THOROUGH = Effort()
QUICK = Effort(turns=2, seconds=0.0005, pause=0.0)


def take_turns(
    candidates: Mapping[str, Candidate],
    threads: int = 1,
    effort: Effort = THOROUGH,
    processor_time: Callable[[], float] = time.thread_time,
) -> dict[str, Times]:
    """Time all candidates in turns.

    `processor_time` is that of the calling thread, or of the process where a candidate computes in
    another thread.
    """
    plans = {name: _plan(candidate, effort) for name, candidate in candidates.items()}
    wall: dict[str, list[float]] = {name: [] for name in candidates}
    cpu: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(effort.turns):
        for name, candidate in candidates.items():
            time.sleep(effort.pause)
            candidate()
            fastest, shortest = _turn(candidate, *plans[name], processor_time)
            wall[name].append(fastest)
            cpu[name].append(shortest)
    return {
        name: Times(tuple(wall[name]), tuple(cpu[name]) if threads == 1 else ())
        for name in candidates
    }


def _plan(candidate: Candidate, effort: Effort) -> tuple[int, int]:
    """(measurements per turn, calls per measurement): a measurement takes at least 50 µs, so that
    the overhead of the clock is negligible."""
    candidate()
    start = time.perf_counter()
    candidate()
    seconds = max(time.perf_counter() - start, 1e-7)
    calls = max(1, round(50e-6 / seconds))
    return max(1, round(effort.seconds / (seconds * calls))), calls


def _turn(
    candidate: Candidate, measurements: int, calls: int, processor_time: Callable[[], float]
) -> tuple[float, float]:
    """(wall time, processor time) of the fastest calls."""
    fastest = shortest = float("inf")
    repeat = range(calls)
    for _ in range(measurements):
        cpu = processor_time()
        start = time.perf_counter()
        for _ in repeat:
            candidate()
        fastest = min(fastest, time.perf_counter() - start)
        shortest = min(shortest, processor_time() - cpu)
    return fastest / calls, shortest / calls


def time_each(f: Candidate, repeat: int, calls: int = 1, pause: float = 0.0) -> Times:
    """`repeat` measurements of `calls` calls each, all kept; `pause` seconds before each."""
    found = []
    for _ in range(repeat):
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        for _ in range(calls):
            f()
        found.append((time.perf_counter() - start) / calls)
    return Times(tuple(found))


def relative_error(found: Any, expected: Any) -> float:
    """The largest difference relative to the largest expected number."""
    expected = np.asarray(expected, np.float64)
    difference = np.abs(np.asarray(found, np.float64) - expected)
    return float(difference.max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-300))


# --- reports -----------------------------------------------------------------------------------


def record(
    name: str,
    threads: int,
    ours: Times | float,
    peers: Mapping[str, Times] | None = None,
    *,
    error: float | None = None,
    compile_s: float | None = None,
    **more: Any,
) -> Record:
    """The record of a measurement. `ratio` is the time of the best peer over ours."""
    own = ours.median if isinstance(ours, Times) else ours
    medians = {peer: times.median * 1e3 for peer, times in (peers or {}).items()}
    best = min(medians, key=lambda peer: medians[peer]) if medians else None
    result: Record = {
        "name": name,
        "threads": threads,
        "relay_ms": own * 1e3,
        "peers": medians,
        "best_peer": best,
        "ratio": medians[best] / (own * 1e3) if best is not None else None,
        "error": error,
        "compile_s": compile_s,
    }
    if isinstance(ours, Times):
        result |= {"min_ms": ours.best * 1e3, "p90_ms": ours.high * 1e3}
        if ours.cpu_median is not None:
            result["relay_cpu_ms"] = ours.cpu_median * 1e3
            result["peers_cpu_ms"] = {
                peer: times.cpu_median * 1e3
                for peer, times in (peers or {}).items()
                if times.cpu_median is not None
            }
    return result | more


@dataclass
class Report:
    """The records of a run, printed as they come."""

    records: list[Record] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def add(self, found: Record) -> Record:
        self.records.append(found)
        return found

    def compare(
        self,
        name: str,
        threads: int,
        times: Mapping[str, Times],
        *,
        note: str = "",
        **more: Any,
    ) -> Record:
        """Print and record our time, those of the peers and the ratio to the best."""
        peers = {peer: found for peer, found in times.items() if peer != "relay"}
        found = self.add(record(name, threads, times["relay"], peers, **more))
        cells = [f"{name:<38} {threads:>2}T {_time(times['relay'])}"]
        cells += [f"{peer} {_time(its)}" for peer, its in peers.items()]
        if found["ratio"] is not None:
            cells.append(f"ratio {found['ratio']:.2f}")
        if found["error"] is not None:
            cells.append(f"error {found['error']:.0e}")
        print("  ".join([*cells, note]).rstrip(), flush=True)
        return found

    def line(self, name: str, threads: int, times: Times, **more: Any) -> Record:
        """Print and record minimum, median and 90th percentile in microseconds."""
        print(
            f"{name:<44} {threads:>2}T {times.best * 1e6:10.2f} {times.median * 1e6:10.2f} "
            f"{times.high * 1e6:10.2f}",
            flush=True,
        )
        return self.add(record(name, threads, times, **more))

    def wanted(
        self, what: str, measured: float, unit: str, *, least: float = -np.inf, most: float = np.inf
    ) -> None:
        """Record a number that has a limit."""
        limit = f"at least {least:g}" if least > -np.inf else f"at most {most:g}"
        text = f"{what}: measured {measured:.3g} {unit}, wanted {limit}"
        self.limits.append(text)
        print(f"  > {text}", flush=True)

    def write(self, file: str | None) -> None:
        if self.limits:
            print("\nlimits")
            print("\n".join(f"  {text}" for text in self.limits))
        if file:
            with open(file, "w") as out:
                json.dump(self.records, out, indent=1)


def _time(times: Times) -> str:
    """`1.234 ms` with the processor time where that is known: `1.234 (1.230) ms`."""
    scale, unit = (1e3, "ms") if times.median >= 1e-3 else (1e6, "µs")
    cpu = "" if times.cpu_median is None else f" ({times.cpu_median * scale:.4g})"
    return f"{times.median * scale:.4g}{cpu} {unit}"


SPREAD = f"{'microseconds':<44} {'':>3} {'minimum':>10} {'median':>10} {'90 %':>10}"


# --- scripts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """The options of a run, and its report."""

    threads: int
    models: tuple[str, ...]
    quick: bool
    report: Report

    @property
    def effort(self) -> Effort:
        return QUICK if self.quick else THOROUGH

    @property
    def counts(self) -> list[int]:
        """The thread counts to measure: one, and the number asked for."""
        return sorted({1, self.threads})


def arguments(doc: str | None, models: Sequence[str], threads: int = 1) -> argparse.ArgumentParser:
    """The options common to all benchmarks; `models` are the names to choose from, all by
    default."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--models", default=",".join(models), help="what to run, by name")
    parser.add_argument("--threads", type=int, default=threads, help="the most threads to use")
    parser.add_argument("--json", help="write the records to this file")
    parser.add_argument("--quick", action="store_true", help="only whether it runs: no numbers")
    return parser


def started(given: argparse.Namespace, known: Sequence[str]) -> Run:
    """The run that the command line asks for."""
    models = tuple(given.models.split(","))
    if unknown := [name for name in models if name not in known]:
        raise SystemExit(f"no {', '.join(unknown)}; there is {', '.join(known)}")
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"{os.cpu_count()} cores{load}; times are medians over turns of the fastest call in a turn;"
        " in brackets the processor time, where one thread computes"
    )
    return Run(given.threads, models, given.quick, Report())


def run_parts(
    doc: str | None, parts: Mapping[str, Callable[[Run], None]], threads: int = 1
) -> None:
    """Run a script whose models are functions."""
    given = arguments(doc, list(parts), threads).parse_args()
    run = started(given, list(parts))
    for name in run.models:
        summary = (parts[name].__doc__ or "").splitlines()[0]
        print(f"\n--- {name}: {summary}")
        parts[name](run)
    run.report.write(given.json)
