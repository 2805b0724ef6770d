"""`relay bench`: the time of a call, beside the runtimes that people use."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.inputs import call_of
from relay.cli.output import show, working
from relay.errors import RelayError

TURN = 0.02  # seconds that one candidate is measured before the next has its turn
PERCENTILES = (50, 90, 99)
WARM_UP = 3


def bench(
    model: options.Model,
    given: options.Inputs = None,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers", help="Measure ONNX Runtime (models of ONNX) or LiteRT (TFLite) as well."
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.05, max=3600, help="How long to measure.")] = 2.0,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Latency percentiles and throughput of a model; with --peers beside other runtimes.

    Candidates take turns of 20 ms, so that all are measured under the same conditions.
    """
    started = time.perf_counter()
    with working(f"compiling {model.name}") as progress:
        shapes = options.shapes_of(shape)
        exe = models.executable(model, shapes, threads, target, progress, level=level)
    compiled = time.perf_counter() - started
    args, named = call_of(exe, given)
    candidates: dict[str, Callable[[], Any]] = {"relay": lambda: exe(*args, **named)}
    if peers:
        if named:
            raise RelayError("--peers takes inputs by position: --input x.npy --input y.npy")
        candidates |= _peers(model, args, exe.threads)
    with working("measuring"):
        times = take_turns(candidates, seconds)
    rows = {name: _statistics(found) for name, found in times.items()}
    head = f"compiled in {compiled:.2f} s, {exe.threads} threads"
    text = f"{head}\n{_table(rows)}"
    show(text, json, {"compile_s": compiled, "threads": exe.threads, "times": rows})


def take_turns(candidates: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """The times of calls of each candidate, measured in turns of `TURN`."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for once in candidates.values():
        for _ in range(WARM_UP):
            once()
    end = time.perf_counter() + seconds * len(candidates)
    while time.perf_counter() < end or not all(times.values()):
        for name, once in candidates.items():
            once()  # the caches are its own again
            turn = time.perf_counter() + TURN
            while True:
                start = time.perf_counter()
                once()
                done = time.perf_counter()
                times[name].append(done - start)
                if done >= turn:
                    break
    return times


def _statistics(times: list[float]) -> dict[str, float]:
    import numpy as np

    found = {f"p{p}": float(np.percentile(times, p)) for p in PERCENTILES}
    mean = float(np.mean(times))
    return {"calls": len(times), "mean": mean, "min": min(times), **found, "per_second": 1 / mean}


def _table(rows: dict[str, dict[str, float]]) -> str:
    from relay.executors.report import table_text, time_text

    fastest = min(row["p50"] for row in rows.values())
    names = ("p50", "p90", "p99", "mean", "min")
    lines = [
        (
            name,
            *(time_text(row[one]) for one in names),
            f"{row['per_second']:.1f}",
            f"{row['p50'] / fastest:.2f}",
        )
        for name, row in rows.items()
    ]
    return table_text(("", *names, "calls/s", "to fastest"), lines, "<" + ">" * (len(names) + 2))


def _peers(model: Path, args: tuple[Any, ...], threads: int) -> dict[str, Callable[[], Any]]:
    """Calls of the same model in other runtimes."""
    import numpy as np

    from relay.frontend.model import is_tflite

    inputs = [np.asarray(arg) for arg in args]
    if model.suffix == ".onnx":
        return {"onnxruntime": _onnx_runtime(model, inputs, threads)}
    if is_tflite(model):
        return {"litert": _litert(model, inputs, threads)}
    raise RelayError(f"--peers are for models of ONNX and TFLite, and `{model}` is neither")


def _onnx_runtime(model: Path, inputs: list[Any], threads: int) -> Callable[[], Any]:
    runtime = _package("onnxruntime", "onnxruntime")
    session_options = runtime.SessionOptions()
    session_options.intra_op_num_threads = threads
    session = runtime.InferenceSession(
        str(model), session_options, providers=["CPUExecutionProvider"]
    )
    feed = {one.name: value for one, value in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feed)


def _litert(model: Path, inputs: list[Any], threads: int) -> Callable[[], Any]:
    runtime = _package("ai_edge_litert.interpreter", "ai-edge-litert")
    interpreter = runtime.Interpreter(str(model), num_threads=threads)
    interpreter.allocate_tensors()
    places = [one["index"] for one in interpreter.get_input_details()]

    def once() -> None:
        for place, value in zip(places, inputs, strict=True):
            interpreter.set_tensor(place, value)
        interpreter.invoke()

    return once


def _package(module: str, name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise RelayError(f"--peers needs the package {name}: pip install {name}") from None
