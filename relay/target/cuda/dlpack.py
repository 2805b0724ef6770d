"""DLPack capsules: tensors of other libraries on a device, and ours for them, without a copy.

    lent = borrow(x)                  x.__dlpack__; lent.address, lent.shape, …; `lent` keeps it
    capsule = lend(address, shape, dtype, (2, 0), owner)          for `__dlpack__`

A producer is asked to have its elements ready for the default stream, which `borrow`'s caller waits
for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from relay import dtypes
from relay.errors import EvaluationError
from relay.immutable import frozen

CUDA: Final = 2  # kinds of devices
DEFAULT_STREAM: Final = 1
_NAME: Final = b"dltensor"
_KINDS: Final = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


@frozen
class Lent:
    """A tensor of another library; its memory is valid as long as this."""

    address: int
    shape: tuple[int, ...]
    dtype: str  # of Relay; empty for others
    is_dense: bool  # and row-major
    device: tuple[int, int]
    capsule: object


def device_of(data: Any) -> tuple[int, int] | None:
    """The kind and the number of the device that a tensor lies on, if it says so."""
    ask = getattr(data, "__dlpack_device__", None)
    if ask is None:
        return None
    kind, number = ask()
    return int(kind), int(number)


def borrow(data: Any) -> Lent:
    """A tensor of another library."""
    given = data.detach() if hasattr(data, "detach") else data
    try:
        capsule = given.__dlpack__(stream=DEFAULT_STREAM)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise EvaluationError.of(
            f"a {type(data).__name__} gives no access to its memory", found=str(error)
        ) from None
    place = _api().PyCapsule_GetPointer(capsule, _NAME)
    found = _Managed.from_address(place).tensor
    shape = tuple(found.shape[: found.ndim])
    strides = tuple(found.strides[: found.ndim]) if found.strides else None
    return Lent(
        (found.data or 0) + found.byte_offset,
        shape,
        _name(found.code, found.bits) if found.lanes == 1 else "",
        strides is None or _is_dense(shape, strides),
        (found.device_type, found.device_id),
        capsule,
    )


def lend(
    address: int, shape: Sequence[int], dtype: str, device: tuple[int, int], owner: object
) -> object:
    """A capsule of a dense tensor; `owner` keeps its memory."""
    kind = dtype.rstrip("0123456789")
    bits = 8 * dtypes.to_numpy(dtype).itemsize
    if kind not in _KINDS:
        raise EvaluationError.of(f"DLPack has no element type `{dtype}`")
    strides = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    sizes = (ctypes.c_int64 * max(1, 2 * len(shape)))(*shape, *strides)
    first = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    second = ctypes.cast(ctypes.addressof(sizes) + 8 * len(shape), ctypes.POINTER(ctypes.c_int64))
    made = _Managed()
    made.tensor = _DLTensor(address, *device, len(shape), _KINDS[kind], bits, 1, first, second, 0)
    held = (made, sizes, owner)
    made.manager = id(held)
    made.deleter = ctypes.cast(_deleter(), ctypes.c_void_p).value
    _api().Py_IncRef(held)  # until the deleter is called
    destructor = ctypes.cast(_destructor(), ctypes.c_void_p)
    return _api().PyCapsule_New(ctypes.addressof(made), _NAME, destructor)


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _name(code: int, bits: int) -> str:
    for kind, number in _KINDS.items():
        name = "bool" if kind == "bool" else f"{kind}{bits}"
        if number == code and name in dtypes.NAMES:
            return name
    return ""


# --- the API of Python ---------------------------------------------------------------------------


@cache
def _api() -> Any:
    api = ctypes.PyDLL(None)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    api.Py_IncRef.argtypes = (ctypes.py_object,)
    api.Py_IncRef.restype = None
    api.Py_DecRef.argtypes = (ctypes.c_void_p,)
    api.Py_DecRef.restype = None
    return api


@cache
def _deleter() -> Any:
    """What a consumer calls when it needs the memory no more, in any thread."""
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def delete(place: int) -> None:
        _api().Py_DecRef(_Managed.from_address(place).manager)

    return kind(delete)


@cache
def _destructor() -> Any:
    """What Python calls for a capsule, whose memory is still ours if no consumer renamed it."""
    plain = ctypes.PyDLL(None)  # with pointers: the capsule has no references any more
    valid = plain["PyCapsule_IsValid"]
    valid.restype, valid.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p)
    pointer = plain["PyCapsule_GetPointer"]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)

    def destroy(capsule: int) -> None:
        if valid(capsule, _NAME):
            _api().Py_DecRef(_Managed.from_address(pointer(capsule, _NAME)).manager)

    return ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(destroy)
