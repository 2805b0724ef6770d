"""Tensors of a model file as arrays; sizes are checked before memory is allocated.

The data of a tensor is in the file, or in another file in the folder of the model (external data);
a path that leads out of that folder, even through a link, is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import numpy as np
from onnx import SparseTensorProto, TensorProto

from relay import dtypes
from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.onnx.types import MOST_AXES, element_type
from relay.immutable import frozen

# fields of elements, other than `raw_data` and `int32_data`
_FIELDS: Mapping[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}

LARGEST = 1 << 40  # bytes of a tensor
# the limit of bytes of a dense tensor: a constant, and a multiple of its sparse form
SPARSE = 1 << 16
SPARSENESS = 1024


@frozen
class Files:
    """The folder of external data, if there is one."""

    folder: Path | None = None

    def read(self, proto: TensorProto, size: int) -> np.ndarray:
        """The bytes of a tensor in another file, mapped, not copied."""
        entries = {entry.key: entry.value for entry in proto.external_data}
        location = entries.get("location", "")
        offset = _number(entries.get("offset", "0"), proto.name)
        length = _number(entries.get("length", str(size)), proto.name)
        with self._opened(location, proto.name) as file:
            there = os.fstat(file.fileno()).st_size
            if length != size or offset + length > there:
                found = f"{length} bytes from {offset} on in {quoted(location)}"
                raise _broken(proto.name, f"{size} bytes, in a file of {there}", found)
            if size == 0:
                return np.zeros(0, np.uint8)
            return np.memmap(file, np.uint8, "r", offset, (length,))

    def _opened(self, location: str, name: str) -> BinaryIO:
        """The file of that name in the folder.

        It is opened folder by folder without following links, so that changes of the folder in the
        meantime have no effect.
        """
        if self.folder is None:
            where = f"the elements of tensor {quoted(name)} are in file {quoted(location)}"
            hint = "import the model by its path"
            raise FrontendError.of(f"{where}, and the model is in no folder", hint=hint)
        given = PurePosixPath(location)
        if not given.parts or given.is_absolute() or ".." in given.parts or "\\" in location:
            raise _outside(location, name)
        if "\0" in location:
            raise _broken(name, "the name of a file", quoted(location))
        try:
            handle = _handle(self.folder, given.parts)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _outside(location, name) from None
            message = f"file {quoted(location)}, with tensor {quoted(name)}, cannot be read"
            raise FrontendError.of(message, found=error.strerror) from None
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return os.fdopen(handle, "rb")
        os.close(handle)
        raise _broken(name, "a file", f"{quoted(location)}, which is something else")


def _handle(folder: Path, parts: Sequence[str]) -> int:
    """An open file in a folder; a link on the way is an error (ELOOP)."""
    # a pipe must not block
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            inner = os.open(part, flags, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _outside(location: str, name: str) -> FrontendError:
    return FrontendError.of(
        f"the elements of tensor {quoted(name)} are outside of the model's folder",
        expected="a file in that folder, and no link",
        found=quoted(location) if location else "no file at all",
    )


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise _broken(name, "a number of bytes", repr(text[:40]))
    return int(text)


def _broken(name: str, expected: str, found: str) -> FrontendError:
    return FrontendError.of(f"tensor {quoted(name)} is broken", expected=expected, found=found)


def array_of(proto: TensorProto, files: Files) -> np.ndarray:
    """The elements of a tensor."""
    name = element_type(proto.data_type)
    dtype = dtypes.to_numpy(name)
    shape = _checked_shape(proto.dims, dtype.itemsize, proto.name)
    count = prod(shape)
    size = _packed_size(count, name) if _is_packed(name) else count * dtype.itemsize
    if proto.data_location == TensorProto.EXTERNAL:
        raw = files.read(proto, size)
    elif proto.HasField("raw_data"):
        raw = np.frombuffer(proto.raw_data, np.uint8)
    else:
        return _from_field(proto, name, count).reshape(shape)
    if raw.size != size:
        raise _broken(proto.name, f"{size} bytes for shape {shape}", f"{raw.size} bytes")
    if _is_packed(name):
        return _unpacked(raw, count, name).reshape(shape)
    if proto.data_type == TensorProto.BOOL:
        truths: np.ndarray = np.not_equal(raw, 0)
        return truths.reshape(shape)
    # files are little-endian
    stored = dtype.newbyteorder("<") if dtype.kind in "iuf" else dtype
    found: np.ndarray = raw.view(stored).astype(dtype, copy=False)
    return found.reshape(shape)


def _checked_shape(dims: Sequence[int], itemsize: int, name: str) -> tuple[int, ...]:
    """A valid shape of an array."""
    if len(dims) > MOST_AXES:
        raise _broken(name, f"at most {MOST_AXES} axes", f"{len(dims)}")
    shape = tuple(dims)
    if any(extent < 0 for extent in shape):
        raise _broken(name, "sizes from 0 on", str(shape))
    # strides must be valid even if one extent is 0
    if prod(max(extent, 1) for extent in shape) * itemsize > LARGEST:
        raise _broken(name, f"at most {LARGEST} bytes", f"shape {shape}")
    return shape


def _is_packed(dtype: str) -> bool:
    """Whether elements are smaller than a byte, and packed from the lowest bits on."""
    return 1 < dtypes.bits(dtype) < 8


def _packed_size(count: int, dtype: str) -> int:
    return (count * dtypes.bits(dtype) + 7) // 8


def _unpacked(raw: np.ndarray, count: int, dtype: str) -> np.ndarray:
    """Elements of two, four or six bits."""
    bits = dtypes.bits(dtype)
    if bits == 6:
        rows = np.unpackbits(raw, bitorder="little")[: count * bits].reshape(count, bits)
        return _from_bits(np.packbits(rows, axis=1, bitorder="little").reshape(-1), dtype)
    parts = [raw >> shift for shift in range(0, 8, bits)]
    return _from_bits(np.stack(parts, axis=-1).reshape(-1)[:count], dtype)


def _from_bits(words: np.ndarray, dtype: str) -> np.ndarray:
    """The elements whose bits are the lowest ones of words of 8 or 16 bits."""
    bits, stored = dtypes.bits(dtype), dtypes.to_numpy(dtype)
    if dtype in dtypes.SIGNED:
        signed: np.ndarray = (words << 8 - bits).view(np.int8) >> 8 - bits
        return signed.astype(stored)
    low: np.ndarray = np.bitwise_and(words, words.dtype.type((1 << bits) - 1))
    return low.view(stored) if dtypes.is_float(dtype) else low.astype(stored)


def _from_field(proto: TensorProto, dtype: str, count: int) -> np.ndarray:
    field = getattr(proto, _FIELDS.get(proto.data_type, "int32_data"))
    # in a list, six-bit elements are not packed
    is_packed = dtypes.bits(dtype) in (2, 4)
    size = _packed_size(count, dtype) if is_packed else count
    if len(field) != size:
        raise _broken(proto.name, f"{size} numbers for {count} elements", f"{len(field)}")
    stored = dtypes.to_numpy(dtype)
    if is_packed:
        return _unpacked(np.array(field, np.int64).astype(np.uint8), count, dtype)
    if dtypes.is_float(dtype) and dtypes.bits(dtype) <= 16:
        return _from_bits(np.array(field, np.int64).astype(f"u{stored.itemsize}"), dtype)
    return np.array(field).astype(stored)


def dense(proto: SparseTensorProto, files: Files) -> np.ndarray:
    """A sparse tensor as a dense array."""
    name = proto.values.name
    values = array_of(proto.values, files)
    positions = array_of(proto.indices, files).astype(np.int64, copy=False)
    shape = _checked_shape(proto.dims, values.itemsize, name)
    count = prod(shape)
    if count * values.itemsize > SPARSE + SPARSENESS * values.nbytes:
        raise _broken(name, "a shape in proportion to the elements", str(shape))
    if positions.ndim == 2 and positions.shape == (values.size, len(shape)):
        inside = bool((positions >= 0).all() and (positions < np.array(shape, np.int64)).all())
        flat = (
            np.ravel_multi_index(tuple(positions.T), shape) if inside and values.size else positions
        )
    else:
        flat = positions.reshape(-1)
        inside = flat.size == values.size and bool(((flat >= 0) & (flat < count)).all())
    if not inside or values.ndim != 1:
        raise _broken(name, f"indices of elements of shape {shape}", "others")
    made = np.zeros(count, values.dtype)
    if values.size:
        made[flat] = values
    return made.reshape(shape)
