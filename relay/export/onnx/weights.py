"""Constants as tensors of ONNX, in the model or, if they are large, in a file beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from onnx import TensorProto

from relay import dtypes
from relay.files import as_path, replacing
from relay.frontend.onnx.types import ELEMENT_TYPES

NUMBERS = {name: number for number, name in ELEMENT_TYPES.items()}
INSIDE = 1024  # bytes; smaller constants are always in the model
ALIGNMENT = 4096  # for memory mapping


@dataclass
class Weights:
    """Where constants are stored: in a file, or in the model."""

    file: BinaryIO | None = None
    name: str = ""  # of the file
    size: int = 0  # bytes in the model

    def tensor(self, name: str, array: np.ndarray) -> TensorProto:
        """A constant of that name."""
        dtype = dtypes.canonical(array.dtype)
        proto = TensorProto(name=name, dims=array.shape, data_type=NUMBERS[dtype])
        data = _bytes(array, dtype)
        if self.file is None or data.nbytes <= INSIDE:
            proto.raw_data = data.tobytes()
            self.size += data.nbytes
            return proto
        offset = self.file.seek(0, os.SEEK_END)
        self.file.write(bytes(-offset % ALIGNMENT))
        offset += -offset % ALIGNMENT
        self.file.write(data.data)
        proto.data_location = TensorProto.EXTERNAL
        entries = {"location": self.name, "offset": str(offset), "length": str(data.nbytes)}
        for key, value in entries.items():
            proto.external_data.add(key=key, value=value)
        return proto


def _bytes(array: np.ndarray, dtype: str) -> np.ndarray:
    """The bytes in the format of ONNX: little-endian, with elements of 2 and 4 bits packed."""
    flat = np.ascontiguousarray(array).reshape(-1)
    width = dtypes.bits(dtype)
    if width in (2, 4):
        parts = 8 // width
        small = _low_bits(flat, dtype) & (2**width - 1)
        small = np.append(small, np.zeros(-small.size % parts, np.uint8)).reshape(-1, parts)
        packed: np.ndarray = np.zeros(len(small), np.uint8)
        for place in range(parts):
            packed |= small[:, place] << np.uint8(place * width)
        return packed
    stored = flat.astype(flat.dtype.newbyteorder("<")) if flat.dtype.kind in "iuf" else flat
    return stored.view(np.uint8)


def _low_bits(flat: np.ndarray, dtype: str) -> np.ndarray:
    """Elements of at most four bits, one per byte."""
    if dtypes.is_float(dtype):
        return flat.view(np.uint8)
    return flat.astype(np.int8).view(np.uint8)


def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    width = dtypes.bits(dtype)
    if dtype.startswith("u"):
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


@contextmanager
def weights_in(path: str | os.PathLike[str] | None) -> Iterator[Weights]:
    """Weights that are stored in a file, or, without one, in the model."""
    if path is None:
        yield Weights()
        return
    with replacing(path, "the weights") as unfinished, unfinished.open("xb") as file:
        yield Weights(file, as_path(path).name)
