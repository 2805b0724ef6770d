"""End-to-end networks compared with PyTorch and other installed runtimes.

    python benchmarks/models.py                            all networks of `relay.testing`
    python benchmarks/models.py --models resnet-18,dqn     some
    python benchmarks/models.py --threads 2                with two threads, as the peers
    python benchmarks/models.py --profile                  and the time of every kernel
    python benchmarks/models.py --torch-compile            with torch.compile as another peer
    python benchmarks/models.py --json out.json            records besides the table

Batch size 1, the same weights and input everywhere, results compared with float64 in PyTorch.
Compilation starts with an empty cache.
"""

from __future__ import annotations

import tempfile
import time

from measure import Run, arguments, relative_error, started, take_turns
from peers import SETTINGS, in_float64, runners, to_torch
from zoo import NETWORKS, example_input, network

import relay
from relay.cache import Cache


def measure(run: Run, name: str, *, compiled: bool, profile: bool) -> None:
    module, params = network(name, small=run.quick)
    x = example_input(module)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        exe = relay.compile(module, params, threads=run.threads, cache=Cache(folder))
        seconds = time.perf_counter() - start
    in_torch = to_torch(module, params)
    peers = runners(in_torch, x, run.threads, compiled=compiled)
    candidates = {"relay": lambda: exe(x), **peers}
    times = take_turns(candidates, run.threads, run.effort, time.process_time)
    found = run.report.compare(
        name,
        run.threads,
        times,
        error=relative_error(exe(x), in_float64(in_torch, x)),
        compile_s=seconds,
        note=f"compiled in {seconds:.1f} s, arena {exe.memory.arena / 2**20:.1f} MB",
        memory=exe.memory.__dict__,
    )
    run.report.wanted(f"{name}, error", found["error"], "of the largest output", most=1e-4)
    if profile:
        print(exe.profile(x))


def main() -> None:
    parser = arguments(__doc__, list(NETWORKS))
    parser.add_argument("--profile", action="store_true", help="show the time of every kernel")
    parser.add_argument("--torch-compile", action="store_true", help="time torch.compile too")
    given = parser.parse_args()
    run = started(given, list(NETWORKS))
    for peer, setting in SETTINGS.items():
        print(f"  {peer}: {setting}")
    for name in run.models:
        measure(run, name, compiled=given.torch_compile, profile=given.profile)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
