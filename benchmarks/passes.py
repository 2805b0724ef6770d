"""Ablation of the passes, and their compile time.

    python benchmarks/passes.py                            everything
    python benchmarks/passes.py --models resnet-18,dqn     the ablation of two networks
    python benchmarks/passes.py --models times,growth      how long passes take
    python benchmarks/passes.py --plot ablation.svg        the ablation as a chart, too
    python benchmarks/passes.py --json out.json            records besides the tables

The ablation starts with every operator in its own kernel and without constant folding of weights,
and adds groups of passes one at a time. All programs of a network are measured in turns; their
results are compared with float64 in PyTorch.

`times` is the table of the timing instrument for the passes of the default level; `growth` shows
the total as a transformer gets more layers. Passes run on one thread, so their processor time is
the time on an idle machine. There are no peers.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bars import write_bars
from measure import Run, arguments, record, relative_error, started, take_turns
from peers import in_float64, to_torch
from zoo import example_input, network

import relay
from relay.cache import Cache
from relay.cache.kernels import KernelCache
from relay.executors.executable import Code
from relay.executors.make import make_executable
from relay.lower.kernel import Options
from relay.pipeline import Pipeline, passes
from relay.pipeline.levels import STRAIGHT_LINE
from relay.pipeline.weights import arrays, given_weights, named_weights
from relay.program.lower import lower_module
from relay.program.primitives import primitives
from relay.target.target import Target
from relay.testing import count_ops, transformer
from relay.transform import FuseOps, Pass, PassContext, PassTimingInstrument

# --- ablation ------------------------------------------------------------------------------------

NETWORKS = ("resnet-18", "mobilenet", "dqn", "vgg-16")
# the highest level without approximations
EVERYTHING = tuple(p for p in STRAIGHT_LINE[4] if p.name != "FastMath")
# the groups of passes that the steps add, in this order
STEPS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "+ fusion": ("FuseOps", "RecognizeAttention"),
    "+ folding": ("FoldConstant", "LiftWeights"),
    "+ merging": ("EliminateCommonSubexpr", "DeadCodeElimination"),
    "+ combining": (
        "CombineParallelConv2D",
        "CombineParallelDense",
        "CombineParallelBatchMatmul",
    ),
    "+ scales": ("FoldScaleAxis",),
    "+ algebra": (
        "SimplifyExpr",
        "DivToMul",
        "CanonicalizeCast",
        "CanonicalizeOps",
        "FlattenAtrousConv",
        "FoldExplicitPadding",
    ),
    "+ layout": ("AlterOpLayout", "SimplifyExprPostAlterOp"),
}
OPTIONAL = frozenset(name for added in STEPS.values() for name in added)


def enabled(names: frozenset[str]) -> Pipeline:
    """The passes of the highest level, with only the named optional ones."""
    kept: list[Pass] = []
    for member in EVERYTHING:
        if member.name in names or member.name not in OPTIONAL:
            kept.append(member)
        elif member.name == "FuseOps":
            kept.append(FuseOps(fuse_opt_level=0))  # one kernel per operator
    return Pipeline(tuple(kept), name="some passes")


def compiled(
    name: str, names: frozenset[str], run: Run, cache: Cache
) -> tuple[Callable[[np.ndarray], Any], int, float]:
    """A network compiled with these passes: its call, its number of kernels, seconds."""
    start = time.perf_counter()
    module, params = network(name, small=run.quick)
    target = Target.host()
    prepared = "LiftWeights" in names
    weights = given_weights(module["main"], params if prepared else {})
    module = named_weights(module, weights)
    module = enabled(names)(module)
    kernels = KernelCache(cache, target, Options())
    kernels.prepare(primitives(module))
    program, constants = lower_module(module, kernels)
    code = Code(target, kernels.compile(program.kernels))
    exe = make_executable(program, code, arrays(weights | constants), run.threads)
    calls = sum(
        isinstance(e, relay.Call) and isinstance(e.op, relay.Function)
        for e in relay.tree.postorder(module["main"])
    )
    given = {} if prepared else {weight: value.numpy() for weight, value in params.items()}
    return lambda x: exe(data=x, **given), calls, time.perf_counter() - start


def ablation(run: Run, name: str) -> list[float]:
    """Measure with more and more passes; return the speedups."""
    module, params = network(name, small=run.quick)
    x = example_input(module)
    expected = in_float64(to_torch(module, params), [torch.from_numpy(x)])
    programs: dict[str, Any] = {}
    names: frozenset[str] = frozenset()
    with tempfile.TemporaryDirectory() as folder:
        for step, added in STEPS.items():
            names |= set(added)
            programs[step] = compiled(name, names, run, Cache(folder))
        candidates = {step: lambda call=call: call(x) for step, (call, _, _) in programs.items()}
        times = take_turns(candidates, run.threads, run.effort, time.process_time)
        # processor time is not affected by other processes, but adds up all threads
        taken = {step: t.cpu_median or t.median for step, t in times.items()}
        factors = []
        print(f"\n{name}, {run.threads} threads")
        for step, (call, kernels, seconds) in programs.items():
            factors.append(taken["nothing"] / taken[step])
            found = run.report.add(
                record(
                    f"{name} {step}",
                    run.threads,
                    times[step],
                    error=relative_error(call(x), expected),
                    compile_s=seconds,
                    speedup=factors[-1],
                    kernels=kernels,
                )
            )
            print(
                f"  {step:<12} {taken[step] * 1e3:9.3f} ms  {factors[-1]:6.2f} x  "
                f"{kernels:4} kernels  error {found['error']:.0e}",
                flush=True,
            )
    return factors


# --- compile time --------------------------------------------------------------------------------


def weighted(module: relay.IRModule, inputs: tuple[str, ...]) -> relay.IRModule:
    """Bind all parameters but the inputs to weights; their values do not matter."""
    main = relay.transform.InferType()(module)["main"]
    params = {
        param.name_hint: np.zeros(param.checked_type.concrete_shape, param.checked_type.dtype)
        for param in main.params
        if param.name_hint not in inputs
    }
    return named_weights(module, given_weights(module["main"], params))


def of_layers(layers: int) -> relay.IRModule:
    net = transformer.get_net(num_layers=layers, vocabulary=1000)
    return weighted(relay.IRModule.from_expr(net), transformer.INPUTS)


def timed(module: relay.IRModule, repeat: int) -> tuple[float, float, str]:
    """Processor time, wall time and table of the passes of the default level, the best of several
    runs."""
    found = []
    for _ in range(repeat):
        timing = PassTimingInstrument()
        gc.collect()
        with PassContext(opt_level=3, instruments=[timing]):
            start = time.process_time()
            passes(3)(module)
            cpu = time.process_time() - start
            found.append((cpu, sum(entry.seconds for entry in timing.passes), timing.render()))
    return min(found)


def show_times(run: Run) -> None:
    """The time of every pass of the default level, for two large networks."""
    layers, picked = (2, "resnet-18") if run.quick else (48, "resnet-50")
    subjects = {
        picked: (weighted(network(picked, small=run.quick)[0], ("data",)), 1.5),
        f"transformer of {layers} layers": (of_layers(layers), 10.0),
    }
    for name, (module, most) in subjects.items():
        seconds, wall, table = timed(module, 1 if run.quick else 5)
        calls = sum(count_ops(module["main"]).values())
        print(f"\n{name}, {calls} calls, {seconds:.3f} s of processor time\n{table}")
        run.report.add(record(f"passes of {name}", 1, seconds, calls=calls, wall_s=wall))
        run.report.wanted(f"passes of {name}", seconds, "s", most=most)


def show_growth(run: Run) -> None:
    """How the time of all passes grows with the number of layers of a transformer."""
    print("\ntransformers\n  layers  calls   seconds  per call")
    costs = []
    for layers in (1, 2) if run.quick else (12, 24, 48):
        module = of_layers(layers)
        seconds, wall, _ = timed(module, 1 if run.quick else 5)
        calls = sum(count_ops(module["main"]).values())
        costs.append(seconds / calls)
        print(f"  {layers:6} {calls:6} {seconds:9.3f} {costs[-1] * 1e6:6.0f} µs", flush=True)
        run.report.add(record(f"passes of {layers} layers", 1, seconds, calls=calls, wall_s=wall))
    run.report.wanted(
        "time per call, most layers over fewest", costs[-1] / costs[0], "times", most=2
    )


TABLES: Mapping[str, Callable[[Run], None]] = {"times": show_times, "growth": show_growth}


def main() -> None:
    known = [*NETWORKS, *TABLES]
    parser = arguments(__doc__, known)
    parser.add_argument("--plot", type=Path, help="draw the ablation to this file, as SVG")
    given = parser.parse_args()
    run = started(given, known)
    factors = {name: ablation(run, name) for name in run.models if name not in TABLES}
    if given.plot and factors:
        title = f"Faster than with every operator by itself, {run.threads} threads"
        write_bars(given.plot, title, "times as fast", list(STEPS), factors)
    for name in run.models:
        if name in TABLES:
            TABLES[name](run)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
