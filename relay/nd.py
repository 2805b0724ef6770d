"""Tensor values: an immutable NumPy array with its device, as `relay.nd.array` makes them.

Only tensors in a `Storage` are mutable: those of programs that manage memory explicitly, and those
that `empty` makes for results.

Inputs and weights of every executor are converted by one rule (`as_tensor`):

    arrays        of NumPy, `relay.nd`, torch and other DLPack producers: strides, alignment and
                  byte order do not matter; the element type must be the expected one
    numbers       of Python, and lists of them, have no element type: they take the expected one
                  if that is lossless (1 may be 1.0, but 1.5 is no integer, 300 no int8, and a bool
                  no number)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen


@frozen
class Device:
    """The device of a tensor."""

    kind: str = "cpu"
    index: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"


def cpu(index: int = 0) -> Device:
    """The CPU."""
    return Device("cpu", index)


def device(kind: str, index: int = 0) -> Device:
    """The device of that name, or of the target of that name."""
    name = kind.partition(" ")[0]
    if name in ("cpu", "llvm"):
        return cpu(index)
    if name == "cuda":
        return cuda(index)
    message = f"there is no device {kind!r}; there are the CPU, relay.cpu(0), and relay.cuda(0)"
    raise RelayError(message)


def cuda(index: int = 0) -> Device:
    """An NVIDIA GPU."""
    return Device("cuda", index)


HOST = cpu()


def _on_cpu(device: Device | None) -> Device:
    """The device of a tensor, HOST by default; there is memory of the CPU only."""
    if device is None:
        return HOST
    if device.kind != "cpu":
        raise RelayError(f"a tensor is in the memory of the CPU, it cannot be on {device}")
    return device


class NDArray:
    """A tensor value. `array` is a read-only NumPy array; `numpy()` returns a copy."""

    __slots__ = ("array", "device", "dtype")

    def __init__(self, array: np.ndarray, device: Device | None = None) -> None:
        view = native_order(np.asarray(array)).view()
        view.flags.writeable = False
        self.array = view
        self.dtype = dtypes.from_numpy(view.dtype)
        self.device = _on_cpu(device)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def numpy(self) -> np.ndarray:
        """A copy the caller may change."""
        return self.array.copy()

    asnumpy = numpy

    def astype(self, dtype: Any) -> NDArray:
        """The tensor with its elements converted."""
        made = self.array.astype(dtypes.to_numpy(dtypes.canonical(dtype)))
        return NDArray(made, self.device)

    def copyto(self, target: Device | StoredTensor) -> NDArray:
        """A copy on a device, or in a tensor that can be written."""
        if not isinstance(target, Device):
            return target.copyfrom(self)
        return array(self, target)

    def item(self) -> Any:
        return self.array.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = self.array if dtype is None else self.array.astype(dtype, copy=False)
        if made is not self.array:
            if copy is False:
                raise ValueError(f"{self.dtype} cannot be seen as {dtype} without a copy")
            return made
        return made.copy() if copy else made

    def __dlpack__(self, **options: Any) -> Any:
        # DLPack consumers may ignore a read-only flag, so they get a copy
        return self.array.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, self.device.index)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)

    def __getitem__(self, index: Any) -> Any:
        return self.array[index]

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __repr__(self) -> str:
        return f"NDArray({self.array!r}, device={self.device})"


class Weight(NDArray):
    """A named tensor that may be replaced after compilation, so passes must not use its
    elements."""

    __slots__ = ("name",)

    def __init__(self, name: str, array: np.ndarray) -> None:
        super().__init__(array)
        self.name = name


def array(data: Any, device: Device | None = None) -> NDArray:
    """A tensor with a copy of `data` (anything NumPy or DLPack understands)."""
    if device is None and isinstance(data, NDArray):
        device = data.device
    if device is not None and device.kind != HOST.kind:
        from relay.target.target import class_of  # makes tensors on devices

        made: NDArray = class_of(device.kind).tensor(data, device.index)
        return made
    if isinstance(data, NDArray):
        return NDArray(copied(data.array), device)
    return NDArray(copied(as_numpy(data)), device)


def copied(array: np.ndarray) -> np.ndarray:
    """A contiguous copy, with repeated elements of the array materialized."""
    try:
        return np.array(array, order="C", copy=True)
    except (MemoryError, ValueError):
        sizes = " x ".join(map(str, array.shape))
        message = f"there is no memory for a copy of {sizes} elements of {array.dtype.name}"
        raise RelayError(message) from None


def empty(
    shape: tuple[int, ...], dtype: str = "float32", device: Device | None = None
) -> StoredTensor:
    """A mutable tensor of zeros."""
    try:
        zeros = np.zeros(shape, dtypes.to_numpy(dtypes.canonical(dtype)))
    except (ValueError, TypeError, MemoryError) as error:
        raise RelayError(f"there is no tensor of shape {shape!r}: {error}") from None
    return StoredTensor(zeros, device)


class Storage:
    """A block of memory that holds tensors, initially zero."""

    __slots__ = ("__weakref__", "_memory", "device")

    def __init__(self, size: int, device: Device | None = None) -> None:
        if size < 0:
            raise RelayError(f"a storage cannot have {size} bytes")
        self._memory: bytearray | None = bytearray(size)
        self.device = _on_cpu(device)

    @property
    def size(self) -> int:
        """The size in bytes; 0 after `free`."""
        return 0 if self._memory is None else len(self._memory)

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: str = "float32") -> StoredTensor:
        """The tensor at that offset in bytes."""
        stored = dtypes.to_numpy(dtype)
        end = offset + prod(shape) * stored.itemsize
        if self._memory is None:
            raise RelayError("the storage was given back and holds nothing")
        if not 0 <= offset <= end <= len(self._memory):
            raise RelayError(
                f"bytes {offset} to {end} do not lie in a storage of {len(self._memory)} bytes"
            )
        memory = np.ndarray(shape, stored, buffer=self._memory, offset=offset)
        return StoredTensor(memory, self.device)

    def free(self) -> None:
        """Free the memory; no more tensors can be made here."""
        self._memory = None

    def __repr__(self) -> str:
        return f"Storage({self.size}, device={self.device})"


class StoredTensor(NDArray):
    """A mutable tensor in a `Storage`."""

    __slots__ = ("_memory",)

    def __init__(self, memory: np.ndarray, device: Device | None = None) -> None:
        NDArray.__init__(self, memory, device)
        self._memory = memory

    def write(self, value: NDArray) -> None:
        """Overwrite all elements with those of a tensor of the same shape and type."""
        if value.shape != self.shape or value.dtype != self.dtype:
            raise RelayError(
                f"a tensor of shape {value.shape} and type {value.dtype} cannot be written to one "
                f"of shape {self.shape} and type {self.dtype}"
            )
        self._memory[...] = value.array

    def copyfrom(self, source: Any) -> StoredTensor:
        """The same for anything that `array` accepts."""
        self.write(source if isinstance(source, NDArray) else array(source))
        return self


# --- from outside --------------------------------------------------------------------------------


def as_tensor(data: Any, dtype: np.dtype) -> np.ndarray:
    """`data` as an array in native byte order, without a copy if possible.

    Python numbers become `dtype`. Data that cannot be converted keeps its element type, and the
    caller reports the error; `conversion` is the hint.
    """
    if isinstance(data, PYTHON) and not isinstance(data, np.generic):  # np.float64 is a float, too
        return _from_python(data, dtype)
    return as_numpy(data)


def conversion(data: Any, dtype: str) -> str:
    """A hint how to convert `data`, an array of another element type."""
    if is_torch(data):
        return f"convert it: x.to(torch.{dtype})"
    if isinstance(data, PYTHON) and not isinstance(data, np.generic):
        return f"convert it: np.asarray(x, {dtype!r})"
    return f"convert it: x.astype({dtype!r})"


PYTHON = (list, tuple, range, bool, int, float)  # without an element type


def _from_python(data: Any, dtype: np.dtype) -> np.ndarray:
    made = as_numpy(data)
    if made.dtype == dtype or (made.size and not _is_close_kind(made.dtype, dtype)):
        return made
    with np.errstate(over="ignore"):  # 1e300 is an infinite float32
        found = made.astype(dtype)
    if made.dtype.kind in "iu" and found.dtype.kind != "f" and (found.astype("O") != made).any():
        what = f"{data}" if isinstance(data, int) else f"a {type(data).__name__} of integers"
        raise RelayError(f"{what} does not fit into {dtype.name}")
    return found


def _is_close_kind(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether Python numbers of NumPy type `given` may be converted to `wanted`."""
    name = dtypes.from_numpy(wanted)
    if given.kind == "b":
        return wanted.kind == "b"
    return dtypes.is_float(name) or (given.kind in "iu" and dtypes.is_integer(name))


def as_numpy(data: Any) -> np.ndarray:
    """`data` as a NumPy array in native byte order, without a copy where that is possible."""
    if isinstance(data, NDArray):
        return data.array
    try:
        if is_torch(data):
            made = from_torch(data)
        elif not isinstance(data, np.ndarray | np.generic) and hasattr(data, "__dlpack__"):
            made = np.from_dlpack(data.detach() if hasattr(data, "detach") else data)
        else:
            made = np.asarray(data)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:  # ragged, elsewhere, …
        raise RelayError(f"cannot make a tensor of {type(data).__name__}: {error}") from error
    if made.dtype.hasobject or (
        made.dtype.kind in "USVMmc" and made.dtype.name not in dtypes.NAMES
    ):
        raise RelayError(f"cannot make a tensor of {type(data).__name__} (NumPy sees {made.dtype})")
    return native_order(made)


def native_order(array: np.ndarray) -> np.ndarray:
    """The array in the byte order of this machine."""
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


# --- torch, which is never imported here: the caller has done so ----------------------------------


# element types that NumPy has only through ml_dtypes are transferred as integers of the same width
AS_INTEGERS = {"bfloat16": "int16", **dict.fromkeys((*dtypes.FLOAT8, "float8_e8m0fnu"), "uint8")}


def is_torch(data: Any) -> bool:
    """Whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(data, torch.Tensor)


def from_torch(tensor: Any) -> np.ndarray:
    """A torch tensor as an array, without a copy."""
    if not tensor.is_cpu:
        raise RelayError(f"it lies on {tensor.device}, not in the memory of the CPU")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_neg():  # a lazily negated view
        tensor = tensor.resolve_neg()
    name = _torch_name(tensor.dtype)
    if name in AS_INTEGERS:
        stand_in = getattr(sys.modules["torch"], AS_INTEGERS[name])
        return tensor.view(stand_in).numpy().view(dtypes.to_numpy(name))  # type: ignore[no-any-return]
    return tensor.numpy()  # type: ignore[no-any-return]


@cache
def _torch_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
