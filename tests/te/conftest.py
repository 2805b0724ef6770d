"""Expressions compiled for every kind of machine this one can stand for."""

import ctypes

import numpy as np
import pytest

from relay import dtypes, te
from relay.target.llvm.codegen import generate
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.target.target import Target
from relay.te.legalize import Facts, legalize
from relay.te.loops import Buffer, Builder, Kind
from relay.te.lower import LoweredLoops


def levels():
    host = Target.host()
    if host.arch != "x86_64":
        return [host]
    known = [Target.x86(level) for level in ("avx512", "avx2", "baseline")]
    return [target for target in known if target.enabled <= host.enabled]


@pytest.fixture(params=levels(), ids=lambda target: f"{target.vector_bits} bits")
def target(request):
    return request.param


@pytest.fixture
def facts(target):
    """What the machine can do."""
    return Facts(
        has_fma=target.has_fma,
        has_f16c=target.has_f16c,
        has_rounding=target.arch != "x86_64" or "sse4.1" in target.enabled,
    )


@pytest.fixture
def compiled_all(target, facts):
    """A function that runs each of `bodies` on every element of arrays, `lanes` at a time."""

    def run(bodies, *arrays, lanes=None):
        widest = max(a.dtype.itemsize for a in arrays)
        together = lanes or target.vector_bits // (8 * widest)
        count = -(-len(arrays[0]) // together)
        names = [f"kernel{i}" for i in range(len(bodies))]
        kernels = [
            _elementwise(body, [dtypes.from_numpy(a.dtype) for a in arrays], count, together, facts)
            for body in bodies
        ]
        texts = [
            generate(name, loops, target).ir for name, loops in zip(names, kernels, strict=True)
        ]
        library = load([compile_module(texts, target)], names)
        padded = [np.resize(a, count * together) for a in arrays]
        results = []
        for name, loops in zip(names, kernels, strict=True):
            result = np.empty(count * together, dtypes.to_numpy(loops.outputs[0].dtype))
            _call(library.address(name), [*padded, result])
            results.append(result[: len(arrays[0])])
        return results

    return run


@pytest.fixture
def compiled(compiled_all):
    """The same of one body."""
    return lambda body, *arrays, lanes=None: compiled_all([body], *arrays, lanes=lanes)[0]


def _elementwise(body, types, count, lanes, facts):
    size = (te.index(count * lanes),)
    inputs = tuple(Buffer(f"x{i}", size, dtype) for i, dtype in enumerate(types))
    output = Buffer("y", size, body(*(x[0] for x in inputs)).dtype)
    b = Builder()
    with b.loop(count) as outer, b.loop(lanes, kind=Kind.VECTOR) as lane:
        at = outer * lanes + lane
        b.store(output, at, body(*(x[at] for x in inputs)))
    return LoweredLoops(inputs, (output,), legalize(b.finish(), facts))


def _call(address, arrays):
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
    pointers = [array.ctypes.data for array in arrays]
    context = ctypes.create_string_buffer(64)
    assert kernel(context, (ctypes.c_void_p * len(pointers))(*pointers)) == 0
