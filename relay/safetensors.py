"""Reading and writing named tensors in the safetensors format.

    8 bytes        length of the header, little endian
    header         JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
    data           the tensors one after the other, little endian, row by row

Elements of fewer than eight bits are stored as one byte each, floats as the integers of their bits,
with their type in the header's free-form `__metadata__`. Every length in the file is checked before
use.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from relay import dtypes, nd
from relay.errors import RelayError

_NAMES: Final = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint32": "U32",
    "int32": "I32",
    "float32": "F32",
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
}
_DTYPES: Final = {name: dtype for dtype, name in _NAMES.items()}
_STORED_AS: Final = {
    **dict.fromkeys(("int2", "int4"), "int8"),
    **dict.fromkeys(("uint2", "uint4"), "uint8"),
    **dict.fromkeys(("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"), "uint8"),
}
_RANGES: Final = {
    "bool": (0, 1),
    "uint2": (0, 3),
    "int2": (-2, 1),
    "uint4": (0, 15),
    "int4": (-8, 7),
    "float4_e2m1fn": (0, 15),
    "float6_e2m3fn": (0, 63),
    "float6_e3m2fn": (0, 63),
}
_METADATA: Final = "__metadata__"
_DTYPE_NOTE: Final = "relay.dtype."
ALIGNMENT: Final = 64  # a cache line, and the widest vector a processor loads
MAX_RANK: Final = 32


# --- one tensor --------------------------------------------------------------------------------


def array_to_bytes(array: np.ndarray) -> bytes:
    """The elements row by row, little endian; those of fewer than eight bits take a byte each."""
    dtype = array.dtype.name
    if dtype in _STORED_AS:
        stored = _STORED_AS[dtype]
        array = array.view(stored) if dtypes.is_float(dtype) else array.astype(stored)
    return (array if sys.byteorder == "little" else array.byteswap()).tobytes()


def array_from_bytes(data: bytes | memoryview, dtype: str, shape: tuple[Any, ...]) -> np.ndarray:
    """The tensor that `array_to_bytes` wrote; an error when the parts do not fit together.

    The result is a view of `data` where the processor can read it in place.
    """
    if dtype not in dtypes.NAMES:
        raise RelayError(f"unknown element type {dtype!r}")
    element = dtypes.to_numpy(dtype)
    if len(shape) > MAX_RANK or not all(type(d) is int and 0 <= d < 2**63 for d in shape):
        raise RelayError(f"{_brief(shape)} is not the shape of a tensor")
    count = prod(shape)
    if prod(d for d in shape if d) * element.itemsize >= 2**63:
        raise RelayError(f"a tensor of shape {_brief(shape)} does not fit in memory")
    if count * element.itemsize != len(data):
        raise RelayError(
            f"a {dtype} tensor of shape {_brief(shape)} takes {count * element.itemsize} bytes, "
            f"found {len(data)}"
        )
    stored = np.dtype(_STORED_AS.get(dtype, element))
    flat = np.frombuffer(data, stored) if count else np.zeros(0, stored)
    if sys.byteorder == "big":
        flat = flat.byteswap()
    if dtype in _RANGES:
        # unused bits of a byte must be zero, or sign bits
        low, high = _RANGES[dtype]
        values = flat.view(np.uint8) if element.kind == "b" else flat
        if count and not low <= int(values.min()) <= int(values.max()) <= high:
            raise RelayError(f"the data of a {dtype} tensor holds bytes that are no {dtype}")
        is_bits = dtypes.is_float(dtype)
        flat = flat.view(element) if is_bits else flat.astype(element, copy=False)
    if not flat.flags.aligned:
        flat = flat.copy()
    return flat.reshape(shape)


# --- many tensors ------------------------------------------------------------------------------


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Named tensors (anything `relay.nd.array` takes) as bytes that `load_param_dict` reads."""
    if not isinstance(params, Mapping):
        raise RelayError(f"parameters are saved by name, found {type(params).__name__}")
    arrays: dict[str, tuple[np.ndarray, str]] = {}
    for name, value in params.items():
        if not isinstance(name, str) or name == _METADATA:
            raise RelayError(
                f"a parameter needs a name, a string other than {_METADATA!r}: {name!r}"
            )
        array = nd.as_numpy(value)
        arrays[name] = (array, dtypes.canonical(array.dtype))

    # sorted by the alignment of their sizes, all tensors are aligned without gaps, so that a mapped
    # file can be used in place
    placed = sorted(arrays, key=lambda name: -_alignment(arrays[name][0].nbytes))
    offsets: dict[str, tuple[int, int]] = {}
    end = 0
    for name in placed:
        offsets[name] = (end, end := end + arrays[name][0].nbytes)

    header: dict[str, Any] = {}
    notes = {_DTYPE_NOTE + n: dtype for n, (_, dtype) in arrays.items() if dtype in _STORED_AS}
    if notes:
        header[_METADATA] = notes
    for name, (array, dtype) in arrays.items():
        header[name] = {
            "dtype": _NAMES[_STORED_AS.get(dtype, dtype)],
            "shape": list(array.shape),
            "data_offsets": list(offsets[name]),
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    parts = [len(text).to_bytes(8, "little"), text]
    parts.extend(array_to_bytes(arrays[name][0]) for name in placed)
    return b"".join(parts)


def _alignment(size: int) -> int:
    """The largest power of two up to `ALIGNMENT` that divides `size`."""
    return min(size & -size or ALIGNMENT, ALIGNMENT)


def load_param_dict(data: bytes | bytearray | memoryview) -> dict[str, nd.NDArray]:
    """The named tensors in `data`, in the order of the header."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RelayError(f"parameters are read from bytes, found {type(data).__name__}")
    return view_param_dict(memoryview(bytes(data)))


def view_param_dict(whole: memoryview) -> dict[str, nd.NDArray]:
    """Like `load_param_dict`, without a copy: the tensors are views of `whole`."""
    header, body = _read_header(whole)
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict):
        raise RelayError(f"{_METADATA} in the header must be an object")

    found: dict[str, nd.NDArray] = {}
    taken: list[tuple[int, int]] = []
    for name, entry in header.items():
        match entry:
            case {"dtype": str(stored), "shape": list(shape), "data_offsets": [first, last]}:
                pass
            case _:
                raise RelayError(
                    f"parameter `{name}`: expected its dtype, shape and data_offsets in the header"
                )
        if stored not in _DTYPES:
            raise RelayError(f"parameter `{name}`: unknown element type {stored!r}")
        dtype = _DTYPES[stored]
        narrow = metadata.get(_DTYPE_NOTE + name)
        if narrow is not None:
            if not isinstance(narrow, str) or _STORED_AS.get(narrow) != dtype:
                raise RelayError(f"parameter `{name}`: {narrow!r} is not stored as {stored}")
            dtype = narrow
        if type(first) is not int or type(last) is not int or not 0 <= first <= last <= len(body):
            raise RelayError(
                f"parameter `{name}`: offsets {_brief((first, last))} lie outside of the "
                f"{len(body)} bytes of data"
            )
        taken.append((first, last))
        try:
            array = array_from_bytes(body[first:last], dtype, tuple(shape))
        except RelayError as error:
            raise RelayError(f"parameter `{name}`: {error}") from None
        found[name] = nd.NDArray(array)
    _check_cover(taken, len(body))
    return found


def _read_header(whole: memoryview) -> tuple[dict[str, Any], memoryview]:
    """(header, data)"""
    if len(whole) < 8:
        raise RelayError(f"these {len(whole)} bytes are too short to hold parameters")
    length = int.from_bytes(whole[:8], "little")
    if length > len(whole) - 8:
        raise RelayError(
            f"the header should take {length} bytes, but only {len(whole) - 8} follow; "
            "the data is cut short or is not in the safetensors format"
        )
    try:
        header = json.loads(
            bytes(whole[8 : 8 + length]).decode(), object_pairs_hook=_without_repetition
        )
    except (ValueError, RecursionError) as error:
        raise RelayError(f"the header of the parameters is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise RelayError("the header of the parameters must be a JSON object")
    return header, whole[8 + length :]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands in it twice")
    return made


def _check_cover(taken: list[tuple[int, int]], length: int) -> None:
    """Check that the tensors cover all bytes of the data exactly once."""
    position = 0
    for first, last in sorted(taken):
        if first != position:
            raise RelayError(
                f"the tensors' offsets {'overlap' if first < position else 'leave a gap'} "
                f"at byte {min(first, position)} of the data"
            )
        position = last
    if position != length:
        raise RelayError(f"{length - position} bytes of data belong to no parameter")


def _brief(value: object) -> str:
    """`value` in an error message; that of a hostile header may be deep and long."""
    try:
        text = repr(value)
    except RecursionError:
        return "something nested very deeply"
    return text if len(text) <= 80 else text[:80] + "…"
