"""Bit packing: a word holds one bit of as many adjacent integers, the first in its highest bit.

bitpack([3, 0, 1, 2, 0, 0, 0, 2], bits=2) in uint8  ==  [0b10100000, 0b10010001]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import scalars
from relay.op.building.helper import helper
from relay.op.building.numerics import widened
from relay.op.gradient_rules import NO_FLOATS
from relay.op.opdef import DType, FusionKind, define, sample
from relay.op.site import INTEGER, Elements, Site

WORDS = Elements("unsigned", frozenset(("uint8", "uint16", "uint32", "uint64")))
DEFAULT_WORD = "uint32"


def word_width(word: str | None) -> int:
    """The number of bits of a word."""
    return dtypes.to_numpy(word or DEFAULT_WORD).itemsize * 8


def require_word(site: Site, name: str, word: str | None) -> None:
    """An attribute must name a type of words."""
    site.require(
        word is None or word in WORDS.allowed,
        f"`{name}` does not hold bits",
        "an unsigned type of 8 to 64 bits",
        f'{name} = "{word}"',
    )


def require_bits(site: Site, name: str) -> None:
    """An attribute must be a number of bits."""
    bits = getattr(site.attrs, name)
    site.require(0 < bits <= 32, f"`{name}` is out of range", "1 to 32", f"{name} = {bits}")


@attrs
class BitPackAttrs(Attrs):
    """bits: the number of lowest bits of each element to pack
    pack_axis: the axis along which elements share a word
    bit_axis: the position of the new axis of bits; negative counts from the back
    pack_type: the element type of the words; None is uint32
    name: not used
    """

    bits: int = 1
    pack_axis: int = 1
    bit_axis: int = -1
    pack_type: DType | None = None
    name: str = "BitPack"


def _bitpack_type(site: Site) -> Type | None:
    """The packed axis divided by the word width, and a new axis of bits."""
    known = site.attrs
    require_word(site, "pack_type", known.pack_type)
    require_bits(site, "bits")
    site.require_elements(0, INTEGER)
    if (data := site.tensor(0)) is None:
        return None
    axis = site.axis(known.pack_axis, len(data.shape), name="pack_axis")
    bit_axis = site.axis(known.bit_axis, len(data.shape) + 1, name="bit_axis")
    shape = list(data.shape)
    shape[axis] = _words(site, shape[axis], known.pack_type)
    shape.insert(bit_axis, known.bits)
    return TensorType(tuple(shape), known.pack_type or DEFAULT_WORD)


def _words(site: Site, extent: Dim, word: str | None) -> Dim:
    """The number of words for `extent` elements."""
    width = word_width(word)
    site.require_multiple(
        extent, width, "elements do not fill words", f"a multiple of {width}", str(extent)
    )
    return dims.floor_divide(extent, width)


def _bitpack(data: np.ndarray, known: BitPackAttrs) -> np.ndarray:
    """Pack with the first element in the highest bit."""
    word = dtypes.to_numpy(known.pack_type or DEFAULT_WORD)
    width = word_width(known.pack_type)
    elements = np.moveaxis(widened(data).astype(np.uint64), known.pack_axis, -1)
    elements = elements.reshape(*elements.shape[:-1], elements.shape[-1] // width, width)
    places = np.arange(width - 1, -1, -1, dtype=np.uint64)
    planes = []
    for bit in range(known.bits):
        ones = (elements >> np.uint64(bit)) & np.uint64(1)
        packed = np.bitwise_or.reduce(ones << places, axis=-1)
        planes.append(np.moveaxis(packed, -1, known.pack_axis).astype(word))
    return np.stack(planes, known.bit_axis)


def _bitpack_compute(
    data: te.Tensor, out: te.Spec, pack_axis: int, bit_axis: int, **_: Any
) -> te.Tensor:
    """Pack one bit of each element."""
    packed, bits = pack_axis % data.rank, bit_axis % (data.rank + 1)
    width = word_width(out.dtype)

    def element(*i: te.Expr) -> te.Expr:
        bit, place = te.cast(i[bits], "uint64"), [*i[:bits], *i[bits + 1 :]]
        first = place[packed] * width
        total: te.Expr = te.const(0, "uint64")
        for number in range(width):
            place[packed] = first + number
            one = te.cast(scalars.widened(data[tuple(place)]), "uint64") >> bit & 1
            total = total | one << (width - 1 - number)
        return te.cast(total, out.dtype)

    return te.compute(out.shape, element, "words")


BITPACK = define(
    "nn.bitpack",
    doc="The lowest bits of elements packed into words: a word holds one bit of as many adjacent "
    "elements, the first in its highest bit.",
    arguments=[("data", "small integers")],
    attrs=BitPackAttrs,
    relation=_bitpack_type,
    reference=with_attrs(BitPackAttrs, _bitpack),
    compute=_bitpack_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((1, 32, 2), dtype="uint32", high=2),
        sample((2, 16, 3), bits=3, pack_type="uint8", bit_axis=1, dtype="int8", low=0, high=8),
        sample((64, 2), bits=2, pack_axis=-2, bit_axis=0, pack_type="uint64", dtype="int64"),
        sample((2, 16), bits=4, pack_type="uint16", name="Packed", dtype="uint8", high=16),
    ],
    gradient=NO_FLOATS,
)
bitpack = helper(
    BITPACK, "Pack the lowest bits of elements into words.", bit_axis=2, pack_type="uint32"
)


def unpacked(words: np.ndarray, pack_axis: int, bit_axis: int) -> np.ndarray:
    """The unpacked integers, in int64."""
    width = words.dtype.itemsize * 8
    planes = np.moveaxis(words, (bit_axis, pack_axis), (0, -1)).astype(np.uint64)
    places = np.arange(width - 1, -1, -1, dtype=np.uint64)
    ones = ((planes[..., None] >> places) & np.uint64(1)).astype(np.int64)
    numbers = sum(plane << bit for bit, plane in enumerate(ones))
    flat = np.asarray(numbers).reshape(*planes.shape[1:-1], planes.shape[-1] * width)
    # without the bit axis, later axes move up
    return np.moveaxis(flat, -1, pack_axis - (bit_axis < pack_axis))


def unpacked_compute(
    words: te.Tensor, bits: int, pack_axis: int, bit_axis: int, dtype: str
) -> te.Tensor:
    """The unpacked integers of `bits` bits, in that type."""
    width = word_width(words.dtype)
    shape = [extent for axis, extent in enumerate(words.shape) if axis != bit_axis]
    packed = pack_axis - (bit_axis < pack_axis)
    shape[packed] = shape[packed] * width

    def element(*i: te.Expr) -> te.Expr:
        place = [*i[:packed], i[packed] // width, *i[packed + 1 :]]
        high = te.cast(width - 1 - i[packed] % width, words.dtype)
        total: te.Expr = te.const(0, dtype)
        for bit in range(bits):
            word = words[(*place[:bit_axis], bit, *place[bit_axis:])]
            total = total | te.cast(word >> high & 1, dtype) << bit
        return total

    return te.compute(shape, element, "numbers")
