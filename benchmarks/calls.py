"""The overhead of calls, parallel loops and waking threads.

    python benchmarks/calls.py                       everything
    python benchmarks/calls.py --threads 4           parallel loops over four threads
    python benchmarks/calls.py --models call,region  some: call, bare, region, memory
    python benchmarks/calls.py --json out.json       records besides the tables

Calls are compared with the smallest operations of other libraries, measured in turns. Empty
parallel loops are compared with a limit of our own, and loops with work with the same work on one
thread. Of minimum, median and 90th percentile, the minimum is the cost of the code and the last
includes interference by other processes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from bare import BareKernels
from measure import SPREAD, Run, relative_error, run_parts, take_turns, time_each

import relay
from relay.cache import Cache
from relay.native.runtime import runtime
from relay.target import Target


def one_operator(size: int) -> relay.Executable:
    x = relay.var("x", shape=(size,))
    with tempfile.TemporaryDirectory() as folder:
        return relay.compile(relay.Function([x], relay.nn.relu(x)), cache=Cache(folder))


def measure_call(run: Run) -> None:
    """A compiled program of one operator, called from Python."""
    exe = one_operator(16)
    x = np.random.default_rng(0).standard_normal(16, np.float32)
    expected = np.maximum(x.astype(np.float64), 0)
    out = np.empty_like(x)
    tensor = torch.from_numpy(x)
    taken = torch.empty_like(tensor)
    torch.set_num_threads(1)
    with torch.inference_mode():
        peers = {
            "numpy": lambda: np.maximum(x, 0),
            "torch": lambda: torch.relu(tensor),
        }
        times = take_turns({"relay": lambda: exe(x), **peers}, 1, run.effort)
        error = relative_error(exe(x), expected)
        found = run.report.compare("exe(x)", 1, times, error=error)
        run.report.wanted("a call from Python", found["relay_ms"] * 1e3, "µs", most=10)
        peers = {
            "numpy": lambda: np.maximum(x, 0, out=out),
            "torch": lambda: torch.clamp_min(tensor, 0, out=taken),
        }
        times = take_turns({"relay": lambda: exe(x, out=out), **peers}, 1, run.effort)
        run.report.compare("exe(x, out=y)", 1, times, error=relative_error(out, expected))
        peers = {"torch": lambda: torch.relu(tensor)}
        times = take_turns({"relay": lambda: exe(tensor), **peers}, 1, run.effort)
        run.report.compare("exe(tensor of torch)", 1, times)
        times = take_turns({"relay": lambda: exe(x=x)}, 1, run.effort)
        run.report.compare("exe(x=x), by name", 1, times)


def measure_bare(run: Run) -> None:
    """An empty kernel called without an executable."""
    kernels = BareKernels(Target.host())
    program = kernels.program("nothing", 1, [])
    call, address = runtime().call, program.request.address
    whole = runtime().run
    arguments = (program.context.address, program.table.ctypes.data, 1, program.frame.ctypes.data)
    a, t = np.zeros(1, np.float32), torch.zeros(1)
    peers = {
        "numpy": lambda: np.add(a, a, out=a),
        "torch": torch.inference_mode()(lambda: torch.add(t, t, out=t)),
    }
    for name, candidate in (
        ("an empty kernel, one argument", lambda: call(address)),
        ("an empty kernel, four arguments", lambda: whole(*arguments)),
    ):
        times = take_turns({"relay": candidate, **peers}, 1, run.effort)
        run.report.compare(name, 1, times)


def measure_region(run: Run) -> None:
    """Parallel loops over spinning and over sleeping threads."""
    kernels = BareKernels(Target.host())
    threads, report = run.threads, run.report
    some, few = (3, 2) if run.quick else (200, 60)
    print(SPREAD)
    repeat = 20
    hot = kernels.program("regions", threads, [threads, repeat, 0])
    time_each(hot, some)
    times = take_turns({"relay": hot}, threads, run.effort)["relay"]
    each = type(times)(tuple(t / repeat for t in times.wall))
    report.line("hot parallel loop", threads, each)
    report.wanted("a hot parallel loop", each.median * 1e6, "µs", most=5)
    parked = kernels.program("regions", threads, [threads, 1, 0])
    report.line("parallel loop, threads asleep", threads, time_each(parked, few, pause=0.01))
    for microseconds in (100, 1000):
        # the loop takes about a cycle per step
        work = microseconds * 2500 // threads
        one = kernels.program("regions", 1, [threads, 1, work])
        shared = kernels.program("regions", threads, [threads, 1, work])
        alone = time_each(one, some)
        report.line(f"{microseconds} µs of work, one thread", 1, alone)
        for name, found in (
            ("hot", time_each(shared, some)),
            ("threads asleep", time_each(shared, few, pause=0.01)),
        ):
            label = f"{microseconds} µs of work, shared, {name}"
            report.line(label, threads, found, peers={"one thread": alone})


def resident() -> int:
    """The resident memory of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the system does not say how much memory a process occupies")


def measure_memory(run: Run) -> None:
    """Memory growth of the process over 100,000 calls."""
    calls = 1_000 if run.quick else 100_000
    exe = one_operator(10_000)
    x = np.random.default_rng(0).standard_normal(10_000, np.float32)
    kept = exe(x)
    for _ in range(calls // 10):
        exe(x)
    before = resident()
    start = time.perf_counter()
    for _ in range(calls):
        exe(x)
    seconds = (time.perf_counter() - start) / calls
    grown = resident() - before
    error = relative_error(kept, np.maximum(x.astype(np.float64), 0))
    print(f"{calls} calls: {before / 2**20:.1f} MB before, {grown / 2**10:+.0f} kB after")
    run.report.wanted(f"growth over {calls} calls", grown / 2**10, "kB", most=256)
    found = {"rss_before": before, "rss_growth": grown, "calls": calls}
    times = time_each(lambda: exe(x), 3)
    run.report.line("a call with 10,000 floats", exe.threads, times, error=error, **found)
    print(f"{'on average over all':<44} {exe.threads:>2}T {'':>10} {seconds * 1e6:10.2f}")


PARTS = {
    "call": measure_call,
    "bare": measure_bare,
    "region": measure_region,
    "memory": measure_memory,
}

if __name__ == "__main__":
    run_parts(__doc__, PARTS, threads=2)
