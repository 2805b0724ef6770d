"""Time to compile, save and load models, by stage.

    python benchmarks/compile_time.py                       ResNet-18 and 50, MobileNet
    python benchmarks/compile_time.py --models resnet-18    one of them
    python benchmarks/compile_time.py --json out.json       records besides the tables

Every compilation runs in its own process: `cold` with an empty cache, `kernels` with the kernels
that the cold run cached, `warm` with the whole program cached, `load` with an empty cache and the
saved file. Byte code of the package is compiled beforehand, as after installation. Starting Python
and building the model are not counted; imports are listed separately. The processor time, child
processes included, is shown besides the wall time. There are no peers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import Run, Times, arguments, record, relative_error, started, time_each

MODELS = ("resnet-18", "resnet-50", "mobilenet")
STAGES = ("imports", "weights", "passes", "kernels", "program", "runtime", "load and prepare")
Stages = dict[str, tuple[float, float]]  # wall and processor time


class Clock:
    """Wall and processor time of consecutive stages."""

    def __init__(self) -> None:
        self.stages: Stages = {}
        self._last = self._now()

    def _now(self) -> tuple[float, float]:
        used = os.times()
        children = used.children_user + used.children_system
        return time.perf_counter(), time.process_time() + children

    def lap(self, stage: str) -> None:
        now = self._now()
        self.stages[stage] = (now[0] - self._last[0], now[1] - self._last[1])
        self._last = self._now()


# --- in a process of its own -------------------------------------------------------------------


def write_byte_code(name: str, small: bool, file: str) -> dict[str, Any]:
    """Import everything that the other tasks import, for the first time."""
    from zoo import network

    from relay import driver
    from relay.lower.lower import lower_static
    from relay.target.target import Target

    assert network and driver and lower_static
    return {"target": str(Target.host())}


def compile_in_stages(name: str, small: bool, file: str) -> dict[str, Any]:
    """The stages of `relay.compile`, timed; the executable is saved to `file`."""
    from zoo import example_input, network

    module, params = network(name, small=small)
    x = example_input(module)
    clock = Clock()
    from relay import tree
    from relay.cache import Cache
    from relay.cache.kernels import KernelCache
    from relay.executors.executable import Code
    from relay.executors.make import make_executable
    from relay.lower.kernel import Options
    from relay.pipeline import passes
    from relay.pipeline.weights import arrays, given_weights, named_weights
    from relay.program.lower import lower_module
    from relay.program.primitives import primitives
    from relay.target.target import Target

    clock.lap("imports")
    with tree.without_collection():
        cache, target = Cache.default(), Target.host()
        weights = given_weights(module["main"], params)
        module = named_weights(module, weights)
        clock.lap("weights")
        module = passes(3, target)(module)
        clock.lap("passes")
        kernels = KernelCache(cache, target, Options())
        kernels.prepare(primitives(module))
        clock.lap("kernels")
        program, constants = lower_module(module, kernels)
        objects = kernels.compile(program.kernels)
        clock.lap("program")
        code = Code(target, objects, support=target.support(False, cache))
        clock.lap("runtime")
    exe = make_executable(program, code, arrays(weights | constants), 1)
    clock.lap("load and prepare")
    y = exe(x)
    clock.lap("first call")
    exe.save(file)
    clock.lap("save")
    np.save(f"{file}.npy", y)
    return {"stages": clock.stages, "kernels": len(program.kernels)}


def make_kernels(name: str, small: bool, file: str) -> dict[str, Any]:
    """Compile every kernel in this process, timing lowering and LLVM separately."""
    from zoo import network

    from relay.lower.kernel import Options
    from relay.lower.lower import lower_static
    from relay.pipeline import passes
    from relay.pipeline.weights import given_weights, named_weights
    from relay.program.primitives import primitives
    from relay.target.llvm.compile import compile_module
    from relay.target.target import Target

    module, params = network(name, small=small)
    module = passes(3)(named_weights(module, given_weights(module["main"], params)))
    wanted = [(one.function, one.constant) for one in primitives(module)]
    target = Target.host()
    clock = Clock()
    steps = [step for request in wanted for step in lower_static(*request, target, Options()).steps]
    clock.lap("lowering")
    texts = {step.kernel.name: step.kernel.ir for step in steps}
    size = sum(len(compile_module([text], target)) for text in texts.values())
    clock.lap("LLVM")
    text = sum(map(len, texts.values()))
    return {"stages": clock.stages, "kernels": len(texts), "text": text, "code": size}


def compile_at_once(name: str, small: bool, file: str) -> dict[str, Any]:
    """`relay.compile` itself."""
    from zoo import example_input, network

    module, params = network(name, small=small)
    x = example_input(module)
    clock = Clock()
    import relay

    exe = relay.compile(module, params, threads=1)
    clock.lap("compile")
    exe(x)
    clock.lap("first call")
    return {"stages": clock.stages}


def load_file(name: str, small: bool, file: str) -> dict[str, Any]:
    """Time `relay.load` of the saved file, and `import relay` separately."""
    clock = Clock()
    import relay

    clock.lap("imports")
    exe = relay.load(file, threads=1)
    clock.lap("load")
    x = np.random.default_rng(0).standard_normal(exe.inputs[0].shape, np.float32)
    clock.lap("input")
    y = exe(x)
    clock.lap("first call")
    error = relative_error(y, np.load(f"{file}.npy"))
    return {"stages": clock.stages, "error": error, "size": os.path.getsize(file)}


TASKS: dict[str, Callable[[str, bool, str], dict[str, Any]]] = {
    task.__name__: task
    for task in (write_byte_code, compile_in_stages, make_kernels, compile_at_once, load_file)
}


def in_process(
    task: Callable[[str, bool, str], dict[str, Any]], run: Run, name: str, file: str, cache: Path
) -> dict[str, Any]:
    """Run a task in a fresh process with a cache folder and return its result."""
    request = json.dumps([task.__name__, name, run.quick, file])
    byte_code = {"PYTHONPYCACHEPREFIX": f"{file}.pyc", "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | {"RELAY_CACHE_DIR": str(cache)} | byte_code
    done = subprocess.run(
        [sys.executable, __file__, "--task", request],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- the tables --------------------------------------------------------------------------------


def measure(run: Run, name: str) -> None:
    """A row per stage: cold, with cached kernels, warm, and from a file."""
    limited = name == "resnet-18" and not run.quick
    repeat = 1 if run.quick else 3
    print(f"\n--- {name}")
    print(f"{'seconds (processor time)':<26}" + "".join(f"{s:>17}" for s in (*STAGES, "total")))
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/model.relayx"
        in_process(write_byte_code, run, name, file, Path(folder, "none"))
        totals = {}
        for kind in ("cold", "kernels"):
            runs = []
            for attempt in range(repeat):
                cache = Path(folder, f"cache-{attempt if kind == 'cold' else 0}")
                runs.append(in_process(compile_in_stages, run, name, file, cache)["stages"])
            print_stages(f"{name} {kind}", runs[0])
            for more in runs[1:]:
                print_stages("", more)
            totals[kind] = [in_stages(stages) for stages in runs]
            best = min(totals[kind])
            found = record(
                f"{name}, {kind}",
                1,
                Times(tuple(totals[kind])),
                compile_s=best,
                stages={stage: runs[0][stage] for stage in STAGES},
                processor_s=min(sum(s[stage][1] for stage in STAGES) for s in runs),
            )
            run.report.add(found)
            if limited and kind == "cold":
                run.report.wanted(f"compile {name} cold, imports included", best, "s", most=8.0)
        cache = Path(folder, "cache-0")
        measure_warm(run, name, file, cache, repeat, limited=limited)
        measure_kernels(run, name, file, cache)
        measure_file(run, name, file, Path(folder), repeat)


def measure_warm(
    run: Run, name: str, file: str, cache: Path, repeat: int, *, limited: bool
) -> None:
    """`relay.compile` of a model in the cache."""
    in_process(compile_at_once, run, name, file, cache)
    found = [in_process(compile_at_once, run, name, file, cache) for _ in range(repeat)]
    times = [one["stages"]["compile"] for one in found]
    for wall, cpu in times:
        print(f"{'relay.compile, warm':<26}{wall:>10.3f} ({cpu:.3f})")
    best, cpu = min(times)
    every = Times(tuple(wall for wall, _ in times))
    run.report.add(record(f"{name}, warm", 1, every, compile_s=best, processor_s=cpu))
    if limited:
        run.report.wanted(f"compile {name} warm, imports included", best, "s", most=0.5)


def in_stages(stages: Stages) -> float:
    return sum(stages[stage][0] for stage in STAGES)


def print_stages(label: str, stages: Stages) -> None:
    rows = [stages[stage] for stage in STAGES]
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows)))
    print(f"{label:<26}" + "".join(f"{wall:>9.3f} ({cpu:.3f})" for wall, cpu in rows), flush=True)


def measure_kernels(run: Run, name: str, file: str, cache: Path) -> None:
    """The time of one process for the kernels alone."""
    found = in_process(make_kernels, run, name, file, cache)
    (lower, lower_cpu), (llvm, llvm_cpu) = (found["stages"][s] for s in ("lowering", "LLVM"))
    print(
        f"{'kernels, one process':<26}{lower:>9.3f} ({lower_cpu:.3f}) lowering, {llvm:.3f} "
        f"({llvm_cpu:.3f}) LLVM: {found['kernels']} kernels, {found['text'] >> 10} kB of LLVM IR, "
        f"{found['code'] >> 10} kB of code"
    )
    more = {key: found[key] for key in ("kernels", "text", "code")}
    run.report.add(record(f"{name}, lowering", 1, lower, processor_s=lower_cpu, **more))
    run.report.add(record(f"{name}, LLVM", 1, llvm, processor_s=llvm_cpu, **more))


def measure_file(run: Run, name: str, file: str, folder: Path, repeat: int) -> None:
    """Load the saved file with an empty cache."""
    loaded = [in_process(load_file, run, name, file, folder / f"none-{i}") for i in range(repeat)]
    best = min(loaded, key=lambda one: one["stages"]["load"][0])
    wall, cpu = best["stages"]["load"]
    imports, first = best["stages"]["imports"][0], best["stages"]["first call"][0]
    print(
        f"{'load without a cache':<26}{wall * 1e3:>9.1f} ({cpu * 1e3:.1f}) ms, import relay "
        f"{imports * 1e3:.1f} ms, first call {first * 1e3:.1f} ms, {best['size'] >> 20} MB, "
        f"error {best['error']:.0e} to the executable that was saved"
    )
    times = Times(tuple(one["stages"]["load"][0] for one in loaded))
    run.report.add(record(f"{name}, load", 1, times, error=best["error"], size=best["size"]))


def measure_parts(run: Run) -> None:
    """Compile the runtime's own code, and link objects."""
    from relay.native.runtime import runtime_object
    from relay.target import Target
    from relay.target.llvm.compile import compile_module
    from relay.target.llvm.jit import load

    repeat = 1 if run.quick else 10
    for target in (Target.host(), Target.aarch64()):
        found = time_each(lambda target=target: runtime_object(target), repeat)
        run.report.line(f"compile the runtime for {target.arch}", 1, found)
    names = [f"f{i}" for i in range(60)]
    texts = [f"define i32 @{name}() {{ ret i32 0 }}" for name in names]
    objects = [compile_module([text], Target.host()) for text in texts]
    found = time_each(lambda: load(objects[0], names[:1]), repeat)
    run.report.line("load an object", 1, found)
    found = time_each(lambda: load(objects, names), repeat)
    run.report.line("load 60 objects", 1, found)


def main() -> None:
    if sys.argv[1:2] == ["--task"]:
        task, *rest = json.loads(sys.argv[2])
        print(json.dumps(TASKS[task](*rest)))
        return
    from zoo import NETWORKS

    given = arguments(__doc__, (*MODELS, "parts")).parse_args()
    run = started(given, (*NETWORKS, "parts"))
    for name in run.models:
        if name == "parts":
            print("\n--- parts: the runtime's own code, and linking")
            measure_parts(run)
        else:
            measure(run, name)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
