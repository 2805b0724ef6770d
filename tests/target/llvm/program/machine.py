"""Native programs for tests: compiled, loaded, run, and every object counted afterwards.

machine = Machine(text)
machine.run("fib", 30).words == [832040]
"""

import ctypes
from dataclasses import dataclass
from functools import cache

import numpy as np

from relay import dtypes
from relay.native import layout
from relay.native.call import ProgramContext, program_runtime
from relay.program.ownership import own
from relay.program.program import PREPARE
from relay.program.text import parse
from relay.target.llvm import abi
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.target.llvm.program.translate import translate
from relay.target.target import Target
from tests.support.ownership import verify

TARGET = Target.host()
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32)


@dataclass(frozen=True)
class Outcome:
    """What a run left behind; `live` counts the objects that are not freed."""

    status: int
    words: list
    live: int
    site: object
    details: tuple

    @property
    def value(self):
        assert self.status == 0
        return self.words[0]


def tensor(array):
    """An object around an array, which nobody frees, as (address, what keeps it)."""
    array = np.ascontiguousarray(array)
    memory = np.zeros(64 + layout.TENSOR_DIMS + 8 * array.ndim, np.uint8)
    start = -memory.ctypes.data % 64
    words = memory[start : start + layout.TENSOR_DIMS + 8 * array.ndim].view(np.int64)
    words[0] = layout.IMMORTAL
    words[1] = layout.TENSOR | array.ndim << 32
    words[2:5] = array.ctypes.data, layout.EXTERNAL, array.nbytes
    words[5:] = array.shape
    return words.ctypes.data, (memory, array)


def as_float(word, dtype="float32"):
    """The number that a word is."""
    return np.array([word]).view(dtype)[0]


def read_tensor(address, dtype):
    """The elements of a tensor object, copied."""
    kind, rank = (ctypes.c_int32 * 2).from_address(address + layout.KIND)
    assert kind == layout.TENSOR
    dims = list((ctypes.c_int64 * rank).from_address(address + layout.TENSOR_DIMS))
    data = ctypes.c_int64.from_address(address + layout.TENSOR_DATA).value
    found = np.frombuffer(
        (ctypes.c_uint8 * (int(np.prod(dims)) * dtypes.to_numpy(dtype).itemsize)).from_address(
            data
        ),
        dtypes.to_numpy(dtype),
    )
    return found.reshape(dims).copy()


@cache
def compiled(text, kernels):
    owned = own(parse("relay program 1\n" + text))
    assert not verify(owned), verify(owned)
    names = [function.name for function in owned.functions if function.name != PREPARE]
    translated = translate(owned, TARGET, names)
    code = [compile_module([translated.ir], TARGET, opt=3, imports=translated.imports)]
    if kernels:
        code.append(compile_module([kernels], TARGET))
    return translated, code


class Machine:
    """A program, loaded with its own context."""

    def __init__(self, program, kernels="", *, constants=(), threads=1, stack_size=1 << 22):
        self.translated, code = compiled(program, kernels)
        runtime = program_runtime()
        self.library = load(code, list(self.translated.entries.values()), runtime.symbols)
        self.enter = runtime.function("relay_enter", ctypes.c_int32, 4)
        self.context = ProgramContext(threads, stack=stack_size)
        self.kept = [tensor(constants[name]) for name in self.translated.constants]
        table = [address for address, _ in self.kept]
        self.table = (ctypes.c_int64 * max(1, len(table)))(*table)
        self.context[layout.CONSTANTS] = ctypes.addressof(self.table)
        self.callback = None

    def interrupt_with(self, answer):
        """Ask `answer()` from time to time whether to stop."""
        self.callback = _CALLBACK(answer)
        self.context[layout.CALLBACK] = ctypes.cast(self.callback, ctypes.c_void_p).value

    def run(self, name, *args):
        kept = []
        words = (ctypes.c_int64 * 16)()
        for place, arg in enumerate(args):
            if isinstance(arg, np.ndarray):
                address, keep = tensor(arg)
                kept.append(keep)
                words[place] = address
            elif isinstance(arg, float):
                words[place] = int(np.float64(arg).view(np.int64))
            elif isinstance(arg, np.generic):
                ctypes.memmove(ctypes.addressof(words) + 8 * place, arg.tobytes(), arg.nbytes)
            else:
                words[place] = arg
        results = (ctypes.c_int64 * 16)()
        frame = self.context[layout.FRAME]
        status = self.enter(
            self.context.address,
            self.library.address(self.translated.entries[name]),
            ctypes.addressof(words),
            ctypes.addressof(results),
        )
        assert not frame or self.context[layout.FRAME] == frame, "the frame is not given back"
        site = self.translated.sites[self.context.site] if status > abi.INTERRUPTED else None
        return Outcome(status, list(results), self.context.live, site, self.context.details)
