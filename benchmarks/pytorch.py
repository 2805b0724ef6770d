"""Models of PyTorch: ours beside eager torch and inductor, latency, time to compile, memory.

    python benchmarks/pytorch.py                        all models, small configurations
    python benchmarks/pytorch.py --models bert,llama    some
    python benchmarks/pytorch.py --threads 2            with two threads, as the peers
    python benchmarks/pytorch.py --json out.json        records besides the table
    python benchmarks/pytorch.py --without-memory       quicker

The models of `transformers` are those of tests/models/in_transformers.py, exported with batch and
length open. Latencies are measured in turns in one process, where the seconds to the first result,
with empty caches, are the time to compile. The growth of the largest resident size is measured in a
process for each, which calls five times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from measure import Run, arguments, relative_error, started, take_turns

import relay
from relay.cache import Cache

try:
    from tests.models.in_transformers import MODELS, exported
except ImportError:  # transformers is an extra
    MODELS = {}

BATCH, LENGTH = 4, 32
RUNNERS = ("relay", "eager", "inductor")


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 256), torch.nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


def prepared(name: str) -> tuple[Any, torch.nn.Module, tuple[torch.Tensor, ...]]:
    """What Relay compiles, the eager model, and inputs."""
    torch.manual_seed(0)
    if name == "mlp":
        model, inputs = Mlp().eval(), (torch.randn(BATCH, 64),)
        return torch.export.export(model, inputs), model, inputs
    found = exported(MODELS[name])
    batch, length = BATCH if found.batch else 2, LENGTH if found.length else 8
    return found.program, found.eager, MODELS[name].inputs(batch, length)


def compiled(
    runner: str, program: Any, eager: torch.nn.Module, threads: int, folder: str
) -> Callable[..., Any]:
    """A model as a runner calls it."""
    if runner == "relay":
        return relay.compile(program, threads=threads, cache=Cache(folder))
    if runner == "eager":
        return eager
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    return torch.compile(eager, dynamic=True)


def alone(name: str, runner: str, threads: int) -> float | None:
    """The growth of memory, in MiB, in a process of its own."""
    command = [sys.executable, __file__, "--models", name, "--alone", runner]
    done = subprocess.run(
        [*command, "--threads", str(threads)], capture_output=True, text=True, check=False
    )
    return None if done.returncode else float(done.stdout.splitlines()[-1])


def in_this_process(name: str, runner: str, threads: int) -> None:
    program, eager, inputs = prepared(name)
    Path("/proc/self/clear_refs").write_text("5")  # the largest resident size begins here
    before = largest()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        run = compiled(runner, program, eager, threads, folder)
        for _ in range(5):
            run(*inputs)
    print((largest() - before) / 1024)


def largest() -> int:
    """The largest resident size of this process, in KiB; it is Linux that keeps it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def measure(run: Run, name: str, with_memory: bool) -> None:
    program, eager, inputs = prepared(name)
    names = RUNNERS[:2] if run.quick else RUNNERS
    runners, results, seconds = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for one in names:
            start = time.perf_counter()
            try:
                runner = compiled(one, program, eager, run.threads, folder)
                results[one] = first(runner(*inputs))
            except torch._dynamo.exc.TorchDynamoException as error:  # inductor's own
                print(f"  {name}: {one} fails, {str(error).splitlines()[0]}")
                continue
            runners[one], seconds[one] = runner, time.perf_counter() - start
        times = take_turns(
            {one: lambda call=call: call(*inputs) for one, call in runners.items()},
            run.threads,
            run.effort,
            time.process_time,
        )
        doubled = tuple(one.double() if one.is_floating_point() else one for one in inputs)
        exact = first(eager.double()(*doubled))
    measured = with_memory and not run.quick
    memory = {one: alone(name, one, run.threads) for one in runners} if measured else {}
    costs = {one: {"seconds": seconds[one], "mib": memory.get(one)} for one in runners}
    note = "  ".join(
        f"{one}: {cost['seconds']:.1f} s"
        + ("" if cost["mib"] is None else f", {cost['mib']:.0f} MiB")
        for one, cost in costs.items()
    )
    run.report.compare(
        name,
        run.threads,
        times,
        error=relative_error(results["relay"].numpy(), exact.numpy()),
        compile_s=seconds["relay"],
        note=note,
        costs=costs,
    )


def first(results: Any) -> torch.Tensor:
    found: torch.Tensor = results if isinstance(results, torch.Tensor) else results[0]
    return found


def main() -> None:
    known = ["mlp", *MODELS]
    parser = arguments(__doc__, known)
    parser.add_argument("--alone", choices=RUNNERS, help="only memory, in this process")
    parser.add_argument("--without-memory", action="store_true", help="no processes for memory")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(given.threads)
    if given.alone:
        in_this_process(given.models, given.alone, given.threads)
        return
    run = started(given, known)
    print("  inductor: torch.compile(model, dynamic=True), without autotuning")
    for name in run.models:
        measure(run, name, not given.without_memory)
        run.report.write(given.json)


if __name__ == "__main__":
    main()
