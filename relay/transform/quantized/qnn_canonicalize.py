"""Multiply quantized integers directly, and subtract the terms of the zero points from the sums:

qnn.dense(%x, %w, 3, 0, 0.5f, 0.25f, units=4)
->
%0 = nn.dense(%x, %w, units=4, out_dtype="int32");
subtract(%0, multiply(3, sum(cast(%w, dtype="int32"), axis=[1])))

for %x: Tensor[(2, 8), int8], %w: Tensor[(4, 8), int8]

by (x - zx)(w - zw) = x w - zx w - zw (x - zx), and the same for qnn.batch_matmul and qnn.conv2d. So
factors have 8 bits, for which processors have instructions, and the zero points are added to the
sums. Terms of weights alone are folded. Terms whose zero point is 0 are omitted; a weight that fits
into 8 bits less its zero point is shifted before, and an unsigned one is moved by 128, because
those instructions take signed weights. Sums wrap as before.

A convolution pads with the zero point of its data, so it is padded before unless that is 0. The
weight term of a transposed convolution is a transposed convolution of ones.

Unchanged are sums of other types than int32, factors of 16 bits, weights in blocks, and grouped and
transposed convolutions whose weights need a zero point: they compute with differences, in the type
of the sums. All other quantized operators are one kernel each, with integers in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, const
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.op import (
    cast,
    expand_dims,
    multiply,
    nn,
    ones,
    ones_like,
    reshape,
    subtract,
)
from relay.op import sum as total
from relay.op.building.layouts import parse_layout, spatial_axes
from relay.op.building.window import pad_pairs
from relay.op.conv.conv import conv2d as CONV2D
from relay.op.conv.conv_transpose import conv2d_transpose as CONV2D_TRANSPOSE
from relay.op.linalg.matmul import BATCH_MATMUL
from relay.transform.simplify.peephole import RulePass, Rules
from relay.transform.simplify.rule_window import Window

BYTES = ("int8", "uint8")
SUMS = "int32"


# --- factors -----------------------------------------------------------------------------------


@frozen
class _Factor:
    """Integers of 8 bits, and the zero point to subtract from them; None where that is 0."""

    data: Expr
    zero_point: Expr | None


def _data(call: Call, window: Window) -> _Factor | None:
    """The first factor."""
    data, zero_point = call.args[0], call.args[2]
    if window.dtype(data) not in BYTES:
        return None
    return _Factor(data, None if _is_zero(zero_point, window) else zero_point)


def _weight(call: Call, window: Window, axis: int = 0) -> _Factor | None:
    """The second factor, with a sign; several zero points lie along an axis."""
    weight, zero_point = call.args[1], call.args[3]
    if window.dtype(weight) not in BYTES:
        return None
    elements, zero = window.value(weight), window.value(zero_point)
    if elements is not None and zero is not None and zero.size in (1, elements.shape[axis]):
        shape = [1] * elements.ndim
        if zero.size > 1:
            shape[axis] = zero.size
        shifted = elements.astype(np.int64) - zero.reshape(shape)
        if shifted.size == 0 or (shifted.min() >= -128 and shifted.max() <= 127):
            return _Factor(Constant(NDArray(shifted.astype(np.int8))), None)
    if window.dtype(weight) == "int8":
        return _Factor(weight, None if _is_zero(zero_point, window) else zero_point)
    middle = const(128, SUMS)
    moved = cast(subtract(cast(weight, SUMS), middle), "int8")
    return _Factor(moved, subtract(zero_point, middle))


def _is_zero(zero_point: Expr, window: Window) -> bool:
    value = window.value(zero_point)
    return value is not None and not value.any()


def _one(zero_point: Expr, window: Window) -> Expr:
    """A zero point that is one for everything, as a scalar."""
    return zero_point if window.shape(zero_point) == () else reshape(zero_point, ())


def _adds_up_in_32_bits(call: Call) -> bool:
    known: Any = call.attrs
    return bool(known.out_dtype == SUMS)


# --- matrix products ---------------------------------------------------------------------------


def dense(call: Call, window: Window) -> Expr | None:
    """qnn.dense(%x, %w, zx, zw, …)  ->  nn.dense(%x, %w) - …"""
    data, weight = _data(call, window), _weight(call, window)
    if data is None or weight is None or not _adds_up_in_32_bits(call):
        return None
    found: Expr = nn.dense(data.data, weight.data, units=call.attrs.units, out_dtype=SUMS)  # type: ignore[union-attr]
    if data.zero_point is not None:
        columns = total(cast(weight.data, SUMS), axis=(1,))
        found = subtract(found, multiply(_one(data.zero_point, window), columns))
    if weight.zero_point is not None:
        rows = total(_less(data, window), axis=(-1,), keepdims=True)
        found = subtract(found, multiply(rows, weight.zero_point))
    return found


def batch_matmul(call: Call, window: Window) -> Expr | None:
    """qnn.batch_matmul(%x, %y, zx, zy, …)  ->  nn.batch_matmul(%x, %y) - …"""
    known: Any = call.attrs
    data, weight = _data(call, window), _weight(call, window)
    if data is None or weight is None or not _adds_up_in_32_bits(call):
        return None
    attrs = BATCH_MATMUL.make_attrs(dict(known.items()))
    found: Expr = Call(BATCH_MATMUL, (data.data, weight.data), attrs, span=call.span)
    if data.zero_point is not None:
        columns = total(cast(weight.data, SUMS), axis=(2 if known.transpose_b else 1,))
        zero = _one(data.zero_point, window)
        found = subtract(found, multiply(zero, expand_dims(columns, 1)))
    if weight.zero_point is not None:
        rows = total(_less(data, window), axis=(1 if known.transpose_a else 2,))
        found = subtract(found, multiply(expand_dims(rows, 2), _one(weight.zero_point, window)))
    return found


def _less(data: _Factor, window: Window) -> Expr:
    """The differences of data and its zero point."""
    wide = cast(data.data, SUMS)
    return wide if data.zero_point is None else subtract(wide, _one(data.zero_point, window))


# --- convolutions ------------------------------------------------------------------------------


def conv2d(call: Call, window: Window) -> Expr | None:
    """qnn.conv2d(%x, %w, zx, zw, …)  ->  nn.conv2d(%x, %w) - …"""
    known: Any = call.attrs
    place = _Places.of(known)
    data = _data(call, window)
    if data is None or place is None or not _adds_up_in_32_bits(call):
        return None
    weight = _weight(call, window, place.outputs)
    image, kernel = window.tensor(call.args[0]), window.tensor(call.args[1])
    if weight is None or image is None or kernel is None:
        return None
    if known.groups > 1 and (weight.zero_point is not None or not _is_plain(image, kernel, place)):
        return None
    if not all(isinstance(extent, int) for extent in kernel.shape):
        return None
    padding = known.padding
    if data.zero_point is not None and any(padding):
        data, padding = _padded(data, image, place, padding, window), (0, 0, 0, 0)
    found: Expr = _convolved(known, data.data, weight.data, padding)
    if data.zero_point is not None:
        others = tuple(axis for axis in range(4) if axis != place.outputs)
        each = total(cast(weight.data, SUMS), axis=others)
        term = multiply(_one(data.zero_point, window), each)
        found = subtract(found, place.along_channels(term))
    if weight.zero_point is not None:
        zeros = place.along_channels(reshape(weight.zero_point, (-1,)))
        sums = _window_sums(known, _less(data, window), kernel, place, padding)
        found = subtract(found, multiply(sums, zeros))
    return found


@frozen
class _Places:
    """Where things are in the layouts of a convolution."""

    channels: int  # of data
    spatial: tuple[int, ...]
    outputs: int  # of the weight
    window: tuple[int, ...]
    result: int  # the channels of the result

    @classmethod
    def of(cls, known: Any) -> _Places | None:
        """Those of layouts without blocks."""
        texts = known.data_layout, known.kernel_layout, known.out_layout or known.data_layout
        layouts = [parse_layout(text) for text in texts]
        if any(one is None or len(one.axes) != 4 for one in layouts):
            return None
        data, kernel, result = texts
        letters = spatial_axes(data)
        return cls(
            data.index("C"),
            tuple(data.index(letter) for letter in letters),
            kernel.index("O"),
            tuple(kernel.index(letter) for letter in letters),
            result.index("C"),
        )

    def along_channels(self, vector: Expr) -> Expr:
        """A vector so that it broadcasts against the result."""
        behind = 3 - self.result
        return expand_dims(vector, 1, behind) if behind else vector


def _is_plain(image: TensorType, kernel: TensorType, place: _Places) -> bool:
    """Whether each output channel has a row of the weight: not so where a depthwise weight is
    written (channels, multiplier)."""
    rows = kernel.shape[place.outputs]
    return rows != image.shape[place.channels] or all(
        extent == 1
        for axis, extent in enumerate(kernel.shape)
        if axis != place.outputs and axis not in place.window
    )


def _padded(
    data: _Factor, image: TensorType, place: _Places, padding: Any, window: Window
) -> _Factor:
    """Data with zero points around it."""
    assert data.zero_point is not None
    widths = [(0, 0)] * 4
    for axis, pair in zip(place.spatial, pad_pairs(padding, 2), strict=True):
        widths[axis] = pair
    filling = cast(_one(data.zero_point, window), image.dtype)
    return _Factor(nn.pad(data.data, widths, filling), data.zero_point)


def _convolved(known: Any, data: Expr, weight: Expr, padding: Any, **changes: Any) -> Call:
    given = {**dict(known.items()), "padding": padding, **changes}
    return Call(CONV2D, (data, weight), CONV2D.make_attrs(given))


def _window_sums(known: Any, data: Expr, kernel: TensorType, place: _Places, padding: Any) -> Expr:
    """The sum of each window over all channels."""
    sizes = [kernel.shape[axis] for axis in place.window]
    lines = total(data, axis=(place.channels,), keepdims=True)
    if sizes == [1, 1] and not any(padding) and set(known.strides) == {1}:
        return lines
    shape = [1] * 4
    for axis, size in zip(place.window, sizes, strict=True):
        shape[axis] = int(size)  # type: ignore[arg-type]
    ones = Constant(NDArray(np.ones(shape, SUMS)))
    return _convolved(known, lines, ones, padding, channels=1)


def conv2d_transpose(call: Call, window: Window) -> Expr | None:
    """qnn.conv2d_transpose(%x, %w, zx, 0, …)
    ->  nn.conv2d_transpose(%x, %w) - zx * nn.conv2d_transpose(ones, %w)"""
    known: Any = call.attrs
    place = _Places.of(known)
    data, image = _data(call, window), window.tensor(call.args[0])
    if data is None or image is None or place is None or not _adds_up_in_32_bits(call):
        return None
    weight = _weight(call, window, place.outputs)
    if weight is None or weight.zero_point is not None:
        return None
    attrs = CONV2D_TRANSPOSE.make_attrs(dict(known.items()))
    found: Expr = Call(CONV2D_TRANSPOSE, (data.data, weight.data), attrs, span=call.span)
    if data.zero_point is None:
        return found
    # how many elements of data meet in a place is different for each
    around = _ones(image, known.data_layout.index("N"), data.data)
    term = Call(CONV2D_TRANSPOSE, (around, weight.data), attrs, span=call.span)
    return subtract(found, multiply(_one(data.zero_point, window), term))


def _ones(image: TensorType, batch: int, data: Expr) -> Expr:
    """An image of ones; as many of them as there are images, where only a run knows extents."""
    shape = [1 if axis == batch else extent for axis, extent in enumerate(image.shape)]
    numbers = [extent for extent in shape if isinstance(extent, int)]
    return ones(numbers, image.dtype) if len(numbers) == len(shape) else ones_like(data)


RULES: Rules = {
    "qnn.dense": (dense,),
    "qnn.batch_matmul": (batch_matmul,),
    "qnn.conv2d": (conv2d,),
    "qnn.conv2d_transpose": (conv2d_transpose,),
}


@frozen
class QnnCanonicalize(RulePass):
    """Quantized products become products of 8-bit integers."""

    opt_level = 1
    rules = (RULES,)
