"""The CUDA driver, through `cuda.bindings`: memory, copies, kernels, graphs.

Handles are opaque. A call that fails raises an error that says what to do. `Driver` is all that the
runtime asks for; `open_driver` gives that of this process.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from relay.errors import EvaluationError, TargetError
from relay.target.cuda.architecture import ARCHITECTURES, Architecture, of_capability

if TYPE_CHECKING:
    from relay.target.cuda.target import CUDATarget

Handle = Any

_STATIC_SHARED: Final = 48 << 10  # bytes that need no permission
_POINTER: Final = ctypes.c_void_p
_INTERFACE: Final = 12000  # the version of CUDA whose functions native code calls
_NAMED: Final = "name the architecture: target='cuda -arch=sm_90'"
# What a driver's error means for the user, by its name.
_ADVICE: Final = {
    "CUDA_ERROR_OUT_OF_MEMORY": "use a smaller batch, or free memory of other programs",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "compile for the architecture of this GPU",
    "CUDA_ERROR_INVALID_SOURCE": "compile for the architecture of this GPU",
    "CUDA_ERROR_INVALID_IMAGE": "compile for the architecture of this GPU",
    "CUDA_ERROR_NOT_INITIALIZED": "the process was forked after its first use of the GPU: start it "
    "with multiprocessing's `spawn`",
}
_LOST: Final = (  # after these, nothing on the device works any more
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_DEVICE_UNAVAILABLE",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
)


def _advice(name: str) -> str | None:
    """What to do about a driver's error."""
    if name in _LOST:
        return "the GPU is lost for this process: start it again; `nvidia-smi` shows its state"
    return _ADVICE.get(name)


class Driver(ABC):
    """One GPU, as the runtime uses it. Copies and launches are ordered by a stream."""

    architecture: Architecture

    @abstractmethod
    def enter(self) -> None:
        """Make the GPU current for the calling thread."""

    # --- for native code

    context: int  # what `cuCtxSetCurrent` takes

    @abstractmethod
    def entry(self, name: str) -> int:
        """The address of a function of the driver, by its name."""

    @abstractmethod
    def failure(self, status: int, where: str = "") -> EvaluationError:
        """The error for a status of the driver that is not 0."""

    @abstractmethod
    def word(self, handle: Handle) -> int:
        """A stream or a function as functions of the driver take it."""

    # --- memory

    @abstractmethod
    def allocate(self, size: int) -> int:
        """The address of memory of the device."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Free memory of the device."""

    @abstractmethod
    def allocate_host(self, size: int) -> int:
        """The address of memory of the host that the device reads and writes at the same one."""

    @abstractmethod
    def free_host(self, address: int) -> None:
        """Free memory of the host."""

    @abstractmethod
    def copy_in(self, device: int, host: int, size: int, stream: Handle) -> None:
        """Copy from the host to the device."""

    @abstractmethod
    def copy_out(self, host: int, device: int, size: int, stream: Handle) -> None:
        """Copy from the device to the host."""

    @abstractmethod
    def copy_between(self, to: int, device: int, size: int, stream: Handle) -> None:
        """Copy on the device."""

    # --- kernels

    @abstractmethod
    def stream(self) -> Handle:
        """A new stream."""

    @abstractmethod
    def end_stream(self, stream: Handle) -> None:
        """Destroy a stream, which must be idle."""

    @abstractmethod
    def synchronize(self, stream: Handle) -> None:
        """Wait until all of a stream is done."""

    @abstractmethod
    def function(self, cubin: bytes, name: str, shared: int) -> Handle:
        """A function of machine code, which uses `shared` bytes of shared memory."""

    @abstractmethod
    def unload(self, function: Handle) -> None:
        """Unload the code of a function."""

    @abstractmethod
    def launch(
        self,
        function: Handle,
        grid: Sequence[int],
        threads: int,
        shared: int,
        arguments: Sequence[int],
        stream: Handle,
        dependent: bool,
    ) -> None:
        """Launch a function over addresses; a `dependent` one waits for its predecessor itself."""

    @abstractmethod
    def begin_graph(self, stream: Handle) -> None:
        """Record what follows in a stream, instead of running it."""

    @abstractmethod
    def end_graph(self, stream: Handle) -> Handle:
        """The graph of what was recorded."""

    @abstractmethod
    def launch_graph(self, graph: Handle, stream: Handle) -> None:
        """Run a graph."""

    @abstractmethod
    def free_graph(self, graph: Handle) -> None:
        """Destroy a graph."""


class SystemDriver(Driver):
    """The driver of this machine, with its first GPU."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise TargetError.of(
                "GPUs are used through cuda-bindings, which is not installed",
                found=str(error),
                hint="pip install 'relay[cuda]'",
            ) from None
        self._cuda = driver
        try:
            self._call(driver.cuInit, 0)
            count = self._call(driver.cuDeviceGetCount)
        except (RuntimeError, EvaluationError) as error:
            raise TargetError.of(
                "there is no working NVIDIA driver on this machine",
                found=_first_line(error),
                hint="install it, or compile for the processor: target='llvm'",
            ) from None
        if not count:
            raise TargetError.of("there is no NVIDIA GPU in this machine")
        device = self._call(driver.cuDeviceGet, 0)
        attribute = driver.CUdevice_attribute
        major, minor = (
            self._call(driver.cuDeviceGetAttribute, one, device)
            for one in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        found = of_capability(major, minor)
        if found is None:
            raise TargetError.of(
                "there is no code generation for the GPU of this machine",
                expected=", ".join(ARCHITECTURES),
                found=f"sm_{major}{minor}",
            )
        self.architecture = found
        self.capability = 10 * major + minor
        self._context = self._call(driver.cuDevicePrimaryCtxRetain, device)
        self.context = int(self._context)
        self.enter()
        self._dependent = self._launch_attribute()

    def _call(self, function: Any, *args: Any) -> Any:
        """A call's result, or the error of its status."""
        status, *result = function(*args)
        if int(status) != 0:
            raise self.failure(int(status), f" in {function.__name__}")
        return result[0] if len(result) == 1 else tuple(result)

    def enter(self) -> None:
        self._call(self._cuda.cuCtxSetCurrent, self._context)

    # --- for native code

    def entry(self, name: str) -> int:
        found = self._call(self._cuda.cuGetProcAddress, name.encode(), _INTERFACE, 0)[0]
        if not int(found):
            raise TargetError.of(
                f"the NVIDIA driver of this machine has no function `{name}`",
                hint="install a newer driver: CUDA 12 or later",
            )
        return int(found)

    def failure(self, status: int, where: str = "") -> EvaluationError:
        try:
            name = self._cuda.CUresult(status).name
        except ValueError:  # of a driver that is newer than its bindings
            name = f"status {status}"
        return EvaluationError.of(f"the GPU driver reports {name}{where}", hint=_advice(name))

    def word(self, handle: Handle) -> int:
        return int(handle[0] if isinstance(handle, tuple) else handle)

    # --- memory

    def allocate(self, size: int) -> int:
        return int(self._call(self._cuda.cuMemAlloc, max(1, size)))

    def free(self, address: int) -> None:
        self.enter()
        self._call(self._cuda.cuMemFree, address)

    def allocate_host(self, size: int) -> int:
        self.enter()
        return int(self._call(self._cuda.cuMemHostAlloc, max(1, size), 0))

    def free_host(self, address: int) -> None:
        self.enter()
        self._call(self._cuda.cuMemFreeHost, address)

    def copy_in(self, device: int, host: int, size: int, stream: Handle) -> None:
        self._call(self._cuda.cuMemcpyHtoDAsync, device, host, size, stream)

    def copy_out(self, host: int, device: int, size: int, stream: Handle) -> None:
        self._call(self._cuda.cuMemcpyDtoHAsync, host, device, size, stream)

    def copy_between(self, to: int, device: int, size: int, stream: Handle) -> None:
        self._call(self._cuda.cuMemcpyDtoDAsync, to, device, size, stream)

    # --- kernels

    def stream(self) -> Handle:
        self.enter()
        flags = self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
        return self._call(self._cuda.cuStreamCreate, flags)

    def end_stream(self, stream: Handle) -> None:
        self.enter()
        self._call(self._cuda.cuStreamDestroy, stream)

    def synchronize(self, stream: Handle) -> None:
        self._call(self._cuda.cuStreamSynchronize, stream)

    def function(self, cubin: bytes, name: str, shared: int) -> Handle:
        self.enter()
        module = self._call(self._cuda.cuModuleLoadData, cubin)
        function = self._call(self._cuda.cuModuleGetFunction, module, name.encode())
        if shared > _STATIC_SHARED:
            attribute = self._cuda.CUfunction_attribute
            most = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call(self._cuda.cuFuncSetAttribute, function, most, shared)
        return function, module

    def unload(self, function: Handle) -> None:
        self.enter()
        self._call(self._cuda.cuModuleUnload, function[1])

    def launch(
        self,
        function: Handle,
        grid: Sequence[int],
        threads: int,
        shared: int,
        arguments: Sequence[int],
        stream: Handle,
        dependent: bool,
    ) -> None:
        config = self._cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
        config.sharedMemBytes = shared
        config.hStream = stream
        config.attrs = [self._dependent] if dependent else []
        config.numAttrs = len(config.attrs)
        packed = tuple(arguments), (_POINTER,) * len(arguments)
        self._call(self._cuda.cuLaunchKernelEx, config, function[0], packed, 0)

    def begin_graph(self, stream: Handle) -> None:
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._call(self._cuda.cuStreamBeginCapture, stream, mode)

    def end_graph(self, stream: Handle) -> Handle:
        graph = self._call(self._cuda.cuStreamEndCapture, stream)
        ready = self._call(self._cuda.cuGraphInstantiate, graph, 0)
        self._call(self._cuda.cuGraphDestroy, graph)
        return ready

    def launch_graph(self, graph: Handle, stream: Handle) -> None:
        self._call(self._cuda.cuGraphLaunch, graph, stream)

    def free_graph(self, graph: Handle) -> None:
        self.enter()
        self._call(self._cuda.cuGraphExecDestroy, graph)

    def _launch_attribute(self) -> Any:
        kinds = self._cuda.CUlaunchAttributeID
        attribute = self._cuda.CUlaunchAttribute()
        attribute.id = kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        value = self._cuda.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = 1
        attribute.value = value
        return attribute


@cache
def open_driver() -> Driver:
    """The driver of this process."""
    return SystemDriver()


def architecture_here() -> str:
    """The architecture of this machine's GPU."""
    try:
        return open_driver().architecture.name
    except TargetError as error:
        raise TargetError.of(
            f"the architecture of the GPU is not known: {error.diagnostics[0].message}",
            found=error.diagnostics[0].found,
            hint=_NAMED,
        ) from None


def require(target: CUDATarget, what: str) -> None:
    """Raise an error if the GPU of this machine cannot run code for a target."""
    here = open_driver().architecture
    if not target.architecture.runs_on(here.capability):
        raise TargetError.of(
            f"{what} was made for another GPU",
            expected=here.name,
            found=target.arch,
            hint=f"compile for this one: target='cuda -arch={here.name}'",
        )


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
