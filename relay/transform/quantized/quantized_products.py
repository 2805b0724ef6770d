"""Rules: products of dequantized tensors, and additions to them.

nn.conv2d(qnn.dequantize(%x, sx, zx), qnn.dequantize(%w, sw, zw))
->  qnn.dequantize(qnn.conv2d(%x, %w, zx, zw, sx, sw), sx * sw, 0)

and the same for nn.conv1d, nn.conv2d_transpose, nn.dense, nn.matmul and nn.batch_matmul. Factors of
up to 16 bits are accumulated in 32, where the sums are sure to fit. An added constant is quantized
to the scale of the sums:

add(qnn.dequantize(%sums, s, 0), b)  ->  qnn.dequantize(add(%sums, round(b / s)), s, 0)
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay.ir.expr import Call, Expr
from relay.op import add, expand_dims, squeeze, transpose
from relay.op.building.layouts import parse_layout
from relay.op.building.window import pad_pairs
from relay.op.qnn import op as qnn
from relay.op.qnn.conv import CONV2D, CONV2D_TRANSPOSE
from relay.op.qnn.matmul import BATCH_MATMUL
from relay.transform.quantized import quantized_values as values
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window

SUMS = "int32"
MOST = 2**31 - 1  # of a sum
# The largest constant that is added to sums.
ROOM = 2**30

# --- products ----------------------------------------------------------------------------------


def conv2d(call: Call, window: Window) -> Expr | None:
    """nn.conv2d(qnn.dequantize(%x, …), qnn.dequantize(%w, …))  ->  qnn.dequantize(qnn.conv2d(…))"""
    known: Any = call.attrs
    pair = _factors(call, window)
    layouts = known.kernel_layout, known.out_layout or known.data_layout
    if pair is None or any(map(_has_blocks, layouts)):
        return None
    data, weight = pair
    outputs, channels = layouts[0].index("O"), layouts[1].index("C")
    shape = window.shape(call.args[1])
    if shape is None or not _fits(
        prod(shape) // max(shape[outputs], 1), data, weight, outputs, window
    ):
        return None
    if (
        known.groups > 1
        and not weight.by.is_scalar
        and _rows(call, window, channels) != shape[outputs]
    ):
        return None
    attrs = CONV2D.make_attrs({**dict(known.items()), "out_dtype": SUMS})
    arguments = _arguments(data, weight)
    return _sums(Call(CONV2D, arguments, attrs), data, weight, channels)


def conv2d_transpose(call: Call, window: Window) -> Expr | None:
    """nn.conv2d_transpose(qnn.dequantize(%x, …), qnn.dequantize(%w, …))
    ->  qnn.dequantize(qnn.conv2d_transpose(…))"""
    known: Any = call.attrs
    pair = _factors(call, window)
    layouts = known.kernel_layout, known.out_layout or known.data_layout
    if pair is None or any(map(_has_blocks, layouts)):
        return None
    data, weight = pair
    # a zero point of the weight would need another term for every element
    if weight.by.zero_point.any() or (known.groups > 1 and not weight.by.is_scalar):
        return None
    outputs, channels = layouts[0].index("O"), layouts[1].index("C")
    shape = window.shape(call.args[1])
    if shape is None or not _fits(
        prod(shape) // max(shape[outputs], 1), data, weight, outputs, window
    ):
        return None
    attrs = CONV2D_TRANSPOSE.make_attrs({**dict(known.items()), "out_dtype": SUMS})
    return _sums(Call(CONV2D_TRANSPOSE, _arguments(data, weight), attrs), data, weight, channels)


def conv1d(call: Call, window: Window) -> Expr | None:
    """nn.conv1d(qnn.dequantize(%x, …), qnn.dequantize(%w, …))
    ->  qnn.dequantize(squeeze(qnn.conv2d(expand_dims(%x), expand_dims(%w), …)))"""
    known: Any = call.attrs
    pair = _factors(call, window)
    layouts = known.data_layout, known.kernel_layout, known.out_layout or known.data_layout
    shape = window.shape(call.args[1])
    if pair is None or shape is None or layouts != ("NCW", "OIW", "NCW"):
        return None
    data, weight = pair
    if not _fits(prod(shape[1:]), data, weight, 0, window):
        return None
    if known.groups > 1 and not weight.by.is_scalar and _rows(call, window, 1) != shape[0]:
        return None
    ((begin, end),) = pad_pairs(known.padding, 1)
    x, w, zx, zw, sx, sw = _arguments(data, weight)
    found = qnn.conv2d(
        expand_dims(x, 2),
        expand_dims(w, 2),
        zx,
        zw,
        sx,
        sw,
        strides=(1, *known.strides),
        padding=(0, begin, 0, end),
        dilation=(1, *known.dilation),
        groups=known.groups,
        channels=known.channels,
        kernel_size=None if known.kernel_size is None else (1, *known.kernel_size),
        out_dtype=SUMS,
    )
    return _sums(squeeze(found, (2,)), data, weight, 1)


def _has_blocks(text: str) -> bool:
    layout = parse_layout(text)
    return layout is None or len(layout.axes) != 4


def _rows(call: Call, window: Window, axis: int) -> Any:
    ty = window.tensor(call)
    return None if ty is None else ty.shape[axis]


def dense(call: Call, window: Window) -> Expr | None:
    """nn.dense(qnn.dequantize(%x, …), qnn.dequantize(%w, …))  ->  qnn.dequantize(qnn.dense(…))"""
    pair = _factors(call, window)
    return None if pair is None else _dense(*pair, 0, window, call)


def matmul(call: Call, window: Window) -> Expr | None:
    """nn.matmul(qnn.dequantize(%x, …), qnn.dequantize(%w, …))  ->  qnn.dequantize(qnn.dense(…))"""
    known: Any = call.attrs
    pair = _factors(call, window)
    if pair is None or known.transpose_a:
        return None
    return _dense(*pair, 0 if known.transpose_b else 1, window, call)


def _dense(
    data: values.Quantized, weight: values.Quantized, outputs: int, window: Window, call: Call
) -> Expr | None:
    shape = window.shape(call.args[1])
    if shape is None or not _fits(shape[1 - outputs], data, weight, outputs, window):
        return None
    x, w, zx, zw, sx, sw = _arguments(data, weight)
    turned = transpose(w, (1, 0)) if outputs == 1 else w
    found = qnn.dense(x, turned, zx, zw, sx, sw, out_dtype=SUMS)
    return _sums(found, data, weight, values.rank_of(call, window) - 1)


def batch_matmul(call: Call, window: Window) -> Expr | None:
    """nn.batch_matmul(qnn.dequantize(%x, …), qnn.dequantize(%y, …))
    ->  qnn.dequantize(qnn.batch_matmul(…))"""
    known: Any = call.attrs
    pair = _factors(call, window)
    ty = window.tensor(call.args[0])
    if pair is None or ty is None or not pair[1].by.is_scalar:
        return None
    depth = ty.shape[1 if known.transpose_a else 2]
    if not isinstance(depth, int):
        return None
    if depth * pair[0].reach(window) * pair[1].reach(window) > MOST:
        return None
    attrs = BATCH_MATMUL.make_attrs({**dict(known.items()), "out_dtype": SUMS})
    return _sums(Call(BATCH_MATMUL, _arguments(*pair), attrs), *pair, 2)


def _factors(call: Call, window: Window) -> tuple[values.Quantized, values.Quantized] | None:
    """The integers of up to 16 bits that both factors are; those of the first have one scale."""
    data, weight = (values.quantized(arg, window) for arg in call.args)
    if data is None or weight is None or not (data.is_short and weight.is_short):
        return None
    if not data.by.is_scalar or window.dtype(call) != "float32":
        return None
    # with both constant it is folded
    return None if all(map(window.is_constant, call.args)) else (data, weight)


def _fits(
    depth: int, data: values.Quantized, weight: values.Quantized, outputs: int, window: Window
) -> bool:
    """Whether sums of that many products are sure to fit, and scales are per output channel."""
    if not weight.by.is_scalar and weight.by.axis != outputs:
        return False
    reach = data.reach(window)
    if depth * reach * weight.reach(window) <= MOST:
        return True
    elements = window.value(weight.data)
    if elements is None:
        return False
    zero = values.spread(weight.by.zero_point, elements.ndim, weight.by.axis)
    others = tuple(axis for axis in range(elements.ndim) if axis != outputs)
    total = np.abs(elements.astype(np.int64) - zero).sum(others).max(initial=0)
    return bool(total * reach <= MOST)


def _arguments(data: values.Quantized, weight: values.Quantized) -> tuple[Expr, ...]:
    (sx, zx), (sw, zw) = values.parameters(data.by), values.parameters(weight.by)
    return data.data, weight.data, zx, zw, sx, sw


def _sums(found: Expr, data: values.Quantized, weight: values.Quantized, axis: int) -> Expr | None:
    scale = np.asarray(data.by.scale * weight.by.scale)
    if not np.all(np.isfinite(scale)) or not np.all(scale >= values.TINY):
        return None
    return values.real(found, values.Affine.along(scale, np.zeros((), np.int32), axis))


# --- what is added -----------------------------------------------------------------------------


def bias_add(call: Call, window: Window) -> Expr | None:
    """nn.bias_add(qnn.dequantize(%sums, s, 0), b)  ->  qnn.dequantize(add(%sums, b / s), s, 0)"""
    known: Any = call.attrs
    sums = _added_up(call.args[0], window)
    value = _constant_reals(call.args[1], window)
    if sums is None or value is None:
        return None
    rank = values.rank_of(call, window)
    axis = known.axis % rank
    return _added(sums, value.reshape(-1, *[1] * (rank - 1 - axis)), rank)


def addition(call: Call, window: Window) -> Expr | None:
    """add(qnn.dequantize(%sums, s, 0), b)  ->  qnn.dequantize(add(%sums, b / s), s, 0)"""
    for one, other in (call.args, call.args[::-1]):
        sums, value = _added_up(one, window), _constant_reals(other, window)
        if sums is not None and value is not None and value.ndim <= values.rank_of(one, window):
            return _added(sums, value, values.rank_of(one, window))
    return None


def _added(sums: values.Quantized, value: np.ndarray, rank: int) -> Expr | None:
    scale = values.spread(sums.by.scale, rank, sums.by.axis).astype(np.float64)
    whole = np.rint(value / scale)
    if whole.size > max(value.size, sums.by.scale.size) or not np.all(np.abs(whole) < ROOM):
        return None
    if whole.ndim > value.ndim:
        # axes that only the scale has are 1 in front
        ahead = whole.ndim - max(value.ndim, rank - sums.by.axis if sums.by.scale.ndim else 0)
        whole = whole.reshape(whole.shape[ahead:])
    return values.real(add(sums.data, values.constant(whole, SUMS)), sums.by)


def _added_up(e: Expr, window: Window) -> values.Quantized | None:
    """Sums of products."""
    found = values.quantized(e, window)
    if found is None or found.dtype != SUMS or found.by.zero_point.any():
        return None
    return None if window.is_constant(e) else found


def _constant_reals(e: Expr, window: Window) -> np.ndarray | None:
    """The numbers that `e` is, in float64."""
    if (value := window.value(e)) is not None:
        return value.astype(np.float64)
    found = values.quantized(e, window)
    integers = None if found is None else window.value(found.data)
    if found is None or integers is None:
        return None
    scale, zero = (
        values.spread(p, integers.ndim, found.by.axis)
        for p in (found.by.scale, found.by.zero_point)
    )
    reals: np.ndarray = (integers.astype(np.float64) - zero) * scale.astype(np.float64)
    return reals


PRODUCTS: Rules = {
    "nn.conv1d": (conv1d,),
    "nn.conv2d": (conv2d,),
    "nn.conv2d_transpose": (conv2d_transpose,),
    "nn.dense": (dense,),
    "nn.matmul": (matmul,),
    "nn.batch_matmul": (batch_matmul,),
}
RULES: Rules = {**PRODUCTS, "nn.bias_add": (bias_add,), "add": (addition,)}
