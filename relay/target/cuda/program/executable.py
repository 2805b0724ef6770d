"""Executables of whole programs on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from relay.errors import EvaluationError
from relay.executors.report import Memory
from relay.native import layout
from relay.native.call import ProgramContext, program_runtime
from relay.program.native import workspace_name
from relay.target.cuda import host
from relay.target.cuda.loaded import DeviceKernels
from relay.target.cuda.program import runtime
from relay.target.cuda.program.compile import RUNTIME
from relay.target.cuda.program.record import Launches, Record, load_runtime
from relay.target.cuda.program.stubs import numbered
from relay.target.cuda.program.timing import TimedLaunches
from relay.target.kernel import Kernel
from relay.target.llvm import abi
from relay.target.llvm.executable.program_function import ProgramFunction
from relay.target.llvm.executable.style import Style
from relay.target.llvm.executable.whole_program import Timer, WholeProgramExecutable
from relay.target.llvm.jit import Library, load
from relay.target.llvm.objects import undefined_symbols
from relay.target.loaded import Loaded


class DeviceProgramExecutable(WholeProgramExecutable):
    """A compiled program whose tensors lie in memory of a GPU."""

    def _linked(self) -> tuple[Library, Loaded]:
        program, code = self.program, self.code
        loaded = code.target.load(
            program.kernels, code.objects, threads=self.threads, support=code.support
        )
        assert isinstance(loaded, DeviceKernels)
        self._device = loaded
        self._runtime = load_runtime(code.support[RUNTIME])
        self._names = list(numbered(program.kernels))
        self._launches = Launches(loaded, self._names)
        self._records: WeakSet[Record] = WeakSet()
        here = [
            (kernel, data)
            for kernel, data in zip(program.kernels, code.objects, strict=True)
            if not host.is_device_code(data)
        ]
        library = load(
            [*(data for _, data in here), self._native.code],
            [*(kernel.name for kernel, _ in here), self._native.entry],
            self._imports(),
        )
        return library, loaded

    def _imports(self) -> dict[str, int]:
        known = {name: self._runtime.address(name) for name in runtime.PROGRAM_IMPORTS}
        return {**program_runtime().symbols, **known}

    def _prepared(self, context: ProgramContext) -> None:
        record = self._record()
        context.use_device(record, record.address)

    def _record(self) -> Record:
        workspace = max((kernel.workspace for kernel in self._device_kernels()), default=0)
        record = Record(self._device, self._runtime, self._launches, workspace)
        self._records.add(record)
        return record

    def _device_kernels(self) -> list[Kernel]:
        return [self.program.kernel_table[name] for name in self._names]

    def _run(self, args: tuple[Any, ...], style: Style) -> Any:
        self._device.driver.enter()
        return super()._run(args, style)

    # --- errors

    def _failure(self, status: int, context: ProgramContext) -> BaseException:
        record = context.device
        assert isinstance(record, Record)
        sites = self._native.sites
        site = sites[context.site] if 0 <= context.site < len(sites) else None
        if status == layout.DEVICE_FAILED:
            where = f" in {site.where}" if site is not None and site.where else ""
            return self._device.driver.failure(record.error, where)
        found = super()._failure(status, context)
        if status != abi.OUT_OF_MEMORY or record.error != runtime.OUT_OF_MEMORY:
            return found
        return EvaluationError.of(
            str(found).partition("\n")[0],
            found=f"{record.nbytes >> 20} MB of the GPU in use by this program",
            hint="use smaller inputs, or free memory of other programs",
        )

    # --- inspection

    def _timers(self) -> tuple[ProgramFunction, list[Timer]]:
        called = undefined_symbols(self._native.code)
        on_host = [kernel for kernel in self.program.kernels if kernel.name in called]
        timer = self._timer_of(on_host)
        launches = TimedLaunches(self._device, self._names, self._device_kernels())
        imports = {**self._imports(), **timer.imports}
        sizes = [size for one in on_host if (size := workspace_name(one.name)) in called]
        imports |= {size: self._library.address(size) for size in sizes}
        library = load(self._native.code, [self._native.entry], imports)

        def prepare(context: ProgramContext) -> None:
            record = self._record()
            launches.take_part(record)
            record.kept.append(library)
            context.use_device(record, record.address)

        main = self._entered_at(library.address(self._native.entry), prepare)
        return main, [timer, launches]

    @property
    def memory(self) -> Memory:
        known = super().memory
        taken = sum(record.nbytes for record in self._records)
        return Memory(
            known.arena + taken, known.workspace, known.constants, known.inputs, known.outputs
        )

    @property
    def device_kernels(self) -> Sequence[str]:
        """The names of the kernels that the device computes; the host computes the others."""
        return tuple(self._names)
