"""Encode scalars and tensors as the words that a native program takes.

A scalar is the word itself. A tensor is an entry with its address and sizes; its elements are
copied only if they are not dense and row-major.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from ctypes import c_size_t
from functools import cache
from typing import Any, Final

import numpy as np
from numpy import ndarray

from relay import dtypes, nd
from relay.errors import RelayError
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.nd import NDArray
from relay.program.program import ScalarSpec, spec_text
from relay.target.llvm.executable.message import INDEX, Message, Mismatch, Read, describe

UNKNOWN: Final = "?"


# --- scalars ------------------------------------------------------------------------------------


def scalar_reader(dtype: str) -> Read:
    """The reader of scalars: numbers, and tensors of rank 0."""
    stored = dtypes.to_numpy(dtype)
    if dtype == "bool":
        return _boolean_reader(stored)
    if dtypes.is_integer(dtype):
        return _integer_reader(dtype, stored)
    return _float_reader(dtype, stored)


def _boolean_reader(stored: np.dtype) -> Read:
    def read(value: Any, message: Message) -> int:
        if value is True:
            return 1
        if value is False:
            return 0
        if type(value) is int:  # integers and booleans are not converted to each other
            raise Mismatch("bool", describe(value), "convert it: bool(x)")
        return int(bool(_zero_rank(value, "bool", stored)))

    return read


def integer_range(dtype: str) -> tuple[int, int]:
    """The minimum and maximum of an integer type."""
    width = int(dtype.removeprefix("u").removeprefix("int"))
    if dtype.startswith("u"):
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def _integer_reader(dtype: str, stored: np.dtype) -> Read:
    low, high = integer_range(dtype)

    def read(value: Any, message: Message) -> int:
        number: int = value if type(value) is int else int(_zero_rank(value, dtype, stored))
        if not low <= number <= high:
            raise Mismatch(f"a number of type {dtype}, {low} to {high}", str(number))
        return number if number < 1 << 63 else number - (1 << 64)

    return read


def _float_reader(dtype: str, stored: np.dtype) -> Read:
    form = {"float16": "e", "float32": "f", "float64": "d"}.get(dtype)
    if form is None:  # `struct` has no code for narrow floats
        as_integer = np.dtype(f"u{stored.itemsize}")

        def read_narrow(value: Any, message: Message) -> int:
            if type(value) not in (float, int):
                return int(_zero_rank(value, dtype, stored).view(as_integer))
            return int(np.array(value, stored).view(as_integer))

        return read_narrow

    pack = struct.Struct(form).pack
    unpack = struct.Struct({2: "h", 4: "i", 8: "q"}[stored.itemsize]).unpack

    def read(value: Any, message: Message) -> int:
        if type(value) is not float and type(value) is not int:
            value = float(_zero_rank(value, dtype, stored))
        try:
            word: int = unpack(pack(value))[0]
        except (OverflowError, struct.error):  # the latter for large integers
            word = unpack(pack(_infinity(value, dtype)))[0]
        return word

    return read


def _infinity(value: float, dtype: str) -> float:
    """The infinity that NumPy converts a number to that is too large for a float type."""
    try:
        return math.copysign(math.inf, value)
    except OverflowError:
        raise Mismatch(dtype, f"an integer of {value.bit_length()} bits") from None  # type: ignore[attr-defined]


def _zero_rank(value: Any, dtype: str, stored: np.dtype) -> np.ndarray:
    """A tensor of rank 0 of the required type."""
    array = _array(value, ScalarSpec(dtype), stored)
    if array.dtype != stored:
        raise Mismatch(dtype, _found(value, array), _conversion(value, ScalarSpec(dtype)))
    if array.shape != ():
        raise Mismatch(dtype, _found(value, array))
    return array


# --- tensors ------------------------------------------------------------------------------------


def tensor_reader(spec: TensorSpec, number: int) -> Read:
    """The reader of tensors; `number` identifies it within a program."""
    stored = dtypes.to_numpy(spec.dtype)
    shape = spec.shape
    rank = len(shape)
    any_size = all(size == UNKNOWN for size in shape)
    rest: tuple[int, ...] | None = None  # bytes and sizes, if they are static
    if all(isinstance(size, int) for size in shape):
        rest = (math.prod(map(int, shape)) * stored.itemsize, *map(int, shape))
    misaligned = stored.alignment - 1  # bits of an address
    place_of = address_reader()

    def read(value: Any, message: Message) -> int:
        key = (number, id(value))
        if (word := message.seen.get(key)) is not None:
            return word
        array = value
        if (
            type(array) is ndarray
            and rest is not None
            and array.dtype is stored
            and array.shape == shape
            and array.flags.carray  # which includes alignment
        ):
            index = message.count
            message.count = index + 1
            message.seen[key] = word = 2 * index
            message.words += (layout.TENSOR + INDEX * index, rank, place_of(array), *rest)
            return word
        if type(array) is not ndarray or not array.dtype.isnative:
            array = array.array if type(array) is NDArray else _array(value, spec, stored)
            message.held.append(array)
        if array.dtype is not stored and array.dtype != stored:
            raise Mismatch(spec_text(spec), _found(value, array), _conversion(value, spec))
        sizes = array.shape
        if len(sizes) != rank:
            raise Mismatch(spec_text(spec), _found(value, array))
        if not any_size and sizes != shape:
            _check_sizes(sizes, spec, array, message)
        place = place_of(array)
        if place & misaligned or not array.flags.c_contiguous:
            array = nd.copied(array)
            message.held.append(array)
            place = place_of(array)
        index = message.count
        message.count = index + 1
        message.seen[key] = 2 * index
        message.words += (layout.TENSOR + INDEX * index, rank, place, array.nbytes, *sizes)
        return 2 * index

    return read


@cache
def address_reader() -> Callable[[np.ndarray], int]:
    """A function that returns the address of the elements of an array.

    NumPy's C API has it right after the object header, where it is much faster to read than through
    NumPy. Where the layout differs, NumPy is asked.
    """
    behind = object.__basicsize__
    from_address = c_size_t.from_address

    def look(array: np.ndarray) -> int:
        place: int = from_address(id(array) + behind).value
        return place

    samples = (np.zeros(3), np.zeros((2, 3), np.int8)[1:], np.zeros(()), np.zeros((0, 2)))
    known = all(look(sample) == _ask(sample) for sample in samples)
    return look if known and sys.implementation.name == "cpython" else _ask


def _ask(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _array(value: Any, spec: TensorSpec | ScalarSpec, stored: np.dtype) -> np.ndarray:
    try:
        return nd.as_tensor(value, stored)
    except RelayError as error:
        raise Mismatch(spec_text(spec), f"{describe(value)}: {error}") from None


def _check_sizes(
    sizes: tuple[int, ...], spec: TensorSpec, array: np.ndarray, message: Message
) -> None:
    """Check static sizes, and that dynamic sizes of one name are equal."""
    for axis, (size, wanted) in enumerate(zip(sizes, spec.shape, strict=True)):
        if isinstance(wanted, int):
            if size != wanted:
                raise Mismatch(
                    f"{spec_text(spec)}, dimension {axis} of size {wanted}",
                    f"{describe(array)}, of size {size}",
                )
        elif wanted != UNKNOWN:
            here = (size, f"dimension {axis} of `{message.argument}`")
            before, where = message.bindings.setdefault(wanted, here)
            if before != size:
                raise Mismatch(
                    f"{spec_text(spec)} with {wanted} = {before}, which {where} is",
                    f"{describe(array)}, dimension {axis} of size {size}",
                )


def _found(value: Any, array: np.ndarray) -> str:
    """The type of an invalid value; Python numbers as they are."""
    return describe(value if isinstance(value, bool | int | float) else array)


def _conversion(value: Any, spec: TensorSpec | ScalarSpec) -> str | None:
    rank = len(spec.shape) if isinstance(spec, TensorSpec) else 0
    if len(getattr(value, "shape", ())) == rank:
        return nd.conversion(value, spec.dtype)
    return None
