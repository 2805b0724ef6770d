"""Networks on an NVIDIA GPU, beside a CUDA graph of PyTorch and torch.compile.

    python benchmarks/gpu.py                                     all networks
    python benchmarks/gpu.py --models resnet-18,mobilenet        some
    python benchmarks/gpu.py --batches 1,64 --kinds float16      sizes and element types
    python benchmarks/gpu.py --profile                           and the time of every kernel
    python benchmarks/gpu.py --torch-compile                     with torch.compile as another peer
    python benchmarks/gpu.py --json out.json                     records besides the table

The same weights and input everywhere. Times are those of replays on the device, without copies;
`call` is the time of a call from NumPy arrays to NumPy arrays. PyTorch runs with channels last, in
half precision where Relay does. Errors are relative to the largest result in float64.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from peers import in_float64, to_torch

import relay
from relay import nd
from relay.target import Target
from relay.target.cuda.loaded import DeviceFrame
from relay.testing import densenet, dqn, mlp, mobilenet, resnet, squeezenet, vgg
from relay.transform import InferType, ToMixedPrecision

REPLAYS = 20  # between two readings of the clock
NETWORKS: dict[str, Callable[[int], Any]] = {
    "resnet-18": lambda n: resnet.get_workload(batch_size=n, num_layers=18),
    "resnet-50": lambda n: resnet.get_workload(batch_size=n, num_layers=50),
    "mobilenet": lambda n: mobilenet.get_workload(batch_size=n),
    "vgg-16": lambda n: vgg.get_workload(n, num_layers=16),
    "squeezenet": lambda n: squeezenet.get_workload(batch_size=n),
    "densenet-121": lambda n: densenet.get_workload(batch_size=n),
    "dqn": dqn.get_workload,
    "mlp": mlp.get_workload,
}


def network(name: str, batch: int) -> tuple[relay.IRModule, dict[str, nd.NDArray]]:
    """A network and its weights, with random batch norm statistics and biases."""
    module, params = NETWORKS[name](batch)
    random = np.random.default_rng(1)
    for weight, value in params.items():
        low, high = (0.7, 1.3) if weight.endswith(("gamma", "var")) else (-0.3, 0.3)
        if weight.endswith(("bias", "beta", "mean", "gamma", "var")):
            params[weight] = nd.array(random.uniform(low, high, value.shape).astype("float32"))
    return module, params


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


def frame_of(exe: Any, x: np.ndarray) -> tuple[DeviceFrame, Any]:
    """A frame whose graphs are recorded, and what keeps its memory."""
    exe(x)
    held = exe.bound.frame(exe._weights.constants)
    frame = held.calls
    assert isinstance(frame, DeviceFrame) and frame.recorded is not None
    return frame, held


def in_graph(module: Any, x: torch.Tensor) -> Callable[[], None]:
    """A CUDA graph of an eager model."""
    stream = torch.cuda.Stream()
    with torch.inference_mode():
        with torch.cuda.stream(stream):
            for _ in range(3):
                module(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            module(x)
    return graph.replay


def compiled(module: Any, x: torch.Tensor) -> Callable[[], Any]:
    faster = torch.compile(module, mode="reduce-overhead")
    run = torch.inference_mode()(lambda: faster(x))
    for _ in range(4):
        run()
    return run


def measure(name: str, batch: int, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    module, params = network(name, batch)
    data = next(p for p in module["main"].params if p.name_hint == "data")
    shape = data.checked_type.concrete_shape
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    precision = " -precision=tf32" if kind == "tf32" else ""
    target = Target(f"cuda{precision}")
    typed = InferType()(module)
    start = time.perf_counter()
    exe = relay.compile(
        ToMixedPrecision(kind)(typed) if kind == "float16" else typed, params, target=target
    )
    seconds = time.perf_counter() - start
    frame, held = frame_of(exe, x)
    wait = frame.wait
    ours = replay_seconds(frame.replay, wait, options.repeat)
    call = exe.benchmark(x).median
    in_torch = to_torch(module, params)
    error = None
    if batch == 1:
        true = in_float64(in_torch, [torch.from_numpy(x)])
        error = float(np.abs(exe(x) - true).max() / np.abs(true).max())
    dtype = torch.float16 if kind == "float16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
    torch.backends.cudnn.benchmark = True
    last = {"memory_format": torch.channels_last} if x.ndim == 4 else {}
    on_gpu = in_torch.cuda().to(dtype, **last)
    given = torch.from_numpy(x).cuda().to(dtype, **last)
    peers = {"cuda graph": in_graph(on_gpu, given)}
    if options.torch_compile:
        peers["torch.compile"] = compiled(on_gpu, given)
    theirs = {
        peer: replay_seconds(run, torch.cuda.synchronize, options.repeat) * 1e3
        for peer, run in peers.items()
    }
    best = min(theirs, key=lambda peer: theirs[peer])
    if options.profile:
        profile(exe, frame)
    del held
    return {
        "name": f"{name}, batch {batch}, {kind}",
        "threads": 1,
        "relay_ms": ours * 1e3,
        "call_ms": call * 1e3,
        "peers": theirs,
        "best_peer": best,
        "ratio": theirs[best] / (ours * 1e3),
        "error": error,
        "compile_s": seconds,
        "launches": sum(len(one) for one in frame.launches()),
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Networks on an NVIDIA GPU.")
    parser.add_argument("--models", default="mlp,resnet-18,mobilenet,vgg-16,dqn")
    parser.add_argument("--batches", default="1,64")
    parser.add_argument("--kinds", default="float16")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--torch-compile", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    records = []
    for name in options.models.split(","):
        if name not in NETWORKS:
            parser.error(f"no {name}; there is {', '.join(NETWORKS)}")
        for batch in map(int, options.batches.split(",")):
            for kind in options.kinds.split(","):
                record = measure(name, batch, kind, options)
                records.append(record)
                error = "" if record["error"] is None else f"error {record['error']:.1e}"
                print(
                    f"{record['name']:32} {record['relay_ms']:8.4f} ms  "
                    f"{record['ratio']:5.2f} of {record['best_peer']}  {record['peers']}  "
                    f"call {record['call_ms']:.3f} ms  {record['launches']} launches  "
                    f"compiled in {record['compile_s']:.1f} s  {error}",
                    flush=True,
                )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)


if __name__ == "__main__":
    main()
