"""Bit-serial convolution and dense: products of integers of few bits.

A product of packed words (`relay.op.conv.bitpack`) is a sum of popcounts, popcount(x & w) << (bit
of x + bit of w). Data is unsigned, in its lowest bits. A weight is one of

    bipolar     unsigned: 0 to 2**bits - 1
    unipolar    a bit is +1 if set, else -1: -(2**bits - 1) to 2**bits - 1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import scalars, window
from relay.op.building.helper import helper
from relay.op.building.layouts import blocked_shape, read_layout, require_layout, unblocked_shape
from relay.op.building.numerics import matrix_product, widened
from relay.op.conv import bitpack
from relay.op.conv.conv import Conv2DAttrs, convolve, data_shape
from relay.op.conv.conv_compute import convolution
from relay.op.gradient_rules import NO_FLOATS
from relay.op.linalg.matmul import dense_compute, multiplied
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.site import INTEGER, Site


def _counted(numbers: np.ndarray, bits: int, unipolar: bool = False) -> np.ndarray:
    """The values of elements, in int64."""
    mask = (1 << bits) - 1
    low = widened(numbers).astype(np.int64) & mask
    return 2 * low - mask if unipolar else low


def _counted_compute(
    numbers: te.Tensor, bits: int, dtype: str, unipolar: bool = False
) -> te.Tensor:
    """The values of elements, in the accumulator type."""
    mask = (1 << bits) - 1

    def element(*i: te.Expr) -> te.Expr:
        low = te.cast(numbers[i], "int64") & mask
        return te.cast(2 * low - mask if unipolar else low, scalars.wide(dtype))

    return te.compute(numbers.shape, element, "counted")


# --- convolutions ------------------------------------------------------------------------------


@attrs
class BitserialConv2DAttrs(window.WindowAttrs, axes=2):
    """strides: the distance between windows
    padding: zeros around data; for each axis, or before and then after each
    kernel_size: the extents of the window
    channels: the number of output channels
    activation_bits: the number of bits of data
    weight_bits: the number of bits of weight
    data_layout: the order of the axes of data, and of the result
    kernel_layout: the order of the axes of weight; those of packed bits come after them
    pack_dtype: the element type of packed weights; None is uint32
    out_dtype: the element type of the result; None is that of data
    unipolar: bits of weight mean +1 and -1, instead of 1 and 0
    """

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    kernel_size: tuple[int, ...] = (3, 3)
    channels: int | None = None
    activation_bits: int = 1
    weight_bits: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    pack_dtype: DType | None = None
    out_dtype: DType | None = None
    unipolar: bool = True


def _product_dtype(site: Site, dtype: str, wanted: str | None) -> str:
    site.require(
        wanted is None or dtypes.is_integer(wanted),
        "`out_dtype` does not hold integers",
        "an integer type",
        f'out_dtype = "{wanted}"',
    )
    return wanted or dtype


def _require_packed(site: Site, weight: TensorType, axis: int) -> None:
    """Check the element type and the number of bits of a packed weight."""
    word = site.attrs.pack_dtype or bitpack.DEFAULT_WORD
    site.require(
        weight.dtype == word, "packed weights have the wrong element type", word, str(weight)
    )
    site.require_equal(weight.shape[axis], site.attrs.weight_bits, "packed bits and `weight_bits`")


def _bitserial_conv2d_type(site: Site) -> Type | None:
    """(n, c, h, w) * (o, c, h, w), or (o, words of c, h, w, bits), -> (n, o, windows…)"""
    known = site.attrs
    for name in ("strides", "kernel_size"):
        window.require_sizes(site, name, 1)
    window.require_padding(site, known.padding, 2)
    bitpack.require_bits(site, "activation_bits")
    bitpack.require_bits(site, "weight_bits")
    bitpack.require_word(site, "pack_dtype", known.pack_dtype)
    site.require_elements(0, INTEGER)
    site.require_elements(1, INTEGER)
    shape, data, weight = data_shape(site), site.tensor(0), site.tensor(1)
    kernel_layout = require_layout(site, "kernel_layout", known.kernel_layout, "OIHW")
    if shape is None or data is None or weight is None:
        return None
    batch, inputs, *extents = shape
    packed = len(weight.shape) == len(kernel_layout.axes) + 1
    if packed:
        _require_packed(site, weight, -1)
        places = [kernel_layout.places(letter)[0] for letter in "OIHW"]
        outputs, words, *sizes = (weight.shape[place] for place in places)
        site.require(
            not any(kernel_layout.blocks(letter) for letter in "OIHW"),
            "packed weights do not lie in blocks",
            "a layout of whole axes",
            f'kernel_layout = "{known.kernel_layout}"',
        )
        each = dims.multiply(words, bitpack.word_width(known.pack_dtype))
    else:
        whole = unblocked_shape(site, 1, kernel_layout, "OIHW")
        assert whole is not None
        outputs, each, *sizes = whole
    site.require_equal(inputs, each, "input channels of data and weight")
    if known.channels is not None:
        outputs = site.require_equal(outputs, known.channels, "output channels and `channels`")
    for found, wanted in zip(sizes, known.kernel_size, strict=True):
        site.require_equal(found, wanted, "extents of weight and `kernel_size`")
    positions = window.window_counts(site, extents, known.kernel_size)
    data_layout = require_layout(site, "data_layout", known.data_layout, "NCHW")
    result = blocked_shape(site, (batch, outputs, *positions), "NCHW", data_layout)
    return TensorType(result, _product_dtype(site, data.dtype, known.out_dtype))


def _plain(known: BitserialConv2DAttrs, out_dtype: str) -> Conv2DAttrs:
    """The attributes of the convolution of the unpacked values."""
    return Conv2DAttrs(
        strides=known.strides,
        padding=known.padding,
        dilation=(1, 1),
        data_layout=known.data_layout,
        kernel_layout=known.kernel_layout,
        out_dtype=DType(out_dtype),
    )


def _bitserial_conv2d(data: np.ndarray, weight: np.ndarray, known: BitserialConv2DAttrs) -> Any:
    """The convolution of the unpacked values."""
    if weight.ndim > len(read_layout(known.kernel_layout).axes):
        weight = bitpack.unpacked(weight, known.kernel_layout.index("I"), weight.ndim - 1)
    return convolve(
        _counted(data, known.activation_bits),
        _counted(weight, known.weight_bits, known.unipolar),
        _plain(known, known.out_dtype or data.dtype.name),
    )


def _bitserial_conv2d_compute(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, known: BitserialConv2DAttrs
) -> te.Tensor:
    """The convolution of the unpacked values."""
    if weight.rank > len(read_layout(known.kernel_layout).axes):
        inputs = known.kernel_layout.index("I")
        weight = bitpack.unpacked_compute(
            weight, known.weight_bits, inputs, weight.rank - 1, "int64"
        )
    return convolution(
        _counted_compute(data, known.activation_bits, out.dtype),
        _counted_compute(weight, known.weight_bits, out.dtype, known.unipolar),
        out,
        _plain(known, out.dtype),
    )


BITSERIAL_CONV2D = define(
    "nn.bitserial_conv2d",
    doc="`nn.conv2d` of the lowest bits of each element. The weight is unpacked, or packed by "
    "`nn.bitpack` along its inputs with the bits as the last axis.",
    arguments=[("data", "images"), ("weight", "unpacked, or packed into words")],
    attrs=BitserialConv2DAttrs,
    relation=_bitserial_conv2d_type,
    reference=with_attrs(BitserialConv2DAttrs, _bitserial_conv2d),
    compute=with_attrs(BitserialConv2DAttrs, _bitserial_conv2d_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((1, 4, 5, 4), (3, 4, 3, 3), dtype="uint32", high=2, out_dtype="int16"),
        sample(
            (1, 8, 4, 4),
            Tensor((3, 1, 2, 2, 2), "uint8", high=256),
            dtype="int32",
            low=0,
            high=8,
            padding=(1, 0, 0, 1),
            strides=2,
            kernel_size=2,
            channels=3,
            activation_bits=3,
            weight_bits=2,
            pack_dtype="uint8",
            unipolar=False,
        ),
        sample(
            (1, 3, 4, 16),
            Tensor((2, 2, 1, 3, 1), "uint16", high=65536),
            dtype="uint8",
            high=4,
            kernel_size=2,
            activation_bits=2,
            data_layout="NHWC",
            kernel_layout="HWIO",
            pack_dtype="uint16",
            out_dtype="int32",
        ),
    ],
    gradient=NO_FLOATS,
)
bitserial_conv2d = helper(
    BITSERIAL_CONV2D,
    "A bit-serial convolution.",
    first=("strides", "padding", "channels"),
    padding=(0, 0),
    pack_dtype="uint32",
    out_dtype="int16",
)

# --- matrices ----------------------------------------------------------------------------------


@attrs
class BitserialDenseAttrs(Attrs):
    """units: the number of outputs
    data_bits: the number of bits of data
    weight_bits: the number of bits of weight
    pack_dtype: the element type of packed weights; None is uint32
    out_dtype: the element type of the result; None is that of data
    unipolar: bits of weight mean +1 and -1, instead of 1 and 0
    """

    units: int | None = None
    data_bits: int = 1
    weight_bits: int = 1
    pack_dtype: DType | None = None
    out_dtype: DType | None = None
    unipolar: bool = True


def _bitserial_dense_type(site: Site) -> Type | None:
    """(…, k) x (units, k), or (units, bits, words of k), -> (…, units)"""
    known = site.attrs
    bitpack.require_bits(site, "data_bits")
    bitpack.require_bits(site, "weight_bits")
    bitpack.require_word(site, "pack_dtype", known.pack_dtype)
    site.require_elements(0, INTEGER)
    site.require_elements(1, INTEGER)
    site.require_rank(0, at_least=1)
    data, weight = site.tensor(0), site.tensor(1)
    if data is None or weight is None:
        return None
    if len(weight.shape) == 3:
        _require_packed(site, weight, 1)
        depth = dims.multiply(weight.shape[2], bitpack.word_width(known.pack_dtype))
    else:
        site.tensor(1, rank=2)
        depth = weight.shape[1]
    site.require_equal(data.shape[-1], depth, "last extents of data and weight")
    units = weight.shape[0]
    if known.units is not None:
        units = site.require_equal(units, known.units, "rows and `units`")
    dtype = _product_dtype(site, data.dtype, known.out_dtype)
    return TensorType((*data.shape[:-1], units), dtype)


def _bitserial_dense(data: np.ndarray, weight: np.ndarray, known: BitserialDenseAttrs) -> Any:
    """The matrix product of the unpacked values."""
    numbers = bitpack.unpacked(weight, pack_axis=2, bit_axis=1) if weight.ndim == 3 else weight
    return multiplied(
        lambda x, w: matrix_product(x, w.T),
        _counted(data, known.data_bits),
        _counted(numbers, known.weight_bits, known.unipolar),
        known.out_dtype or data.dtype.name,
    )


def _bitserial_dense_compute(
    data: te.Tensor,
    weight: te.Tensor,
    out: te.Spec,
    data_bits: int,
    weight_bits: int,
    unipolar: bool,
    **_: Any,
) -> te.Tensor:
    if weight.rank == 3:
        weight = bitpack.unpacked_compute(weight, weight_bits, 2, 1, "int64")
    return dense_compute(
        _counted_compute(data, data_bits, out.dtype),
        _counted_compute(weight, weight_bits, out.dtype, unipolar),
        out,
    )


BITSERIAL_DENSE = define(
    "nn.bitserial_dense",
    doc="`nn.dense` of the lowest bits of each element. The weight is unpacked, or packed by "
    "`nn.bitpack` along its rows with the bits as the second axis.",
    arguments=[("data", "the input, (…, k)"), ("weight", "one row per output, (units, k)")],
    attrs=BitserialDenseAttrs,
    relation=_bitserial_dense_type,
    reference=with_attrs(BitserialDenseAttrs, _bitserial_dense),
    compute=_bitserial_dense_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((2, 5), (3, 5), dtype="uint8", high=2, out_dtype="int16"),
        sample(
            (2, 2, 8),
            Tensor((3, 2, 1), "uint8", high=256),
            units=3,
            data_bits=3,
            weight_bits=2,
            pack_dtype="uint8",
            unipolar=False,
            dtype="int32",
            low=0,
            high=8,
        ),
        sample((1, 64), Tensor((3, 1, 2), "uint32", high=2**32), dtype="int16", low=0),
    ],
    gradient=NO_FLOATS,
)
bitserial_dense = helper(
    BITSERIAL_DENSE, "A bit-serial dense layer.", pack_dtype="uint32", out_dtype="int16"
)
