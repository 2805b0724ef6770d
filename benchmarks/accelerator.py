"""Networks on the accelerator: cycles of two designs, with the part that the host computes.

    python benchmarks/accelerator.py                        all networks
    python benchmarks/accelerator.py --models resnet-18     some of them
    python benchmarks/accelerator.py --json out.json

Each network is quantized with `relay.target.accel.SCHEME`, or with scales from the run where it has
control flow, and its results on the accelerator are compared bit by bit with those on the CPU. The
accelerator is simulated: its time is the cycles at the clock of the design. The host's part and the
whole network on the CPU are measured here, with the same threads. A design with rows for four
images has a batch of four, and all numbers are those of one image, or one tree.

`paper` is how much faster the evaluation of the Relay paper found its accelerator than its CPU, an
embedded one: numbers to read beside these, not to be compared with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dynamic import random_tree
from measure import Run, run_parts

import relay
from relay import quantize
from relay.ir.expr import Call, Function
from relay.target.accel.code import pack, unpack
from relay.target.accel.config import Config
from relay.target.accel.device import Device
from relay.target.accel.report import Report
from relay.target.accel.scheme import SCHEME
from relay.testing import dcgan, resnet, tree_lstm

DESIGNS = ("1x16x16", "4x16x16")
PAPER = {
    "resnet-18": (4.7, 5.0),
    "resnet-34": (5.9, 6.7),
    "resnet-50": (3.8, 4.3),
    "dcgan": (11.3, 13.1),
    "tree-lstm": (2.5, 2.7),
}
HEAD = (
    f"{'network':<12}{'design':<10}{'cycles':>12}{'device':>11}{'host':>11}{'CPU':>11}"
    f"{'ratio':>8}{'paper':>8}{'GEMM':>7}{'simulated':>11}"
)


def images(run: Run, name: str, workload: Callable[[int], Any], shape: Sequence[int]) -> None:
    """A network of straight-line code."""
    print(HEAD)
    for design in DESIGNS:
        batch = Config.of_text(design).batch
        module, params = workload(batch)
        module["main"] = _scores(module["main"])
        image = np.random.default_rng(0).standard_normal((batch, *shape)).astype("float32")
        integers = quantize.quantize(module, params, [image], scheme=SCHEME)
        on_cpu = relay.compile(integers, threads=run.threads)
        exe = relay.compile(integers, target=f"accel -config={design}", threads=run.threads)
        start = time.perf_counter()
        same = np.array_equal(exe(image), on_cpu(image))
        simulated = time.perf_counter() - start
        steps = zip(exe.bound.kernels, exe.steps(image), strict=True)
        host = sum(_seconds(step, run) for kernel, step in steps if not kernel.compiler)
        reports = _reports(exe)
        host += _conversions(exe, run)
        cpu = _seconds(lambda f=on_cpu, x=image: f(x), run)
        _line(run, name, design, reports, [1] * len(reports), host, cpu, batch, same, simulated)


def trees(run: Run, name: str) -> None:
    """A tree LSTM with 300 values and 150 states per node."""
    print(HEAD)
    size = (300, 150, 30) if not run.quick else (20, 16, 4)
    module, params = tree_lstm.get_workload(*size[:2])
    tree = random_tree(np.random.default_rng(0), size[2], size[0])
    integers = quantize.dynamic()(module, params)
    for design in DESIGNS:
        on_cpu = relay.compile(integers, threads=run.threads)
        exe = relay.compile(integers, target=f"accel -config={design}", threads=run.threads)
        start = time.perf_counter()
        pairs = zip(exe(tree), on_cpu(tree), strict=True)
        same = all(np.array_equal(one, other) for one, other in pairs)
        simulated = time.perf_counter() - start
        profile = exe.profile(tree, repeat=1 if run.quick else 5)
        ours = [step for step in profile if not step.kernel.compiler]
        host = sum(step.seconds for step in ours) + profile.outside
        theirs = [step for step in profile if step.kernel.compiler]
        reports = [step.details for step in theirs]
        calls = [step.kernel.calls for step in theirs]
        cpu = _seconds(lambda f=on_cpu: f(tree), run)
        _line(run, name, design, reports, calls, host, cpu, 1, same, simulated)


def _line(
    run: Run,
    name: str,
    design: str,
    reports: Sequence[Report],
    calls: Sequence[int],
    host: float,
    cpu: float,
    batch: int,
    same: bool,
    simulated: float,
) -> None:
    if not same:
        raise SystemExit(f"{name} on {design} has other results than on the CPU")
    pairs = [*zip(reports, calls, strict=True)]
    cycles = sum(one.total.cycles * many for one, many in pairs)
    useful = sum(one.total.products * many for one, many in pairs)
    device = sum(one.seconds * many for one, many in pairs)
    whole = (device + host) / batch
    paper = PAPER[name][DESIGNS.index(design)]
    print(
        f"{name:<12}{design:<10}{cycles / batch:>12,.0f}{device / batch * 1e3:>8.2f} ms"
        f"{host / batch * 1e3:>8.2f} ms{cpu / batch * 1e3:>8.2f} ms{cpu / batch / whole:>8.2f}"
        f"{paper:>8.1f}{100 * useful / cycles:>6.0f}%{simulated:>9.1f} s",
        flush=True,
    )
    more = {"cycles": cycles / batch, "host_ms": host / batch * 1e3, "paper": paper}
    found = {
        "name": f"{name} {design}",
        "threads": run.threads,
        "relay_ms": whole * 1e3,
        "peers": {"cpu": cpu / batch * 1e3},
        "best_peer": "cpu",
        "ratio": cpu / batch / whole,
        "error": 0.0,
        "compile_s": None,
    }
    run.report.add(found | more)


def _scores(main: Function) -> Function:
    """The network without a softmax at its end, whose kernel may round otherwise in another
    program."""
    last = main.body
    if isinstance(last, Call) and last.op is relay.op.nn.softmax:
        return Function(main.params, last.args[0])
    return main


def _devices(exe: Any) -> list[Device]:
    """The parts of a program on the accelerator."""
    return [one.callback for one in exe._loaded.externals.values()]


def _reports(exe: Any) -> list[Report]:
    return [found for one in _devices(exe) if (found := one.details()) is not None]


def _conversions(exe: Any, run: Run) -> float:
    """The time in which the host puts tensors in blocks, and takes results out of them."""
    total = 0.0
    for device in _devices(exe):
        config = device.code.config
        for tensor in device.code.inputs:
            array = np.zeros(tensor.shape, tensor.dtype)
            total += _seconds(lambda a=array, c=config: pack(a, c), run)
        for tensor in device.code.outputs:
            blocks = pack(np.zeros(tensor.shape, tensor.dtype), config)
            total += _seconds(
                lambda b=blocks, t=tensor, c=config: np.ascontiguousarray(unpack(b, t.shape, c)),
                run,
            )
    return total


def _seconds(call: Callable[[], Any], run: Run) -> float:
    """The median time of a call."""
    found = []
    for _ in range(1 if run.quick else 15):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def _resnet(layers: int) -> Callable[[Run], None]:
    def measure(run: Run) -> None:
        size = 32 if run.quick else 224

        def workload(batch: int) -> Any:
            shape = (3, size, size)
            return resnet.get_workload(num_layers=layers, image_shape=shape, batch_size=batch)

        images(run, f"resnet-{layers}", workload, (3, size, size))

    measure.__doc__ = f"ResNet-{layers}, images of 224 x 224; the first layer on the host."
    return measure


def measure_dcgan(run: Run) -> None:
    """The generator of DCGAN, an image of 64 x 64; the first layer on the host."""
    size = 128 if not run.quick else 16
    images(run, "dcgan", lambda batch: dcgan.get_workload(batch, ngf=size), (100,))


def measure_tree_lstm(run: Run) -> None:
    """Child-sum tree LSTM, 300 values and 150 states per node, a tree of 30 nodes."""
    trees(run, "tree-lstm")


if __name__ == "__main__":
    parts = {f"resnet-{layers}": _resnet(layers) for layers in (18, 34, 50)}
    parts |= {"dcgan": measure_dcgan, "tree-lstm": measure_tree_lstm}
    run_parts(__doc__, parts)
