"""Kernels on a GPU: one at a time, or straight-line code as graphs.

Straight-line code runs over one planned arena in the memory of the device. Its launches are
recorded once as a graph, which a call replays between copies of inputs and results:

    copy in | graph | copy out                             all kernels are for the device
    copy in | graph | copies, kernel of the host, copies | graph | copy out
"""

from __future__ import annotations

import base64
import ctypes
import json
import weakref
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen
from relay.target.cuda import host
from relay.target.cuda.architecture import architecture
from relay.target.cuda.driver import Driver, Handle
from relay.target.cuda.tensors import reserve
from relay.target.cuda.triton_compiler import HIDDEN_PARAMETERS
from relay.target.kernel import Kernel, TensorSpec
from relay.target.loaded import CallFrame, CallSequence, KernelCall, Loaded, Slots
from relay.target.memory import Place, address_of


@frozen
class Launch:
    """A function of the device, and the tensors it is launched over."""

    function: Handle
    grid: tuple[int, ...]
    threads: int
    shared: int
    arguments: tuple[tuple[str, int], ...]  # (`word`, number) or (`workspace`, offset)
    dependent: bool  # it waits for the launch before it by itself


class DeviceKernels(Loaded):
    """Kernels of a GPU, and those that the host computes for it."""

    def __init__(
        self, driver: Driver, kernels: Sequence[Kernel], code: Sequence[bytes], threads: int
    ) -> None:
        self.driver = driver
        self.kernels = {kernel.name: kernel for kernel in kernels}
        self.launches: dict[str, list[Launch]] = {}
        rest: list[tuple[Kernel, bytes]] = []
        for kernel, data in zip(kernels, code, strict=True):
            if host.is_device_code(data):
                self.launches[kernel.name] = _launches(driver, data)
            else:
                rest.append((kernel, data))
        self._host = _host_kernels(rest, threads) if rest else None
        self._free: list[SingleCall] = []
        self._stream = new_stream(self, driver)
        for launches in self.launches.values():
            for launch in launches:
                finally_(self, driver.unload, launch.function)

    @property
    def on_host(self) -> Loaded:
        """The kernels of the host."""
        assert self._host is not None
        return self._host

    def invoke(self, kernel: str, words: Sequence[int], where: str = "") -> None:
        if kernel not in self.launches:
            self.on_host.invoke(kernel, words, where)
            return
        try:
            call = self._free.pop()
        except IndexError:
            call = SingleCall(self)
        try:
            call.run(self.kernels[kernel], self.launches[kernel], words)
        finally:
            self._free.append(call)

    def sequence(
        self,
        calls: Sequence[KernelCall],
        inputs: Sequence[TensorSpec] = (),
        outputs: Sequence[TensorSpec] = (),
    ) -> CallSequence:
        return DeviceSequence(self, calls, inputs, outputs)

    # --- memory

    def allocate(self, size: int) -> np.ndarray:
        """Memory of the host that copies need no other for."""
        driver = self.driver
        address = driver.allocate_host(size)
        memory = (ctypes.c_uint8 * max(1, size)).from_address(address)
        block = np.frombuffer(memoryview(memory), np.uint8)
        finally_(memory, driver.free_host, address)
        return block if size else block[:0]

    def reserve(self, size: int) -> Place:
        return reserve(self.driver, size)

    def place(self, array: np.ndarray) -> Place:
        placed = self.reserve(array.nbytes)
        if array.nbytes:
            stream = self._stream
            self.driver.copy_in(placed.address, address_of(array), array.nbytes, stream)
            self.driver.synchronize(stream)
        return placed

    def launch(
        self,
        launches: Sequence[Launch],
        words: Sequence[int],
        workspace: int,
        stream: Handle,
        first: bool,
    ) -> None:
        """Launch all functions of a kernel; `first`: there is no launch before it to wait for."""
        for number, one in enumerate(launches):
            arguments = [
                words[at] if kind == "word" else workspace + at for kind, at in one.arguments
            ]
            self.driver.launch(
                one.function,
                one.grid,
                one.threads,
                one.shared,
                [*arguments, *(0,) * HIDDEN_PARAMETERS],
                stream,
                one.dependent and not (first and number == 0),
            )


def finally_(owner: object, release: Callable[[Any], None], what: Any) -> None:
    """Release something of the driver when its owner is gone, or as the process ends, by itself."""
    weakref.finalize(owner, release, what).atexit = False


def new_stream(owner: object, driver: Driver) -> Handle:
    stream = driver.stream()
    finally_(owner, driver.end_stream, stream)
    return stream


def _launches(driver: Driver, data: bytes) -> list[Launch]:
    kernel = json.loads(data)
    dependent = architecture(kernel["arch"]).dependent_launch
    return [
        Launch(
            driver.function(base64.b85decode(one["cubin"]), one["function"], one["shared"]),
            tuple(one["grid"]),
            one["threads"],
            one["shared"],
            tuple((kind, at) for kind, at in one["arguments"]),
            dependent,
        )
        for one in kernel["launches"]
    ]


def _host_kernels(rest: Sequence[tuple[Kernel, bytes]], threads: int) -> Loaded:
    target = host.target()
    kernels, code = zip(*rest, strict=True)
    return target.load(kernels, code, threads=threads, support=target.support(False))


class _Graph:
    """A recorded graph, to be run in a stream."""

    def __init__(self, driver: Driver, graph: Handle, stream: Handle) -> None:
        self.driver, self.graph, self.stream = driver, graph, stream
        finally_(self, driver.free_graph, graph)

    def __call__(self) -> None:
        self.driver.launch_graph(self.graph, self.stream)


class SingleCall:
    """Memory of the device for one kernel at a time, whose tensors lie in memory of the host."""

    def __init__(self, kernels: DeviceKernels) -> None:
        self.kernels = kernels
        self.stream = new_stream(self, kernels.driver)
        self.places: dict[tuple[int, int], Place] = {}  # by number and size

    def run(self, kernel: Kernel, launches: Sequence[Launch], words: Sequence[int]) -> None:
        """Copy the inputs, launch, and copy the results."""
        driver = self.kernels.driver
        driver.enter()
        sizes = [nbytes(spec) for spec in (*kernel.inputs, *kernel.outputs)]
        given = [self.place(number, size) for number, size in enumerate(sizes)]
        count = len(kernel.inputs)
        for address, word, size in zip(given[:count], words, sizes, strict=False):
            if size:
                driver.copy_in(address, word, size, self.stream)
        workspace = self.place(-1, kernel.workspace) if kernel.workspace else 0
        self.kernels.launch(launches, given, workspace, self.stream, True)
        for address, word, size in list(zip(given, words, sizes, strict=False))[count:]:
            if size:
                driver.copy_out(word, address, size, self.stream)
        driver.synchronize(self.stream)

    def place(self, number: int, size: int) -> int:
        """The address of memory for tensor `number`."""
        key = number, size
        if key not in self.places:
            self.places[key] = self.kernels.reserve(size)
        return self.places[key].address


class DeviceSequence(CallSequence):
    """Straight-line code on a GPU."""

    def __init__(
        self,
        loaded: DeviceKernels,
        calls: Sequence[KernelCall],
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
    ) -> None:
        super().__init__(loaded, calls)
        self.kernels = loaded
        self.inputs = [nbytes(spec) for spec in inputs]
        self.outputs = [nbytes(spec) for spec in outputs]
        self.steps = self._steps()

    def _steps(self) -> list[KernelCall | list[KernelCall]]:
        """Calls for the host, and stretches of calls for the device."""
        steps: list[KernelCall | list[KernelCall]] = []
        for call in self.calls:
            if call.kernel.name not in self.kernels.launches:
                steps.append(call)
            elif steps and isinstance(steps[-1], list):
                steps[-1].append(call)
            else:
                steps.append([call])
        return steps

    def frame(self, slots: Slots) -> DeviceFrame:
        return DeviceFrame(self, slots)


class DeviceFrame(CallFrame):
    """Straight-line code with its arguments. Inputs and results lie in memory of the host, all
    other tensors in that of the device."""

    def __init__(self, sequence: DeviceSequence, slots: Slots) -> None:
        super().__init__(sequence, slots)
        self.kernels = sequence.kernels
        self.driver = self.kernels.driver
        self.driver.enter()
        self.stream = new_stream(self, self.driver)
        self.inputs, self.outputs = sequence.inputs, sequence.outputs
        self.given = len(self.inputs) + len(self.outputs)
        self.places = [self.kernels.reserve(size) for size in (*self.inputs, *self.outputs)]
        self.steps = sequence.steps
        self.recorded: bytes | None = None  # the addresses that the graphs are recorded with
        self.runs: list[Callable[[], None]] = []
        # the inputs and outputs of this run that lie on the device, in the order of the slots
        self.there: frozenset[int] = frozenset()

    def run(self) -> int:
        driver, slots, stream = self.driver, self.slots, self.stream
        driver.enter()
        fixed = bytes(memoryview(slots)[self.given :])
        if fixed != self.recorded:
            self.runs = [self._recorded(step) for step in self.steps]
            self.recorded = fixed
        count = len(self.inputs)
        there, self.there = self.there, frozenset()
        for number, size in enumerate(self.inputs):
            if size:
                copy_in = driver.copy_between if number in there else driver.copy_in
                copy_in(self.places[number].address, slots[number], size, stream)
        for run in self.runs:
            run()
        for number, size in enumerate(self.outputs, count):
            if size:
                copy_out = driver.copy_between if number in there else driver.copy_out
                copy_out(slots[number], self.places[number].address, size, stream)
        driver.synchronize(stream)
        return 0

    # --- for measurements

    def replay(self) -> None:
        """Run all steps again, over the inputs of the last call, and do not wait."""
        for run in self.runs:
            run()

    def wait(self) -> None:
        """Wait until all that was started is done."""
        self.driver.enter()
        self.driver.synchronize(self.stream)

    def launches(self) -> list[list[Launch]]:
        """The launches of every call; none for those of the host."""
        known = self.kernels.launches
        return [known.get(call.kernel.name, []) for call in self.sequence.calls]

    def repeated(self, call: KernelCall, times: int) -> Callable[[], None]:
        """A graph of one call for the device, `times` times."""
        return self._recorded([call] * times)

    def address(self, slot: int) -> int:
        """The address of a tensor in memory of the device."""
        return self.places[slot].address if slot < self.given else self.slots[slot]

    def _recorded(self, step: KernelCall | list[KernelCall]) -> Callable[[], None]:
        if isinstance(step, KernelCall):
            return self._on_host(step)
        driver, stream = self.driver, self.stream
        driver.begin_graph(stream)
        first = True
        try:
            for call in step:
                launches = self.kernels.launches[call.kernel.name]
                words = [self.address(slot) for slot in call.slots]
                workspace = words[-1] if call.kernel.workspace else 0
                self.kernels.launch(launches, words, workspace, stream, first)
                first = first and not launches
        finally:
            graph = driver.end_graph(stream)
        return _Graph(driver, graph, stream)

    def _on_host(self, call: KernelCall) -> Callable[[], None]:
        """A call of a kernel of the host, over copies."""
        driver, stream, kernel = self.driver, self.stream, call.kernel
        sizes = [nbytes(spec) for spec in (*kernel.inputs, *kernel.outputs)]
        blocks = [self.kernels.allocate(size) for size in sizes]
        words = [address_of(block) for block in blocks]
        places = [self.address(slot) for slot in call.slots[: len(sizes)]]
        count = len(kernel.inputs)
        tensors = list(zip(words, places, sizes, strict=True))

        def run() -> None:
            for word, place, size in tensors[:count]:
                if size:
                    driver.copy_out(word, place, size, stream)
            driver.synchronize(stream)
            self.kernels.on_host.invoke(kernel.name, words, call.where)
            for word, place, size in tensors[count:]:
                if size:
                    driver.copy_in(place, word, size, stream)

        run.blocks = blocks  # type: ignore[attr-defined]  # kept alive
        return run

    def failure(self, status: int) -> BaseException:
        return RelayError(f"a kernel ended with status {status}")


def nbytes(spec: TensorSpec) -> int:
    """The size of a tensor of known sizes."""
    sizes = [size for size in spec.shape if isinstance(size, int)]
    assert len(sizes) == len(spec.shape)
    return prod(sizes) * dtypes.to_numpy(spec.dtype).itemsize
