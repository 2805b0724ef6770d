"""Runs the code of a part on the simulator: what a program calls, and what the last call took."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay.errors import TargetError
from relay.target.accel.code import AccelCode, bytes_of, pack, unpack
from relay.target.accel.memory import Machine
from relay.target.accel.report import Report, report
from relay.target.accel.simulator import Run, simulate
from relay.target.kernel import Kernel


class Device:
    """A part of a program on an accelerator."""

    def __init__(self, code: AccelCode) -> None:
        self.code = code
        self._last: Run | None = None

    @classmethod
    def of_kernel(cls, data: bytes, kernel: Kernel) -> Device:
        """The device of saved code."""
        code = AccelCode.of_bytes(data)
        for given, known in ((kernel.inputs, code.inputs), (kernel.outputs, code.outputs)):
            if [(s.shape, s.dtype) for s in given] != [(t.shape, t.dtype) for t in known]:
                raise TargetError.of("the code of a part has other tensors than its kernel")
        return cls(code)

    def __call__(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        config = self.code.config
        machine = Machine(config, self.code.memory)
        for address, block in self.code.contents:
            machine.dram[address : address + len(block)] = np.frombuffer(block, np.uint8)
        for array, tensor in zip(inputs, self.code.inputs, strict=True):
            data = pack(array, config).reshape(-1).view(np.uint8)
            machine.dram[tensor.address : tensor.address + data.size] = data
        self._last = simulate(machine, self.code.program)
        for array, tensor in zip(outputs, self.code.outputs, strict=True):
            size = bytes_of(tensor.shape, tensor.dtype, config)
            data = machine.dram[tensor.address : tensor.address + size].view(tensor.dtype)
            array[...] = unpack(data, tensor.shape, config)

    @property
    def last_run(self) -> Run | None:
        """The run of the last call; its cycles are those of every call."""
        return self._last

    def details(self) -> Report | None:
        """Cycles, how busy the units were, and the roofline, for `exe.profile`."""
        return None if self._last is None else report(self.code, self._last)
