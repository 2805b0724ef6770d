"""A GPU driver without a GPU: it records what is asked of it.

Memory of the device is memory of the host, so that copies happen. A launch runs a Python function
over the addresses, if `functions` has one for its name. Native code calls it through functions of
C.
"""

import ctypes
import json

from relay.errors import EvaluationError
from relay.target.cuda.architecture import ARCHITECTURES
from relay.target.cuda.driver import Driver
from relay.target.cuda.program.runtime import CONFIGURED_ATTRIBUTES, CONFIGURED_STREAM
from tests.support.triton_worker import worker

WORD = ctypes.c_uint64
SIGNATURES = {
    "cuLaunchKernelEx": 4,
    "cuMemAlloc": 2,
    "cuMemFree": 1,
    "cuMemcpyHtoDAsync": 4,
    "cuMemcpyDtoHAsync": 4,
    "cuStreamSynchronize": 1,
    "cuCtxSetCurrent": 1,
}


class Function(str):
    """A loaded function: each is another, whatever its name."""

    code = b""

    @property
    def facts(self):
        """The launch that it was made of."""
        return json.loads(self.code) if self.code else {}


class RecordingDriver(Driver):
    def __init__(self, arch="sm_90", functions=None):
        self.architecture = ARCHITECTURES[arch]
        self.functions = {} if functions is None else functions
        self.log = []
        self.blocks = {}  # memory of the device, by address
        self.pinned = {}
        self.recording = None
        self.graphs = []
        self.held = set()  # streams, graphs and functions
        self.words = {}  # by word: what native code knows as a word
        self.entries = {name: self._callable(name) for name in SIGNATURES}
        self.status = {}  # by function of the driver: what its next call returns
        self.context = 4711
        self.raised = []  # in functions that native code has called

    def enter(self):
        pass

    def said(self, *what):
        (self.log if self.recording is None else self.recording).append(what)

    # --- for native code

    def _callable(self, name):
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[WORD] * SIGNATURES[name])

        def call(*args):
            if status := self.status.pop(name, 0):
                return status
            try:
                getattr(self, name)(*args)
            except Exception as error:
                self.raised.append(error)
                return 999
            return 0

        return kind(call)

    def entry(self, name):
        return ctypes.cast(self.entries[name], ctypes.c_void_p).value

    def word(self, handle):
        self.words[id(handle)] = handle
        return id(handle)

    def failure(self, status, where=""):
        return EvaluationError.of(f"the GPU driver reports {status}{where} {self.raised}")

    def cuMemAlloc(self, place, size):
        WORD.from_address(place).value = self.allocate(size)

    def cuMemFree(self, address):
        self.free(address)

    def cuMemcpyHtoDAsync(self, device, host, size, stream):
        self.copy_in(device, host, size, self.words[stream])

    def cuMemcpyDtoHAsync(self, host, device, size, stream):
        self.copy_out(host, device, size, self.words[stream])

    def cuStreamSynchronize(self, stream):
        self.synchronize(self.words[stream])

    def cuCtxSetCurrent(self, context):
        assert context == self.context

    def cuLaunchKernelEx(self, configuration, function, params, extra):
        numbers = (ctypes.c_uint32 * 7).from_address(configuration)
        stream = WORD.from_address(configuration + CONFIGURED_STREAM).value
        dependent = WORD.from_address(configuration + CONFIGURED_ATTRIBUTES).value & 0xFFFFFFFF
        assert tuple(numbers[4:6]) == (1, 1) and not extra
        handle = self.words[function]
        places = (WORD * (len(handle.facts["types"]) + 2)).from_address(params)
        arguments = [WORD.from_address(place).value for place in places]
        self.launch(
            handle,
            numbers[:3],
            numbers[3],
            numbers[6],
            arguments,
            self.words[stream],
            bool(dependent),
        )

    # --- memory

    def allocate(self, size):
        return self._new(self.blocks, size)

    def free(self, address):
        del self.blocks[address]

    def allocate_host(self, size):
        return self._new(self.pinned, size)

    def free_host(self, address):
        del self.pinned[address]

    @staticmethod
    def _new(table, size):
        block = (ctypes.c_uint8 * (size + 256))()
        address = -(-ctypes.addressof(block) // 256) * 256
        ctypes.memset(address, 0x7F, size)  # no zeros that nobody wrote
        table[address] = block, size
        return address

    def inside(self, address, size):
        """Whether a range lies in memory of the device."""
        return self.room(address, self.blocks) >= size

    @staticmethod
    def room(address, *tables):
        """The bytes of a block from an address on; -1 outside of all."""
        for table in tables:
            for start, (_, room) in table.items():
                if start <= address <= start + room:
                    return start + room - address
        return -1

    def copy_in(self, device, host, size, stream):
        assert self.inside(device, size)
        self.said("copy in", size)
        ctypes.memmove(device, host, size)

    def copy_out(self, host, device, size, stream):
        assert self.inside(device, size)
        self.said("copy out", size)
        ctypes.memmove(host, device, size)

    def copy_between(self, to, device, size, stream):
        assert self.inside(device, size) and self.inside(to, size)
        self.said("copy between", size)
        ctypes.memmove(to, device, size)

    # --- kernels

    def hold(self, kind, what):
        self.held.add((kind, id(what)))
        return what

    def stream(self):
        return self.hold("stream", object())

    def end_stream(self, stream):
        self.held.remove(("stream", id(stream)))

    def synchronize(self, stream):
        self.said("synchronize")

    def function(self, cubin, name, shared):
        made = Function(name)
        made.code = cubin
        return self.hold("function", made)

    def unload(self, function):
        self.held.remove(("function", id(function)))

    def launch(self, function, grid, threads, shared, arguments, stream, dependent):
        assert arguments[-2:] == [0, 0]  # the parameters that Triton hides
        assert all(self.room(one, self.blocks, self.pinned) > 0 for one in arguments[:-2])
        assert all(one % 16 == 0 for one in arguments[:-2])  # as Triton was told
        call = ("launch", function, tuple(grid), threads, tuple(arguments[:-2]), dependent)
        self.said(*call)
        if self.recording is None:
            self.run(call)

    def run(self, call):
        if (function := self.functions.get(call[1])) is not None:
            function(*call[4])

    def begin_graph(self, stream):
        assert self.recording is None
        self.recording = []

    def end_graph(self, stream):
        graph, self.recording = self.recording, None
        self.graphs.append(graph)
        return self.hold("graph", graph)

    def free_graph(self, graph):
        self.held.remove(("graph", id(graph)))

    def launch_graph(self, graph, stream):
        self.said("graph", len(graph))
        for call in graph:
            self.run(call)


class InterpretingDriver(RecordingDriver):
    """Launches are interpreted by Triton."""

    def __init__(self):
        super().__init__("sm_80")  # later ones have instructions that are not interpreted

    def run(self, call):
        facts, addresses = call[1].facts, call[4]
        rooms = [self.room(one, self.blocks, self.pinned) for one in addresses]
        given = [ctypes.string_at(*one) for one in zip(addresses, rooms, strict=True)]
        words = [["word", number] for number in range(len(addresses))]
        launch = {**facts, "arguments": words}
        text = json.dumps({"source": facts["source"], "launches": [launch]})
        made = worker().run(text, given, 0)
        for address, before, after in zip(addresses, given, made, strict=True):
            # tensors share blocks: only what was written is
            for at, (old, new) in enumerate(zip(before, after, strict=True)):
                if old != new:
                    ctypes.c_uint8.from_address(address + at).value = new
