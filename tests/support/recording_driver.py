"""A GPU driver without a GPU: it records what is asked of it.

Memory of the device is memory of the host, so that copies happen. A launch runs a Python function
over the addresses, if `functions` has one for its name.
"""

import ctypes

from relay.target.cuda.architecture import ARCHITECTURES
from relay.target.cuda.driver import Driver


class Function(str):
    """A loaded function: each is another, whatever its name."""


class RecordingDriver(Driver):
    def __init__(self, arch="sm_90", functions=None):
        self.architecture = ARCHITECTURES[arch]
        self.functions = functions or {}
        self.log = []
        self.blocks = {}  # memory of the device, by address
        self.pinned = {}
        self.recording = None
        self.graphs = []
        self.held = set()  # streams, graphs and functions

    def enter(self):
        pass

    def said(self, *what):
        (self.log if self.recording is None else self.recording).append(what)

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
        return any(
            start <= address and address + size <= start + room
            for start, (_, room) in self.blocks.items()
        )

    def copy_in(self, device, host, size, stream):
        assert self.inside(device, size)
        self.said("copy in", size)
        ctypes.memmove(device, host, size)

    def copy_out(self, host, device, size, stream):
        assert self.inside(device, size)
        self.said("copy out", size)
        ctypes.memmove(host, device, size)

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
        return self.hold("function", Function(name))

    def unload(self, function):
        self.held.remove(("function", id(function)))

    def launch(self, function, grid, threads, shared, arguments, stream, dependent):
        assert arguments[-2:] == [0, 0]  # the parameters that Triton hides
        assert all(self.inside(one, 1) for one in arguments[:-2])
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
