"""Conversion of tensors between Python and native code.

In: contiguous NumPy arrays, `relay.nd` arrays, torch tensors and other DLPack tensors are read
without a copy; anything else is copied or refused by the rules of `relay.nd`.
Out: NumPy arrays in memory of a pool, converted to the kind that the caller uses.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from math import prod
from typing import Any, Final

import numpy as np

from relay import dtypes, nd
from relay.errors import EvaluationError, RelayError
from relay.immutable import frozen

# Converts a result to the kind of array that the caller uses.
Wrap = Callable[[np.ndarray], Any]

# Inputs that do not determine the kind of the results.
_IN_DOUBT: Final = frozenset((np.ndarray, bool, int, float, list, tuple, type(None)))


@frozen
class TensorInfo:
    """An input or an output of a model."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * dtypes.to_numpy(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


# --- in ------------------------------------------------------------------------------------------


def address(array: np.ndarray) -> int:
    """The address of the elements."""
    try:
        # a third of the time of the next line
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]
    except (
        TypeError,
        ValueError,
        BufferError,
    ):  # read-only, empty, or an element type of ml_dtypes
        return int(array.__array_interface__["data"][0])


def read(data: Any, wanted: TensorInfo) -> np.ndarray:
    """`data` as an array that native code can read: contiguous, aligned, native byte order."""
    try:
        array = nd.as_tensor(data, dtypes.to_numpy(wanted.dtype))
    except RelayError as error:
        hint = "inputs by name: exe(**inputs)" if isinstance(data, Mapping) else None
        message = f"input `{wanted.name}` is no tensor: {error}"
        raise EvaluationError.of(message, expected=str(wanted), hint=hint) from None
    if array.dtype != dtypes.to_numpy(wanted.dtype):
        raise _mismatch("element type", wanted, array, data)
    if array.shape != wanted.shape:
        raise _mismatch("shape", wanted, array, data)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return nd.copied(array)


def writable(data: Any, wanted: TensorInfo) -> np.ndarray:
    """The caller's memory for a result as an array, without a copy."""
    array = nd.from_torch(data) if nd.is_torch(data) else data
    if type(array) is not np.ndarray or not array.flags.carray or not array.dtype.isnative:
        raise EvaluationError.of(
            f"output `{wanted.name}` cannot be written there",
            expected="a NumPy array or a torch tensor, dense, in order and not read-only",
            found=f"a {type(data).__name__}",
        )
    if array.dtype != dtypes.to_numpy(wanted.dtype):
        raise _mismatch("element type", wanted, array, data)
    if array.shape != wanted.shape:
        raise _mismatch("shape", wanted, array, data)
    return array


def _mismatch(what: str, wanted: TensorInfo, array: np.ndarray, data: Any) -> EvaluationError:
    found = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
    same_size = what == "shape" and array.size == prod(wanted.shape)
    hint = {
        "element type": nd.conversion(data, wanted.dtype),
        "shape": f"x.reshape({wanted.shape})" if same_size else None,
    }[what]
    return EvaluationError.of(
        f"`{wanted.name}` has another {what}",
        expected=f"{wanted.dtype}[{', '.join(map(str, wanted.shape))}]",
        found=found,
        hint=hint,
    )


# --- out -----------------------------------------------------------------------------------------


def wrapper(inputs: Sequence[Any]) -> Wrap:
    """The conversion of results: to the kind of the inputs, by default NumPy arrays."""
    for data in inputs:
        if type(data) in _IN_DOUBT:
            continue
        if nd.is_torch(data):
            return _to_torch
        if isinstance(data, nd.NDArray):
            return nd.NDArray
        if hasattr(data, "__array_namespace__") and not isinstance(data, np.ndarray | np.generic):
            return _through_dlpack(data.__array_namespace__())
    return plain


def plain(array: np.ndarray) -> np.ndarray:
    """The array itself."""
    return array


def _through_dlpack(namespace: Any) -> Wrap:
    def wrap(array: np.ndarray) -> Any:
        return namespace.from_dlpack(array)

    return wrap


def _to_torch(array: np.ndarray) -> Any:
    torch = sys.modules["torch"]
    name = dtypes.from_numpy(array.dtype)
    if name in nd.AS_INTEGERS:
        return torch.from_numpy(array.view(nd.AS_INTEGERS[name])).view(getattr(torch, name))
    if name in dtypes.EXTENSIONS:
        return array  # torch has no such tensors
    return torch.from_numpy(array)


def write_npz(file: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """An .npz file of arrays, which may have any names, `file` too."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
