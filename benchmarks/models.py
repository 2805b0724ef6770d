"""End-to-end networks compared with PyTorch and other installed runtimes.

    python benchmarks/models.py                            all networks of zoo.py and torch_zoo.py
    python benchmarks/models.py --models resnet-18,dqn     some
    python benchmarks/models.py --threads 2                with two threads, as the peers
    python benchmarks/models.py --profile                  and the time of every kernel
    python benchmarks/models.py --torch-compile            with torch.compile as another peer
    python benchmarks/models.py --json out.json            records besides the table
    python benchmarks/models.py --plot out.svg             times relative to the best peer

Batch size 1, the same weights and input everywhere, results compared with float64 in PyTorch.
Compilation starts with an empty cache.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch_zoo
from bars import write_bars
from measure import Run, arguments, relative_error, started, take_turns
from peers import SETTINGS, in_float64, runners, to_torch
from torch import Tensor
from zoo import NETWORKS, example_input, network

import relay
from relay.cache import Cache

NAMES = [*NETWORKS, *torch_zoo.NETWORKS]


def measure(run: Run, name: str, *, compiled: bool, profile: bool) -> None:
    source, model, inputs = subject(name, small=run.quick)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        exe = relay.compile(*source, threads=run.threads, cache=Cache(folder))
        seconds = time.perf_counter() - start
    peers = runners(model, inputs, run.threads, compiled=compiled)
    given = [x.numpy() for x in inputs]
    candidates = {"relay": lambda: exe(*given), **peers}
    times = take_turns(candidates, run.threads, run.effort, time.process_time)
    results = exe(*given)
    found = run.report.compare(
        name,
        run.threads,
        times,
        error=relative_error(
            results[0] if isinstance(results, tuple) else results, in_float64(model, inputs)
        ),
        compile_s=seconds,
        note=f"compiled in {seconds:.1f} s, arena {exe.memory.arena / 2**20:.1f} MB",
        memory=exe.memory.__dict__,
    )
    run.report.wanted(f"{name}, error", found["error"], "of the largest output", most=1e-4)
    if profile:
        print(exe.profile(*given))


def subject(name: str, *, small: bool) -> tuple[tuple[Any, ...], torch.nn.Module, list[Tensor]]:
    """What Relay compiles, the same network in PyTorch, and inputs."""
    if name in torch_zoo.NETWORKS:
        model, inputs = torch_zoo.network(name)
        return (torch.export.export(model, inputs),), model, list(inputs)
    module, params = network(name, small=small)
    x = torch.from_numpy(example_input(module))
    return (module, params), to_torch(module, params), [x]


def main() -> None:
    parser = arguments(__doc__, NAMES)
    parser.add_argument("--profile", action="store_true", help="show the time of every kernel")
    parser.add_argument("--torch-compile", action="store_true", help="time torch.compile too")
    parser.add_argument("--plot", type=Path, help="draw a bar chart into this file (SVG)")
    given = parser.parse_args()
    run = started(given, NAMES)
    for peer, setting in SETTINGS.items():
        print(f"  {peer}: {setting}")
    for name in run.models:
        measure(run, name, compiled=given.torch_compile, profile=given.profile)
    run.report.write(given.json)
    if given.plot:
        plot(given.plot, run)


def plot(file: Path, run: Run) -> None:
    """The speed of Relay on every network, relative to the best peer."""
    title = f"Speed relative to the best peer, {run.threads} threads, batch 1, float32"
    ratios = {str(record["name"]): [float(record["ratio"])] for record in run.report.records}
    write_bars(file, title, "best peer's time / Relay's; above 1 is faster", ["relay"], ratios)


if __name__ == "__main__":
    main()
