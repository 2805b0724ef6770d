"""Schedule a matrix product: from plain loops to tiles in registers. A schedule changes the loops
but not the result: both the loop evaluator, which runs one scalar at a time, and the compiled code
must agree with NumPy."""

import ctypes
import time
from dataclasses import replace

import numpy as np

from relay import te
from relay.native.runtime import Context
from relay.target import Target
from relay.target.llvm.codegen import generate
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.te.evaluate import evaluate
from relay.te.execute import run
from relay.te.loops import MemoryScope
from relay.te.lower import lower
from relay.te.schedule import (
    compute_at,
    create,
    parallel,
    reorder,
    set_scope,
    tile,
    unroll,
    vectorize,
)
from relay.te.tidy import tidy

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def matmul(n):
    """c[i, j] = sum over k of a[i, k] * b[k, j], then relu"""
    a, b = te.placeholder((n, n), "float32", "a"), te.placeholder((n, n), "float32", "b")
    k = te.axis(n, "k")
    product = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], k), "product")
    zero = te.const(0, "float32")
    return a, b, te.compute((n, n), lambda i, j: te.maximum(product[i, j], zero), "c")


def as_written(c):
    return create([c])


def in_tiles(c, rows, columns):
    """Accumulate each tile in registers, apply relu there, and store it once."""
    s = create([c])
    s = tile(s, "c", ("i", rows), ("j", columns))
    s = parallel(s, "c", "i.o")
    s = unroll(s, "c", "i.i")
    s = vectorize(s, "c", "j.i")
    s = compute_at(s, "product", "c", "j.o")
    s = set_scope(s, "product", MemoryScope.REGISTER)
    s = reorder(s, "product", "k", "i", "j")
    s = unroll(s, "product", "i")
    return vectorize(s, "product", "j")


def small_loops(schedule):
    """The simplified loops."""
    loops = lower(schedule)
    return replace(loops, body=tidy(loops.body))


def native(loops, target, threads):
    """The compiled loops as a Python function of arrays, the outputs last."""
    code = generate("matmul", loops, target)
    library = load(compile_module([code.ir], target), ["matmul"])
    context = Context(threads)
    workspace = np.empty(code.workspace + code.worker_workspace * threads + 64, "uint8")

    def call(*arrays):
        # a kernel takes pointers to its context and to the array of its arguments
        aligned = workspace.ctypes.data + -workspace.ctypes.data % 64
        places = [*(array.ctypes.data for array in arrays), aligned]
        arguments = (ctypes.c_uint64 * len(places))(*places)
        kernel = KERNEL(library.address("matmul"))
        assert kernel(context.address, ctypes.addressof(arguments)) == 0

    return call


def gigaflops(call, arrays, n):
    best = min(_seconds(call, arrays) for _ in range(20))
    return 2 * n**3 / best / 1e9


def _seconds(call, arrays):
    start = time.perf_counter()
    call(*arrays)
    return time.perf_counter() - start


# 8 by 8, in tiles of 2 by 4: small enough to read and to evaluate.
random = np.random.default_rng(0)
a, b, c = matmul(8)
x, y = (random.standard_normal((8, 8), "float32") for _ in range(2))
expected = np.maximum(x.astype("float64") @ y, 0)
assert np.allclose(evaluate([c], {a: x, b: y})[0], expected, atol=1e-5)
for title, schedule in (("as written", as_written(c)), ("in tiles", in_tiles(c, 2, 4))):
    loops = small_loops(schedule)
    print(f"--- {title}\n{loops.body!r}\n")
    found = np.empty((8, 8), "float32")
    run(loops.body, dict(zip((*loops.inputs, *loops.outputs), (x, y, found), strict=True)))
    assert np.allclose(found, expected, atol=1e-5)

# Large enough to measure, in tiles two vectors wide and as high as registers allow.
n = 384
target = Target.host()
lanes = target.vector_bits // 32
rows = 12 if target.vector_registers == 32 else 4
a, b, c = matmul(n)
x, y = (random.standard_normal((n, n), "float32") for _ in range(2))
expected = np.maximum(x.astype("float64") @ y, 0)
for title, schedule in (("as written", as_written(c)), ("in tiles", in_tiles(c, rows, 2 * lanes))):
    found = np.empty((n, n), "float32")
    call = native(small_loops(schedule), target, threads=1)
    call(x, y, found)
    assert abs(found - expected).max() < 1e-4 * abs(expected).max()
    print(f"{title}: {gigaflops(call, (x, y, found), n):.1f} GFLOP/s on one thread")
