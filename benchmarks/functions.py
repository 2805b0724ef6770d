"""Elementary functions compared with PyTorch and NumPy.

    python benchmarks/functions.py                          every function, float32
    python benchmarks/functions.py --models exp,tanh        some
    python benchmarks/functions.py --dtype float64 --level avx2
    python benchmarks/functions.py --json out.json          records besides the table

One thread computes 32,768 elements in the cache, into a preallocated result. The times of PyTorch
and NumPy include the call overhead, about a microsecond or 5 % of them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import Run, arguments, relative_error, started, take_turns

from relay import te
from relay.scalar_functions import FUNCTIONS, PREDICATES
from relay.target import Target
from relay.target.llvm.codegen import generate
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.te.legalize import Facts, legalize
from relay.te.loops import Buffer, Builder, Kind
from relay.te.lower import LoweredLoops

SIZE = 1 << 15
NAMES = [name for name in FUNCTIONS if name not in ("fma", "popcount", "clz", *PREDICATES)]
TORCH = {"exp10": ""}
NUMPY = {
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    "pow": "power",
    "round": "rint",
}


def kernel(name: str, dtype: str, target: Target) -> tuple[Callable[..., None], float]:
    """The compiled function over arrays, and its compile time."""
    lanes = target.vector_bits // te.width(dtype)
    inputs = tuple(
        Buffer(f"x{i}", (te.index(SIZE),), dtype) for i in range(FUNCTIONS[name].arguments)
    )
    output = Buffer("y", (te.index(SIZE),), dtype)
    b = Builder()
    with b.loop(SIZE // lanes) as outer, b.loop(lanes, kind=Kind.VECTOR) as lane:
        at = outer * lanes + lane
        b.store(output, at, te.call(name, *(x[at] for x in inputs)))
    has_rounding = target.arch != "x86_64" or "sse4.1" in target.enabled
    facts = Facts(target.has_fma, target.has_f16c, has_rounding)
    start = time.perf_counter()
    ir = generate("kernel", LoweredLoops(inputs, (output,), legalize(b.finish(), facts)), target).ir
    library = load([compile_module([ir], target)], ["kernel"])
    seconds = time.perf_counter() - start
    native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        library.address("kernel")
    )
    context = ctypes.create_string_buffer(64)

    def call(pointers: Any, held: Any = library) -> None:
        native(context, pointers)

    return call, seconds


def peers(name: str, arrays: list[np.ndarray], result: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The same function in PyTorch and NumPy."""
    found: dict[str, Callable[[], Any]] = {}
    of_torch = getattr(torch, TORCH.get(name, name), None)
    if of_torch is not None:
        tensors, out = (
            [torch.from_numpy(a) for a in arrays],
            torch.from_numpy(np.empty_like(result)),
        )
        found["torch"] = lambda: of_torch(*tensors, out=out)
    of_numpy = getattr(np, NUMPY.get(name, name), None)
    if of_numpy is not None:
        space = np.empty_like(result)
        found["numpy"] = lambda: of_numpy(*arrays, out=space)
    return found


def measure(name: str, dtype: str, target: Target, run: Run) -> None:
    """Measure one function and print its line."""
    random = np.random.default_rng(0)
    low, high = (1.1, 9.0) if name == "acosh" else (0.1, 0.9)
    arrays = [
        random.uniform(low, high, SIZE).astype(dtype) for _ in range(FUNCTIONS[name].arguments)
    ]
    result = np.empty(SIZE, dtype)
    ours, seconds = kernel(name, dtype, target)
    pointers = (ctypes.c_void_p * (len(arrays) + 1))(*(a.ctypes.data for a in (*arrays, result)))
    others = peers(name, arrays, result)
    times = take_turns({"relay": lambda: ours(pointers), **others}, effort=run.effort)
    error = None
    if "torch" in others:
        of_torch = getattr(torch, TORCH.get(name, name))
        truth = of_torch(*(torch.from_numpy(a.astype(np.float64)) for a in arrays)).numpy()
        error = relative_error(result, truth)
    per_element = times["relay"].median / SIZE * 1e9
    note = f"{per_element:.2f} ns an element"
    run.report.compare(f"{name} {dtype}", 1, times, error=error, compile_s=seconds, note=note)


def main() -> None:
    """Measure every function asked for."""
    parser = arguments(__doc__, NAMES)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--level", help="a level of x86-64: avx512, avx2 or baseline")
    given = parser.parse_args()
    run = started(given, NAMES)
    torch.set_num_threads(1)
    target = Target.x86(given.level) if given.level else Target.host()
    with np.errstate(all="ignore"):
        for name in run.models:
            measure(name, given.dtype, target, run)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
