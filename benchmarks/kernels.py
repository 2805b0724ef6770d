"""Single kernels compared with the peak of the machine and with PyTorch.

    python benchmarks/kernels.py                      everything, on one thread and on two
    python benchmarks/kernels.py --threads 1          on one thread
    python benchmarks/kernels.py --models gemm,rows   some: peak, chain, gemm, rows, blocked,
                                                      layers, integers
    python benchmarks/kernels.py --json out.json      records besides the table

Every kernel is a Relay program of one fused function, compiled by `relay.compile` with an empty
cache. The peak is measured in the same turns: register multiply-adds for compute-bound kernels, the
best of several copies for memory-bound ones, counting each byte read or written once. Results are
compared with float64 in the same run.

PyTorch runs in inference mode with as many threads, with `out=` where possible, and with both
channels-last and contiguous tensors for convolutions. Integer products are compared with ONNX
Runtime and with a register loop of the dot product instruction.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from bare import BareKernels
from engines import onnx_session
from measure import Candidate, Run, Times, relative_error, run_parts, take_turns

import relay
from relay.cache import Cache
from relay.target import Target

Params = Mapping[str, np.ndarray]


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def aligned(*shape: int) -> np.ndarray:
    """An array aligned to a cache line whose pages are all allocated: unwritten pages share one
    zero page, which is fast to read."""
    size = int(np.prod(shape)) * 4
    memory = np.ones(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(np.float32).reshape(shape)


def compiled(
    body: relay.Expr, params: Params | None = None, threads: int = 1
) -> tuple[relay.Executable, float]:
    """The executable, and the seconds to compile it with an empty cache."""
    module = relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        exe = relay.compile(module, params, threads=threads, cache=Cache(folder))
        return exe, time.perf_counter() - start


def in_torch(f: Callable[[], Any]) -> Candidate:
    return torch.inference_mode()(f)


def fraction(times: Mapping[str, Times], work: float, machine: str, most: float) -> dict[str, Any]:
    """The fraction of peak the kernel reaches, by wall and processor time."""
    ours, peak = times["relay"], times[machine]
    found = {"fraction": work / ours.median / (most / peak.median)}
    found["fraction_best"] = work / ours.best / (most / peak.best)
    if ours.cpu_median is not None and peak.cpu_median is not None:
        found["fraction_cpu"] = work / ours.cpu_median / (most / peak.cpu_median)
    return found


def without(times: Mapping[str, Times], *names: str) -> dict[str, Times]:
    return {name: found for name, found in times.items() if name not in names}


def percent(found: Mapping[str, float]) -> str:
    cpu = found.get("fraction_cpu")
    by_cpu = "" if cpu is None else f", by processor time {100 * cpu:.0f} %"
    return f"{100 * found['fraction']:.0f} % (best {100 * found['fraction_best']:.0f} %{by_cpu})"


def limit_fraction(run: Run, what: str, found: Mapping[str, Any], whole: str, least: float) -> None:
    """Check a limit, by processor time where one thread computes."""
    how = "by processor time" if "fraction_cpu" in found else "by wall time"
    measured = 100 * found.get("fraction_cpu", found["fraction"])
    run.report.wanted(what, measured, f"% of the {whole} {how}", least=least)


# --- the machine -------------------------------------------------------------------------------


def measure_peak(run: Run) -> None:
    """Peak: register multiply-adds, and copies of 64 MB."""
    kernels = BareKernels(Target.host())
    for threads in run.counts:
        fma, flops = kernels.peak(threads)
        times = take_turns({"relay": fma}, threads, run.effort)
        speed = flops / times["relay"].median / 1e9
        best = flops / times["relay"].best / 1e9
        note = f"{speed:.1f} GFLOP/s, best {best:.1f}"
        run.report.compare("multiply-adds on registers", threads, times, note=note, gflops=speed)
        moved, copies = copy_candidates(kernels, threads, run)
        for name, found in take_turns(copies, threads, run.effort).items():
            rate = moved / found.median / 1e9
            note = f"{rate:.2f} GB/s read and written, best {moved / found.best / 1e9:.2f}"
            run.report.compare(f"copy, {name}", threads, {"relay": found}, note=note, gbytes=rate)


def copy_candidates(
    kernels: BareKernels, threads: int, run: Run
) -> tuple[int, dict[str, Candidate]]:
    """Ways to copy memory, and the bytes they move."""
    source, result = aligned(elements(run)), aligned(elements(run))
    given, taken = torch.from_numpy(source), torch.from_numpy(result)
    torch.set_num_threads(threads)
    own = kernels.copy(threads, source, result)
    return 2 * source.nbytes, {
        "memcpy": lambda: np.copyto(result, source),
        "torch copy": in_torch(lambda: taken.copy_(given)),
        "torch add": in_torch(lambda: torch.add(given, 1.0, out=taken)),
        "own loop": own,
    }


def elements(run: Run) -> int:
    return 1 << (16 if run.quick else 24)


# --- memory ------------------------------------------------------------------------------------


def measure_chain(run: Run) -> None:
    """Eight elementwise operators on 16M floats, compared with copies."""
    size = elements(run)
    data = aligned(size)
    data[:] = random(size)
    given, taken = torch.from_numpy(data), torch.empty(size)
    kernels = BareKernels(Target.host())
    for threads in run.counts:
        exe, seconds = compiled(chain(relay.var("x", shape=(size,))), threads=threads)
        result = aligned(size)
        moved, copies = copy_candidates(kernels, threads, run)
        candidates: dict[str, Candidate] = {
            "relay": lambda exe=exe, result=result: exe(data, out=result),
            "recycled": lambda exe=exe: exe(data),
            "torch": in_torch(lambda: chain_in_torch(given, taken)),
            **copies,
        }
        times = take_turns(candidates, threads, run.effort)
        fastest = min(copies, key=lambda name: times[name].median)
        found = fraction(times, 2 * data.nbytes, fastest, moved)
        again = fraction({**times, "relay": times["recycled"]}, 2 * data.nbytes, fastest, moved)
        run.report.compare(
            f"8 operators on {size >> 20}M floats, out=",
            threads,
            without(times, "recycled", *copies),
            error=relative_error(result, chain_in_numpy(data)),
            compile_s=seconds,
            note=f"{percent(found)} of the bandwidth ({fastest})",
            **found,
        )
        run.report.compare(
            f"8 operators on {size >> 20}M floats, recycled",
            threads,
            {"relay": times["recycled"]},
            note=f"{percent(again)} of the bandwidth",
            **again,
        )
        limit_fraction(run, f"chain of 8 operators, {threads} threads", found, "bandwidth", 80)


def chain(x: relay.Expr) -> relay.Expr:
    y = relay.maximum(x * relay.const(1.5) + relay.const(0.25), relay.const(-2.0))
    y = relay.abs(relay.minimum(y, relay.const(3.0)) - relay.const(0.5))
    return relay.negative(relay.nn.relu(y))


def chain_in_numpy(data: np.ndarray) -> np.ndarray:
    x = data.astype(np.float64)
    return -np.maximum(np.abs(np.minimum(np.maximum(x * 1.5 + 0.25, -2.0), 3.0) - 0.5), 0.0)


def chain_in_torch(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    torch.mul(x, 1.5, out=y)
    return y.add_(0.25).clamp_min_(-2.0).clamp_max_(3.0).sub_(0.5).abs_().relu_().neg_()


def measure_rows(run: Run) -> None:
    """softmax and layer_norm, compared with PyTorch."""
    shapes = [(128, 1024), (4096, 4096)] if not run.quick else [(4, 64)]
    for shape in shapes:
        x = random(*shape)
        scale, shift = random(shape[1]) * 0.1 + 1, random(shape[1])
        for threads in run.counts:
            torch.set_num_threads(threads)
            compare_softmax(run, x, threads)
            compare_layer_norm(run, x, scale, shift, threads)


def compare_softmax(run: Run, x: np.ndarray, threads: int) -> None:
    exe, seconds = compiled(relay.nn.softmax(relay.var("x", shape=x.shape)), threads=threads)
    result, given = aligned(*x.shape), torch.from_numpy(x)
    taken = torch.zeros(x.shape)
    candidates: dict[str, Candidate] = {
        "relay": lambda: exe(x, out=result),
        "torch": in_torch(lambda: torch.softmax(given, -1)),
        "torch out=": in_torch(lambda: torch.softmax(given, -1, out=taken)),
    }
    times = take_turns(candidates, threads, run.effort)
    wide = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    error = relative_error(result, wide / wide.sum(-1, keepdims=True))
    found = run.report.compare(f"softmax {x.shape}", threads, times, error=error, compile_s=seconds)
    run.report.wanted(f"softmax {x.shape}, {threads} threads", found["ratio"], "x torch", least=1)


def compare_layer_norm(
    run: Run, x: np.ndarray, scale: np.ndarray, shift: np.ndarray, threads: int
) -> None:
    columns = x.shape[1]
    data, gamma, beta = (
        relay.var(n, shape=a.shape) for n, a in (("x", x), ("g", scale), ("b", shift))
    )
    exe, seconds = compiled(
        relay.nn.layer_norm(data, gamma, beta), {"g": scale, "b": shift}, threads
    )
    result, given = aligned(*x.shape), torch.from_numpy(x)
    g, b = torch.from_numpy(scale), torch.from_numpy(shift)
    taken = [torch.zeros(s) for s in (x.shape, (len(x), 1), (len(x), 1))]

    def into() -> None:
        torch.ops.aten.native_layer_norm.out(
            given, [columns], g, b, 1e-5, out0=taken[0], out1=taken[1], out2=taken[2]
        )

    candidates: dict[str, Candidate] = {
        "relay": lambda: exe(x, out=result),
        "torch": in_torch(lambda: F.layer_norm(given, [columns], g, b)),
        "torch out=": in_torch(into),
    }
    times = take_turns(candidates, threads, run.effort)
    wide = x.astype(np.float64)
    centered = wide - wide.mean(-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
    error = relative_error(result, centered / deviation * scale + shift)
    name = f"layer_norm {x.shape}"
    found = run.report.compare(name, threads, times, error=error, compile_s=seconds)
    run.report.wanted(f"{name}, {threads} threads", found["ratio"], "x torch", least=1)


# --- multiply-adds -----------------------------------------------------------------------------


def measure_gemm(run: Run) -> None:
    """1024 x 1024 matrix products, with a constant or variable right operand."""
    size = 64 if run.quick else 1024
    a, b = random(size, size), random(size, size)[::-1].copy()
    for threads in run.counts:
        found = compare_product(run, a, b, threads, constant=True)
        if threads in (1, 2):
            bound = {1: 80, 2: 75}[threads]
            limit_fraction(run, f"SGEMM {size}³, {threads} threads", found, "FMA peak", bound)
        compare_product(run, a, b, threads, constant=False)


def compare_product(
    run: Run, a: np.ndarray, b: np.ndarray, threads: int, *, constant: bool
) -> dict[str, Any]:
    x, y = relay.var("x", shape=a.shape), relay.var("y", shape=b.shape)
    left, right, result = torch.from_numpy(a), torch.from_numpy(b), aligned(*a.shape)
    taken = torch.empty(a.shape)
    torch.set_num_threads(threads)
    work = 2 * a.size * b.shape[1]
    fma, flops = BareKernels(Target.host()).peak(threads, work)
    candidates: dict[str, Candidate] = {}
    if constant:
        weight = np.ascontiguousarray(b.T)
        exe, seconds = compiled(relay.nn.dense(x, y), {"y": weight}, threads)
        transposed = torch.from_numpy(weight)
        candidates["relay"] = lambda: exe(a, out=result)
        candidates["torch linear"] = in_torch(lambda: F.linear(left, transposed))
    else:
        exe, seconds = compiled(relay.nn.matmul(x, y), threads=threads)
        candidates["relay"] = lambda: exe(a, b, out=result)
    candidates["torch mm"] = in_torch(lambda: torch.mm(left, right, out=taken))
    candidates["fma"] = fma
    times = take_turns(candidates, threads, run.effort)
    found = fraction(times, work, "fma", flops)
    return run.report.compare(
        f"{'dense, constant weight' if constant else 'matmul, both given'} {len(a)}³",
        threads,
        without(times, "fma"),
        error=relative_error(result, a.astype(np.float64) @ b.astype(np.float64)),
        compile_s=seconds,
        note=f"{percent(found)} of the FMA peak",
        **found,
    )


Layer = tuple[int, int, int, int, int, int]  # channels, extent, filters, kernel, stride, padding

# those of ResNet-18, each once
LAYERS: tuple[Layer, ...] = (
    (3, 224, 64, 7, 2, 3),
    (64, 56, 64, 3, 1, 1),
    (64, 56, 128, 3, 2, 1),
    (64, 56, 128, 1, 2, 0),
    (128, 28, 128, 3, 1, 1),
    (128, 28, 256, 3, 2, 1),
    (128, 28, 256, 1, 2, 0),
    (256, 14, 256, 3, 1, 1),
    (256, 14, 512, 3, 2, 1),
    (256, 14, 512, 1, 2, 0),
    (512, 7, 512, 3, 1, 1),
)


def measure_blocked(run: Run) -> None:
    """3 x 3 convolutions with bias and ReLU in NCHW16c, one thread."""
    shapes = [(64, 56, 80), (128, 28, 80), (256, 14, None)] if not run.quick else [(16, 8, None)]
    for channels, extent, least in shapes:
        found = compare_convolution(run, (channels, extent, channels, 3, 1, 1), 1, blocked=True)
        if least is not None:
            label = f"NCHW16c {extent}x{extent}x{channels}, 1 thread"
            limit_fraction(run, label, found, "FMA peak", least)


def measure_layers(run: Run) -> None:
    """The convolutions of ResNet-18 with bias and ReLU, NCHW."""
    for threads in run.counts:
        for layer in LAYERS if not run.quick else [(3, 16, 8, 3, 2, 1)]:
            compare_convolution(run, layer, threads)


def blocks(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Split each of `axes` into blocks of 16, which become the last axes in the same order."""
    shape: list[int] = []
    outer, inner = [], []
    for axis, extent in enumerate(x.shape):
        outer.append(len(shape))
        shape.append(extent // 16 if axis in axes else extent)
        if axis in axes:
            inner.append(len(shape))
            shape.append(16)
    return np.ascontiguousarray(x.reshape(shape).transpose(*outer, *inner))


def compare_convolution(
    run: Run, layer: Layer, threads: int, *, blocked: bool = False
) -> dict[str, Any]:
    channels, extent, filters, kernel, stride, padding = layer
    x = random(1, channels, extent, extent)
    w = random(filters, channels, kernel, kernel) * 0.05
    b = random(filters)
    window = {
        "strides": (stride, stride),
        "padding": (padding, padding),
        "channels": filters,
        "kernel_size": (kernel, kernel),
    }
    if blocked:
        data, weight, bias = blocks(x, [1]), blocks(w, [1, 0]), b.reshape(1, -1, 1, 1, 16)
        weight = np.ascontiguousarray(weight.swapaxes(-1, -2))
        convolve = relay.nn.contrib_conv2d_nchwc
        window |= {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o", "out_layout": "NCHW16c"}
    else:
        data, weight, bias = x, w, b.reshape(-1, 1, 1)
        convolve = relay.nn.conv2d
    names = zip("xwb", (data, weight, bias), strict=True)
    xs, ws, bs = (relay.var(name, shape=array.shape) for name, array in names)
    body = relay.nn.relu(convolve(xs, ws, **window) + bs)
    exe, seconds = compiled(body, {"w": weight, "b": bias}, threads)
    result = aligned(*exe.outputs[0].shape)

    torch.set_num_threads(threads)
    tx, tw, tb = (torch.from_numpy(array) for array in (x, w, b))
    last = torch.channels_last
    lx, lw = tx.contiguous(memory_format=last), tw.contiguous(memory_format=last)
    work = 2 * result.size * channels * kernel * kernel
    fma, flops = BareKernels(Target.host()).peak(threads, work)
    candidates: dict[str, Candidate] = {
        "relay": lambda: exe(data, out=result),
        "torch": in_torch(lambda: F.conv2d(tx, tw, tb, stride, padding).relu_()),
        "channels_last": in_torch(lambda: F.conv2d(lx, lw, tb, stride, padding).relu_()),
        "fma": fma,
    }
    times = take_turns(candidates, threads, run.effort)
    expected = F.conv2d(tx.double(), tw.double(), tb.double(), stride, padding).relu().numpy()
    found = fraction(times, work, "fma", flops)
    size = f"{extent}x{extent}x{channels}"
    return run.report.compare(
        f"{'NCHW16c' if blocked else 'NCHW'} {size} {kernel}x{kernel}/{stride} -> {filters}",
        threads,
        without(times, "fma"),
        error=relative_error(result, blocks(expected, [1]) if blocked else expected),
        compile_s=seconds,
        note=f"{percent(found)} of the FMA peak",
        **found,
    )


# --- products of bytes -------------------------------------------------------------------------


def random_bytes(dtype: str, *shape: int) -> np.ndarray:
    known = np.iinfo(dtype)
    generator = np.random.default_rng(0)
    return generator.integers(known.min, known.max, shape, dtype, endpoint=True)


def in_onnxruntime(
    nodes: Sequence[Any], data: np.ndarray, result: str, known: Params, threads: int
) -> Candidate:
    """An ONNX Runtime session of nodes over an input `x` and weights, as a function to time."""
    from onnx import TensorProto, helper, numpy_helper

    kinds = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32}
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", kinds[str(data.dtype)], data.shape)],
        [helper.make_tensor_value_info("y", kinds[result], None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in known.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnx_session(model.SerializeToString(), threads)
    given = {"x": data}
    return lambda: session.run(None, given)[0]


def measure_integers(run: Run) -> None:
    """Integer matrix products and convolutions with constant weights."""
    sizes = [(1024, 1024, 1024), (1, 1024, 1024)] if not run.quick else [(8, 16, 24)]
    layers = [(64, 56, 64, 3, 1, 1), (64, 56, 64, 1, 1, 0), (256, 14, 256, 3, 1, 1)]
    for threads in run.counts:
        for kind in ("uint8", "int8"):
            for size in sizes:
                compare_byte_product(run, size, kind, threads)
        for layer in layers if not run.quick else [(16, 6, 16, 3, 1, 1)]:
            for layout in ("NCHW", "NHWC"):
                compare_byte_convolution(run, layer, threads, layout)


def compare_byte_product(run: Run, size: tuple[int, int, int], kind: str, threads: int) -> None:
    from onnx import helper

    m, k, n = size
    a, w = random_bytes(kind, m, k), random_bytes("int8", n, k)
    body = relay.nn.dense(
        relay.var("x", shape=a.shape, dtype=kind),
        relay.var("w", shape=w.shape, dtype="int8"),
        out_dtype="int32",
    )
    exe, seconds = compiled(body, {"w": w}, threads)
    result = aligned(m, n).view(np.int32)
    dot, operations = BareKernels(Target.host()).integer_peak(threads, 2 * m * k * n)
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    candidates: dict[str, Candidate] = {
        "relay": lambda: exe(a, out=result),
        "onnxruntime": in_onnxruntime([node], a, "int32", {"w": w.T.copy()}, threads),
        "dot": dot,
    }
    times = take_turns(candidates, threads, run.effort)
    found = fraction(times, 2 * m * k * n, "dot", operations)
    name = f"{kind} x int8 {m}x{k}x{n}"
    expected = a.astype(np.int64) @ w.astype(np.int64).T
    kept = run.report.compare(
        name,
        threads,
        without(times, "dot"),
        error=relative_error(result, expected),
        compile_s=seconds,
        note=f"{percent(found)} of the peak for integers",
        **found,
    )
    if m > 1 and kind == "uint8" and threads == 1 and not run.quick:
        limit_fraction(run, f"{name}, 1 thread", found, "peak for integers", 70)
    run.report.wanted(f"{name}, {threads} threads", kept["ratio"], "x ONNX Runtime", least=1)


def compare_byte_convolution(run: Run, layer: Layer, threads: int, layout: str) -> None:
    """A quantized convolution with bias and per-channel requantization. ONNX Runtime uses NCHW; our
    networks use NHWC between the first and the last layer."""
    from onnx import helper

    channels, extent, filters, kernel, stride, padding = layer
    x = random_bytes("uint8", 1, channels, extent, extent)
    w = random_bytes("int8", filters, channels, kernel, kernel)
    b = np.arange(filters, dtype=np.int32) * 100
    scale = np.linspace(1, 2, filters, dtype=np.float32) / np.float32(300 * channels * kernel)
    window = {
        "strides": (stride, stride),
        "padding": (padding, padding),
        "channels": filters,
        "kernel_size": (kernel, kernel),
        "out_dtype": "int32",
    }
    data, bias, factor = x, b.reshape(-1, 1, 1), scale.reshape(-1, 1, 1)
    if layout == "NHWC":
        data, bias, factor = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), b, scale
        window |= {"data_layout": layout, "kernel_layout": "OIHW"}
    arrays = {"x": data, "w": w, "b": bias, "s": factor}
    xs, ws, bs, ss = (
        relay.var(name, shape=array.shape, dtype=str(array.dtype)) for name, array in arrays.items()
    )
    real = relay.cast(relay.nn.conv2d(xs, ws, **window) + bs, "float32") * ss
    body = relay.cast(relay.clip(relay.round(real), 0.0, 255.0), "uint8")
    exe, seconds = compiled(body, {name: arrays[name] for name in "wbs"}, threads)
    result = np.empty(exe.outputs[0].shape, np.uint8)
    work = 2 * result.size * channels * kernel * kernel
    dot, operations = BareKernels(Target.host()).integer_peak(threads, work)
    node = helper.make_node(
        "QLinearConv",
        ["x", "one", "zero", "w", "s", "none", "one", "zero", "b"],
        ["y"],
        pads=[padding] * 4,
        strides=[stride] * 2,
        kernel_shape=[kernel] * 2,
    )
    known = {
        "w": w,
        "s": scale,
        "b": b,
        "one": np.float32(1),
        "zero": np.uint8(0),
        "none": np.zeros(filters, np.int8),
    }
    candidates: dict[str, Candidate] = {
        "relay": lambda: exe(data, out=result),
        "onnxruntime": in_onnxruntime([node], x, "uint8", known, threads),
        "dot": dot,
    }
    times = take_turns(candidates, threads, run.effort)
    sums = F.conv2d(*(torch.from_numpy(a).double() for a in (x, w, b)), stride, padding).numpy()
    reals = sums.astype(np.float32) * scale.reshape(-1, 1, 1)
    expected = np.clip(np.round(reals), 0, 255)
    found = fraction(times, work, "dot", operations)
    size = f"{extent}x{extent}x{channels}"
    name = f"{layout} bytes {size} {kernel}x{kernel} -> {filters}"
    kept = run.report.compare(
        name,
        threads,
        without(times, "dot"),
        error=relative_error(
            result, expected.transpose(0, 2, 3, 1) if layout == "NHWC" else expected
        ),
        compile_s=seconds,
        note=f"{percent(found)} of the peak for integers",
        **found,
    )
    run.report.wanted(f"{name}, {threads} threads", kept["ratio"], "x ONNX Runtime", least=1)


PARTS = {
    "peak": measure_peak,
    "chain": measure_chain,
    "gemm": measure_gemm,
    "rows": measure_rows,
    "blocked": measure_blocked,
    "layers": measure_layers,
    "integers": measure_integers,
}

if __name__ == "__main__":
    run_parts(__doc__, PARTS, threads=2)
