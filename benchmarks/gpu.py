"""Networks on an NVIDIA GPU, beside a CUDA graph of PyTorch and torch.compile.

    python benchmarks/gpu.py                                     all networks that have a goal
    python benchmarks/gpu.py --models resnet-18,mobilenet        some, in --batches and --kinds
    python benchmarks/gpu.py --batches 1,64 --kinds float16      sizes and element types
    python benchmarks/gpu.py --profile                           and the time of every kernel
    python benchmarks/gpu.py --torch-compile                     with torch.compile as another peer
    python benchmarks/gpu.py --ablation                          and the time at each level
    python benchmarks/gpu.py --peers peers.json                  keep the times of peers in a file
    python benchmarks/gpu.py --compile sm_90                     fill the cache; needs no GPU
    python benchmarks/gpu.py --json out.json                     records besides the table

The same weights and input everywhere. Times are those of replays on the device, without copies;
`call` is the time of a call from NumPy arrays to NumPy arrays, which is what counts for programs
that are no straight-line code. PyTorch runs with channels last, in half precision where Relay does.
Errors are relative to the largest result in float64.

A file of peers has the times of torch.compile, which takes long, with versions and device. Later
runs take them from there, and say where the time of a CUDA graph has drifted by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dynamic_peers
import numpy as np
import torch
from gpu_networks import GOALS, NAMES, Network, network
from peers import in_float64

import relay
from relay.driver import compile_program
from relay.target import Target
from relay.target.cuda.loaded import DeviceFrame

REPLAYS = 20  # between two readings of the clock
DRIFT = 0.05


def replay_seconds(replay: Callable[[], Any], wait: Callable[[], Any], repeat: int) -> float:
    """The median time of a replay."""
    times = []
    for _ in range(repeat + 2):
        wait()
        start = time.perf_counter()
        for _ in range(REPLAYS):
            replay()
        wait()
        times.append((time.perf_counter() - start) / REPLAYS)
    return statistics.median(times[2:])


def frame_of(exe: Any, inputs: Sequence[Any]) -> tuple[DeviceFrame, Any]:
    """A frame whose graphs are recorded, and what keeps its memory."""
    exe(*inputs)
    held = exe.bound.frame(exe._weights.constants)
    frame = held.calls
    assert isinstance(frame, DeviceFrame) and frame.recorded is not None
    return frame, held


def in_graph(module: Any, inputs: Sequence[torch.Tensor]) -> Callable[[], None]:
    """A CUDA graph of an eager model."""
    stream = torch.cuda.Stream()
    with torch.inference_mode():
        with torch.cuda.stream(stream):
            for _ in range(3):
                module(*inputs)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            module(*inputs)
    return graph.replay


def compiled(module: Any, inputs: Sequence[torch.Tensor]) -> Callable[[], Any]:
    faster = torch.compile(module, mode="reduce-overhead")
    run = torch.inference_mode()(lambda: faster(*inputs))
    for _ in range(4):
        run()
    return run


def text_of(kind: str, arch: str = "") -> str:
    """The target for an element type."""
    precision = "" if kind == "float32" else f" -precision={kind}"
    return f"cuda{f' -arch={arch}' if arch else ''}{precision}"


# --- one network -------------------------------------------------------------------------------


def peers_of(one: Network, kind: str, options: argparse.Namespace) -> dict[str, float]:
    """The times of the peers in milliseconds."""
    dtype = torch.float16 if kind == "float16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
    torch.backends.cudnn.benchmark = True
    if isinstance(one.in_torch, dict):  # the weights of a program that only Python runs
        weights = {name: weight.cuda() for name, weight in one.in_torch.items()}
        run = dynamic_peers.tree_lstm(weights)
        tree = on_gpu(dynamic_peers.with_tensors(one.inputs[0]))
        eager = torch.inference_mode()(lambda: run(tree))
        return {"eager": replay_seconds(eager, torch.cuda.synchronize, options.repeat) * 1e3}
    last = {"memory_format": torch.channels_last} if one.inputs[0].ndim == 4 else {}
    model = one.in_torch.cuda().to(dtype, **last)
    given = [torch.from_numpy(x).cuda().to(dtype, **last) for x in one.inputs]
    peers: dict[str, Callable[[], Any]] = {"cuda graph": in_graph(model, given)}
    if options.torch_compile:
        peers["torch.compile"] = compiled(model, given)
    return {
        peer: replay_seconds(run, torch.cuda.synchronize, options.repeat) * 1e3
        for peer, run in peers.items()
    }


def on_gpu(tree: Any) -> Any:
    """A tree with its tensors on the GPU."""
    return type(tree)(tree.value.cuda(), [on_gpu(child) for child in tree.children])


def measure(name: str, batch: int, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    one = network(name, batch)
    start = time.perf_counter()
    exe = relay.compile(one.module, one.params, target=text_of(kind))
    seconds = time.perf_counter() - start
    call = exe.benchmark(*one.inputs).median
    straight = hasattr(exe, "bound")
    ours, launches, levels = call, None, {}
    if straight:
        frame, held = frame_of(exe, one.inputs)
        ours = replay_seconds(frame.replay, frame.wait, options.repeat)
        launches = sum(len(one) for one in frame.launches())
        if options.profile:
            profile(exe, frame)
        del held
    elif options.profile:
        print(exe.profile(*one.inputs))
    if options.ablation and straight:
        levels = {level: at_level(one, kind, level, options) for level in range(4)}
    error = None
    if batch == 1 and not isinstance(one.in_torch, dict):
        true = in_float64(one.in_torch, [torch.from_numpy(x) for x in one.inputs])
        error = float(np.abs(exe(*one.inputs) - true).max() / np.abs(true).max())
    theirs = peers_of(one, kind, options)
    return {
        "name": f"{name}, batch {batch}, {kind}",
        "threads": 1,
        "relay_ms": ours * 1e3,
        "call_ms": call * 1e3,
        "peers": theirs,
        "error": error,
        "compile_s": seconds,
        "launches": launches,
        "levels_ms": levels,
        "goal": GOALS.get((name, batch, kind)),
    }


def at_level(one: Network, kind: str, level: int, options: argparse.Namespace) -> float:
    """The time at a level of optimization, in milliseconds: 0 has no fusion."""
    exe = relay.compile(one.module, one.params, target=text_of(kind), level=level)
    frame, held = frame_of(exe, one.inputs)
    found = replay_seconds(frame.replay, frame.wait, options.repeat) * 1e3
    del held
    return found


def profile(exe: Any, frame: DeviceFrame) -> None:
    """The time of every kernel: replays of a graph of that kernel alone."""
    for call, launches in zip(exe.bound.calls, frame.launches(), strict=True):
        if not launches:
            print(f"       host  {call.kernel.name}")
            continue
        seconds = replay_seconds(frame.repeated(call, REPLAYS), frame.wait, 5) / REPLAYS
        grids = " ".join("x".join(map(str, one.grid[:2])) for one in launches)
        flops = call.kernel.flops / seconds / 1e12
        print(f"{seconds * 1e6:8.2f} us {flops:6.1f} TFLOP/s  {call.kernel.name[:70]}  {grids}")


# --- all ---------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    """What the times of peers depend on."""
    return {
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),
        "device": torch.cuda.get_device_name(),
    }


class KeptPeers:
    """The times of peers in a file."""

    def __init__(self, path: str | None) -> None:
        self.path = None if path is None else Path(path)
        self.found: dict[str, Any] = {"versions": versions(), "peers": {}}
        if self.path is not None and self.path.exists():
            found = json.loads(self.path.read_text(encoding="utf-8"))
            if found["versions"] == self.found["versions"]:
                self.found = found
            else:
                print(f"{self.path} is of other versions, {found['versions']}: it is replaced")

    def add_to(self, record: dict[str, Any]) -> None:
        """Add the times of peers that this run has not measured, and note those it has."""
        known = self.found["peers"].setdefault(record["name"], {})
        for peer, before in known.items():
            now = record["peers"].setdefault(peer, before)
            if abs(now - before) > DRIFT * before:
                print(f"  {peer} took {before:.4f} ms before, now {now:.4f}: not the same machine?")
        for peer, now in record["peers"].items():
            known.setdefault(peer, now)
        if self.path is not None:
            self.path.write_text(json.dumps(self.found, indent=1), encoding="utf-8")


def shown(record: dict[str, Any]) -> str:
    """A line of the table."""
    peers = "  ".join(f"{peer} {ms:.4f}" for peer, ms in record["peers"].items())
    error = "" if record["error"] is None else f"  error {record['error']:.1e}"
    goal = record["goal"]
    met = "" if goal is None else f" ({'goal' if record['ratio'] >= goal else 'MISSES'} {goal})"
    levels = "".join(f"  level {n}: {ms:.4f}" for n, ms in record["levels_ms"].items())
    return (
        f"{record['name']:32} {record['relay_ms']:8.4f} ms  {record['ratio']:5.2f} of "
        f"{record['best_peer']}{met}  {peers}  call {record['call_ms']:.3f}  "
        f"{record['launches'] or 'native'} launches  compiled in {record['compile_s']:.1f} s"
        f"{error}{levels}"
    )


def fill_cache(cases: Sequence[tuple[str, int, str]], arch: str) -> None:
    """Compile everything for an architecture, which needs no GPU."""
    for name, batch, kind in cases:
        one = network(name, batch)
        start = time.perf_counter()
        made = compile_program(one.module, one.params, target=Target(text_of(kind, arch)))
        device = sum(kernel.ir.startswith('{"arch"') for kernel in made.program.kernels)
        print(
            f"{name}, batch {batch}, {kind}: {device} kernels for the device, "
            f"{len(made.program.kernels) - device} for the host, "
            f"{time.perf_counter() - start:.1f} s",
            flush=True,
        )


def cases_of(options: argparse.Namespace) -> list[tuple[str, int, str]]:
    if options.models is None:
        return list(GOALS)
    return [
        (name, batch, kind)
        for name in options.models.split(",")
        for batch in map(int, options.batches.split(","))
        for kind in options.kinds.split(",")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", help=", ".join(NAMES))
    parser.add_argument("--batches", default="1,64")
    parser.add_argument("--kinds", default="float16")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--torch-compile", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--peers", help="a file")
    parser.add_argument("--compile", metavar="ARCH")
    parser.add_argument("--json", help="a file")
    options = parser.parse_args()
    cases = cases_of(options)
    for name, _, _ in cases:
        if name not in NAMES:
            parser.error(f"no {name}; there is {', '.join(NAMES)}")
    if options.compile:
        fill_cache(cases, options.compile)
        return
    kept = KeptPeers(options.peers)
    records = []
    for case in cases:
        record = measure(*case, options)
        kept.add_to(record)
        best = min(record["peers"], key=lambda peer: record["peers"][peer])
        record |= {"best_peer": best, "ratio": record["peers"][best] / record["relay_ms"]}
        records.append(record)
        print(shown(record), flush=True)
        torch.cuda.empty_cache()
        if options.json:  # after each, for runs that are cut short
            Path(options.json).write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
