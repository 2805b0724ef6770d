"""The code of external compilers in this process, for kernels to call.

A kernel calls `int32_t f(DLTensor *tensors, int32_t count)`. A function of Python is called through
an address that ctypes makes for it; what it raises ends the call and is raised by the executable.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError, RelayError, TargetError
from relay.external.compiler import Callback, NativeFunction, find_compiler
from relay.target.kernel import Kernel, TensorSpec

# `Target.support` has the code of a part under this name, with the compiler and the kernel.
PREFIX: Final = "external/"
TENSOR_SIZE: Final = 48  # bytes of a DLTensor, whose first field is the address of its elements

_Called = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


def support_name(compiler: str, kernel: str) -> str:
    """The name of the code of a part in `Target.support`."""
    return f"{PREFIX}{compiler}/{kernel}"


class ExternalFunction:
    """The code behind one kernel."""

    def __init__(self, compiler: str, kernel: Kernel, code: bytes) -> None:
        self.compiler = compiler
        self.kernel = kernel
        self._raised = threading.local()  # calls may come from several threads
        try:
            loaded = find_compiler(compiler).load(code, kernel)
        except RelayError:
            raise
        except Exception as error:
            raise TargetError.of(
                f"the code of the external compiler `{compiler}` cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
        self.is_python = not isinstance(loaded, NativeFunction)
        self.callback = loaded if self.is_python else None
        if isinstance(loaded, NativeFunction):
            self._owner: Any = loaded.owner
            self.address = loaded.address
        elif callable(loaded):
            self._owner = _Called(self._calling(loaded))
            self.address = ctypes.cast(self._owner, ctypes.c_void_p).value or 0
        else:
            raise TargetError.of(
                f"the external compiler `{compiler}` loads nothing that can be called",
                expected="a NativeFunction, or a function of Python",
                found=repr(loaded),
            )

    def _calling(self, function: Callback) -> Any:
        inputs = len(self.kernel.inputs)
        specs = (*self.kernel.inputs, *self.kernel.outputs)

        def call(tensors: int, count: int) -> int:
            try:
                found = [_array(tensors + i * TENSOR_SIZE, spec) for i, spec in enumerate(specs)]
                for array in found[:inputs]:
                    array.flags.writeable = False
                function(found[:inputs], found[inputs:])
            except BaseException as error:  # also Ctrl-C: native code is in between
                self._raised.error = error
                return 1
            return 0

        return call

    def details(self) -> object | None:
        """What `details` of a function of Python says of its last call, if it has that."""
        made = getattr(self.callback, "details", None)
        return made() if callable(made) else None

    def failure(self, status: int, where: str) -> BaseException:
        """The error of a call that returned `status`."""
        error = getattr(self._raised, "error", None)
        self._raised.error = None
        if isinstance(error, RelayError) or (error and not isinstance(error, Exception)):
            return error
        place = f" in {where}" if where else ""
        said = f"{type(error).__name__}: {error}" if error is not None else f"status {status}"
        made = EvaluationError.of(
            f"the code of the external compiler `{self.compiler}` failed{place}: {said}",
            hint=f"it computes {', '.join(f'`{name}`' for name in self.kernel.operators)}",
        )
        made.__cause__ = error
        return made


def load_functions(
    kernels: Sequence[Kernel], support: Mapping[str, bytes]
) -> dict[str, ExternalFunction]:
    """The functions that kernels call, by the names of the kernels."""
    found: dict[str, ExternalFunction] = {}
    for kernel in kernels:
        if kernel.compiler:
            code = support.get(support_name(kernel.compiler, kernel.name))
            if code is None:
                raise TargetError.of(f"the code of `{kernel.compiler}` for a part is missing")
            found[kernel.name] = ExternalFunction(kernel.compiler, kernel, code)
    return found


def _array(tensor: int, spec: TensorSpec) -> np.ndarray:
    """The elements of a DLTensor, without a copy."""
    shape = tuple(map(int, spec.shape))
    kind = dtypes.to_numpy(spec.dtype)
    size = prod(shape) * kind.itemsize
    if not size:
        return np.empty(shape, kind)
    address = ctypes.c_void_p.from_address(tensor).value or 0
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ctypeslib.as_array(memory).view(kind).reshape(shape)
