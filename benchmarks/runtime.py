"""What it costs to get into compiled code: a foreign call, a parallel loop, a thread that slept.

    python benchmarks/runtime.py                     everything
    python benchmarks/runtime.py --threads 4         parallel loops over four threads
    python benchmarks/runtime.py --models call,load  some: call, region, load, compile
    python benchmarks/runtime.py --json out.json     records besides the tables

Times are shown as minimum, median and 90th percentile; on a machine with other work to do the
first says what the code costs, the last what the machine does to it. Calls stand beside what other
libraries take for their smallest operation, measured in turns. Parallel loops have no peer that
can be asked: loops without work are compared with the limit we set ourselves, loops with work with
the same work done by one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.native.runtime import Context, Request, runtime, runtime_object
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import Library, load

# regions: `repeat` parallel loops over `extent`, whose body counts to `work`; nothing: a kernel
# that does nothing
KERNELS = """
define internal void @count(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker) {
entry:
  %work = load i64, ptr %closure
  %size = sub i64 %end, %begin
  %steps = mul i64 %size, %work
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void asm sideeffect "", "r"(i64 %i)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %steps
  br i1 %more, label %loop, label %done
done:
  ret void
}
define i32 @regions(ptr %context, ptr %args) {
entry:
  %extent = load i64, ptr %args
  %repeat.at = getelementptr i64, ptr %args, i64 1
  %repeat = load i64, ptr %repeat.at
  %work = getelementptr i64, ptr %args, i64 2
  %parallel = load ptr, ptr %context
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %parallel(ptr %context, ptr @count, ptr %work, i64 %extent)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %repeat
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
define i32 @nothing(ptr %context, ptr %args) {
  ret i32 0
}
"""

Record = dict[str, Any]


def record(name: str, threads: int, seconds: Sequence[float], **more: Any) -> Record:
    """One line of the table, and its record."""
    low, middle, high = summary(seconds)
    print(f"{name:<44} {low * 1e6:10.2f} {middle * 1e6:10.2f} {high * 1e6:10.2f}")
    empty = {"peers": {}, "best_peer": None, "ratio": None, "error": None, "compile_s": None}
    spread = {"min_ms": low * 1e3, "p90_ms": high * 1e3}
    return {"name": name, "threads": threads, "relay_ms": middle * 1e3, **empty, **spread, **more}


def summary(seconds: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(seconds)
    return ordered[0], statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))]


def times(f: Callable[[], Any], repeat: int, inner: int = 1) -> list[float]:
    """`repeat` measurements of `inner` calls each, per call."""
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            f()
        found.append((time.perf_counter() - start) / inner)
    return found


class Program:
    """One kernel in memory the way the runtime wants it."""

    def __init__(self, library: Library, kernel: str, threads: int, arguments: Sequence[int]):
        self.library = library  # addresses keep nothing alive
        self.frame = np.array(arguments or [0], np.int64)
        self.indices = np.arange(len(arguments), dtype=np.int32)
        self.table = np.array(
            [library.address(kernel), self.indices.ctypes.data, len(arguments)], np.int64
        )
        self.context = Context(threads)
        self.request = Request(self.context, self.table.ctypes.data, 1, self.frame.ctypes.data)

    def __call__(self) -> None:
        if runtime().call(self.request.address):
            raise RuntimeError("a kernel failed")


def kernels() -> Library:
    from llvmlite import binding

    binding.initialize_native_asmparser()  # for the assembler statement above
    return load(compile_module([KERNELS], Target.host()), ["regions", "nothing"])


# --- what is measured --------------------------------------------------------------------------


def measure_call(threads: int) -> list[Record]:
    """From Python into a kernel and back, beside the smallest operations of others."""
    import torch

    program = Program(kernels(), "nothing", 1, [])
    call, address = runtime().call, program.request.address
    run = runtime().run
    arguments = (
        program.context.address,
        program.table.ctypes.data,
        1,
        program.frame.ctypes.data,
    )
    a = np.zeros(1, np.float32)
    t = torch.zeros(1)
    candidates: dict[str, Callable[[], Any]] = {
        "call of one empty kernel, one argument": lambda: call(address),
        "call of one empty kernel, four arguments": lambda: run(*arguments),
        "numpy": lambda: np.add(a, a, out=a),
        "torch": lambda: torch.add(t, t, out=t),
    }
    found: dict[str, list[float]] = {name: [] for name in candidates}
    with torch.inference_mode():
        for _ in range(200):
            for name, candidate in candidates.items():
                found[name] += times(candidate, 1, 100)
    peers = {name: summary(found[name])[1] * 1e3 for name in ("numpy", "torch")}
    best = min(peers, key=lambda name: peers[name])
    records = []
    for name in list(candidates)[:2]:
        ratio = peers[best] / (summary(found[name])[1] * 1e3)
        more = {"peers": peers, "best_peer": best, "ratio": ratio}
        records.append(record(name, 1, found[name], **more))
    for name in peers:
        record(f"{name} adds one number to another", 1, found[name])
    return records


def measure_region(threads: int) -> list[Record]:
    """Parallel loops: hot, and over threads that sleep."""
    library = kernels()
    hot = Program(library, "regions", threads, [threads, 20, 0])
    times(hot, 100)
    records = [record("hot parallel loop", threads, [t / 20 for t in times(hot, 2000)])]

    def slept(program: Program) -> list[float]:
        found = []
        for _ in range(60):
            time.sleep(0.01)
            found += times(program, 1)
        return found

    parked = Program(library, "regions", threads, [threads, 1, 0])
    records.append(record("parallel loop, threads asleep", threads, slept(parked)))
    for microseconds in (100, 1000):
        # the loop takes about a cycle per step
        work = microseconds * 2500
        alone = times(Program(library, "regions", 1, [threads, 1, work // threads]), 40)
        records.append(record(f"{microseconds} µs of work, one thread", 1, alone))
        shared = Program(library, "regions", threads, [threads, 1, work // threads])
        more = {"peers": {"one thread": summary(alone)[1] * 1e3}, "best_peer": "one thread"}
        for name, found in (("hot", times(shared, 200)), ("threads asleep", slept(shared))):
            ratio = summary(alone)[1] / summary(found)[1]
            label = f"{microseconds} µs of work, shared, {name}"
            records.append(record(label, threads, found, ratio=ratio, **more))
    return records


def measure_load(threads: int) -> list[Record]:
    """Object code into this process."""
    names = [f"f{i}" for i in range(60)]
    objects = [
        compile_module([f"define i32 @{name}() {{ ret i32 0 }}"], Target.host()) for name in names
    ]
    return [
        record("load an object", 1, times(lambda: load(objects[0], names[:1]), 100)),
        record("load 60 objects", 1, times(lambda: load(objects, names), 20)),
    ]


def measure_compile(threads: int) -> list[Record]:
    """The runtime's own code, for this machine and for another."""
    records = []
    for target in (Target.host(), Target.aarch64()):
        found = times(lambda target=target: runtime_object(target), 10)
        records.append(record(f"compile the runtime for {target.arch}", 1, found))
    return records


PARTS = {
    "call": measure_call,
    "region": measure_region,
    "load": measure_load,
    "compile": measure_compile,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", default=",".join(PARTS), help="parts to run, by name")
    options.add_argument("--threads", type=int, default=2, help="threads of a parallel loop")
    options.add_argument("--json", help="write the records to this file")
    given = options.parse_args()
    records: list[Record] = []
    for name in given.models.split(","):
        print(f"--- {name}: {PARTS[name].__doc__}")
        print(f"{'microseconds':<44} {'minimum':>10} {'median':>10} {'90 %':>10}")
        records += PARTS[name](given.threads)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(records, file, indent=1)


if __name__ == "__main__":
    main()
