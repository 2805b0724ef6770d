"""The CUDA target without a GPU: Triton's interpreter runs its kernels, over memory of the host."""

import ctypes
from math import prod

from relay import dtypes
from relay.target.cuda import host
from relay.target.cuda.target import CUDATarget
from relay.target.loaded import Loaded
from tests.support.triton_worker import worker


class InterpretedGPU(CUDATarget):
    """GPUs whose kernels are interpreted; what the host computes is compiled as ever."""

    version = ""  # nothing is cached

    @property
    def is_named(self):
        return False

    def compile(self, texts):
        return [
            text.encode() if host.is_device_text(text) else host.compile_text(text)
            for text in texts
        ]

    def require_here(self, what):
        pass

    def load(self, kernels, code, *, threads, support):
        return InterpretedKernels(kernels, code, threads)


class InterpretedKernels(Loaded):
    def __init__(self, kernels, code, threads):
        self.kernels = {kernel.name: kernel for kernel in kernels}
        both = list(zip(kernels, code, strict=True))
        self.device = {k.name: c.decode() for k, c in both if host.is_device_code(c)}
        rest = [(kernel, c) for kernel, c in both if kernel.name not in self.device]
        native = host.target()
        self.host = native.load(
            [kernel for kernel, _ in rest],
            [c for _, c in rest],
            threads=threads,
            support=native.support(False),
        )
        self.calls = []

    def invoke(self, kernel, words, where=""):
        self.calls.append(kernel)
        if kernel not in self.device:
            self.host.invoke(kernel, words, where)
            return
        known = self.kernels[kernel]
        specs = [*known.inputs, *known.outputs]
        sizes = [prod(spec.shape) * dtypes.to_numpy(spec.dtype).itemsize for spec in specs]
        given = [ctypes.string_at(word, size) for word, size in zip(words, sizes, strict=True)]
        made = worker().run(self.device[kernel], given, known.workspace)
        for word, size, data in list(zip(words, sizes, made, strict=True))[len(known.inputs) :]:
            ctypes.memmove(word, data, size)
