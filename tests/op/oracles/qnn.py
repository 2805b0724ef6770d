"""Quantized operators: real formulas in float64 and exact integers as fractions, one element at a
time; convolutions by PyTorch in float64, where sums of small integers are exact."""

import importlib.util
import math
import operator
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch

spec = importlib.util.spec_from_file_location(
    "oracles_qnn_conv", Path(__file__).with_name("conv.py")
)
conv = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conv)

LIMITS = {
    "int2": (-2, 1),
    "uint2": (0, 3),
    "int4": (-8, 7),
    "uint4": (0, 15),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int32": (-(2**31), 2**31 - 1),
}


def bounded(value, dtype):
    low, high = LIMITS[str(dtype)]
    return min(max(int(value), low), high)


def each(function, dtype, *arrays):
    """`function` of Python numbers, for every element of arrays that broadcast."""
    arrays = np.broadcast_arrays(*arrays)
    result = np.empty(arrays[0].shape, dtype)
    for index in np.ndindex(result.shape):
        result[index] = function(*(array[index].item() for array in arrays))
    return result


def on_axis(parameter, rank, axis):
    """A vector along an axis, or a scalar."""
    if parameter.size == 1:
        return parameter.reshape(())
    shape = [1] * rank
    shape[axis] = -1
    return parameter.reshape(shape)


# --- rounding ----------------------------------------------------------------------------------


def upward(value):
    return math.floor(Fraction(value) + Fraction(1, 2))


def away_from_zero(value):
    return upward(value) if value >= 0 else -upward(-value)


def rounded(value, how):
    if how == "TOEVEN":
        return round(Fraction(value))
    return away_from_zero(value) if how == "TONEAREST" else upward(value)


def with_31_bits(factor):
    """The nearest number of 31 significant bits, halves up."""
    exact = Fraction(factor)
    exponent = 0
    while exact >= Fraction(2) ** exponent:
        exponent += 1
    while exact < Fraction(2) ** (exponent - 1):
        exponent -= 1
    unit = Fraction(2) ** (exponent - 31)
    return upward(exact / unit) * unit


def to_integer(value, zero_point, dtype):
    """The integer for a real number in units of the scale."""
    if math.isnan(value):
        return bounded(0, dtype)
    if math.isinf(value):
        return LIMITS[str(dtype)][value > 0]
    return bounded(round(Fraction(value)) + zero_point, dtype)


# --- conversions -------------------------------------------------------------------------------


def quantize(data, scale, zero_point, out_dtype, axis):
    scale, zero_point = (on_axis(p, data.ndim, axis) for p in (scale, zero_point))
    exact = data.astype(np.float64) / scale.astype(np.float64)
    narrow = exact.astype(np.float32)  # a quotient of two float32 is rounded once, as float32
    return each(lambda v, z: to_integer(v, z, out_dtype), out_dtype, narrow, zero_point)


def dequantize(data, scale, zero_point, out_dtype, axis):
    scale, zero_point = (on_axis(p, data.ndim, axis) for p in (scale, zero_point))
    return each(lambda q, s, z: float(Fraction(s) * (q - z)), "float64", data, scale, zero_point)


def requantize(data, scale, zero, new_scale, new_zero, axis, rounding, compute_dtype, out_dtype):
    dtype = out_dtype or data.dtype.name

    def one(q, s, z, t, w):
        if compute_dtype in ("float32", "float64"):
            kind = np.dtype(compute_dtype).type
            product = Fraction(float(kind(q - z) * (kind(s) / kind(t))))
        else:
            product = (q - z) * with_31_bits(s / t)
        return bounded(rounded(product, rounding) + w, dtype)

    given = (on_axis(p, data.ndim, axis) for p in (scale, zero, new_scale, new_zero))
    return each(one, dtype, data, *given)


SIMULATED = {1: "int8", 2: "uint8", 3: "int32"}


def simulated_quantize(data, code, scale, zero_point, axis):
    if int(code) not in SIMULATED:
        return data
    return quantize(data, scale, zero_point, SIMULATED[int(code)], axis)


def simulated_dequantize(data, code, scale, zero_point, axis):
    if int(code) not in SIMULATED:
        return data
    scale, zero_point = (on_axis(p, data.ndim, axis) for p in (scale, zero_point))
    return each(lambda q, s, z: (q - z) * s, "float64", data, scale, zero_point)


# --- functions ---------------------------------------------------------------------------------


def function(value_of):
    def oracle(x, scale, zero_point, output_scale, output_zero_point):
        s, z, t, w = (p.item() for p in (scale, zero_point, output_scale, output_zero_point))
        return each(lambda q: to_integer(value_of(s * (q - z)) / t, w, x.dtype), x.dtype, x)

    return oracle


def where_defined(value_of, low, at_low):
    """A function of numbers above `low`; it is NaN below."""
    return lambda v: value_of(v) if v > low else at_low if v == low else math.nan


FUNCTIONS = {
    "qnn.sqrt": where_defined(math.sqrt, 0, 0.0),
    "qnn.rsqrt": where_defined(lambda v: v**-0.5, 0, math.inf),
    "qnn.log": where_defined(math.log, 0, -math.inf),
    "qnn.exp": math.exp,
    "qnn.erf": math.erf,
    "qnn.sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "qnn.tanh": math.tanh,
    "qnn.hardswish": lambda v: v * min(max(v + 3, 0), 6) / 6,
    "qnn.abs": abs,
}


def leaky_relu(data, scale, zero_point, output_scale, output_zero_point, alpha, compute_dtype):
    s, z, t, w = (p.item() for p in (scale, zero_point, output_scale, output_zero_point))

    def one(q):
        if compute_dtype == "float32":
            real = np.float32(q - z) * np.float32(s)
            bent = torch.nn.functional.leaky_relu(torch.tensor(real), alpha).numpy()
            return to_integer(float(bent / np.float32(t)), w, data.dtype)
        factor = s / t if q >= z else s / t * alpha
        return bounded(upward((q - z) * with_31_bits(factor)) + w, data.dtype)

    return each(one, data.dtype, data)


def softmax(x, scale, zero_point, output_scale, output_zero_point, axis):
    real = torch.from_numpy((x.astype(np.float64) - zero_point) * np.float64(scale))
    result = torch.softmax(real, axis).numpy() / np.float64(output_scale)
    return each(lambda v: to_integer(v, output_zero_point.item(), x.dtype), x.dtype, result)


# --- arithmetic --------------------------------------------------------------------------------


def binary(combine, on_reals):
    def oracle(lhs, rhs, ls, lz, rs, rz, scale, zero_point, lhs_axis, rhs_axis, compute_dtype):
        ls, lz = (on_axis(p, lhs.ndim, lhs_axis) for p in (ls, lz))
        rs, rz = (on_axis(p, rhs.ndim, rhs_axis) for p in (rs, rz))

        def one(a, b, s, x, t, y):
            if compute_dtype == "float32":
                single = np.float32
                left, right = single(a - x) * single(s), single(b - y) * single(t)
                real = on_reals(left, right) / single(scale.item())
                return to_integer(float(real), zero_point.item(), lhs.dtype)
            whole = combine(a - x, b - y, s, t, scale.item())
            return bounded(whole + zero_point.item(), lhs.dtype)

        return each(one, lhs.dtype, lhs, rhs, ls, lz, rs, rz)

    return oracle


def product(a, scale):
    return upward(a * with_31_bits(scale))


def concatenate(data, scales, zero_points, scale, zero_point, axis):
    parts = [
        requantize(part, s, z, scale, zero_point, 0, "UPWARD", "int64", None)
        for part, s, z in zip(data, scales, zero_points, strict=True)
    ]
    return np.concatenate(parts, axis)


# --- products ----------------------------------------------------------------------------------


def wrapped(values, dtype):
    return np.asarray(values).astype(np.int64).astype(dtype)


def conv2d(data, weight, zero_point, kernel_zero_points, _, __, kernel_layout, out_dtype, **known):
    kernel = conv.whole(weight, kernel_layout, "OIHW").numpy()
    if kernel_zero_points.size not in (1, kernel.shape[0]):
        kernel = kernel.reshape(-1, 1, *kernel.shape[2:])
    for channel in range(kernel.shape[0]):
        kernel[channel] -= kernel_zero_points.flat[min(channel, kernel_zero_points.size - 1)]
    x = data.astype(np.float64) - zero_point
    return wrapped(conv.convolution(x, kernel, kernel_layout="OIHW", **known), out_dtype)


def conv2d_transpose(
    data, weight, zero_point, kernel_zero_points, _, __, kernel_layout, out_dtype, groups, **known
):
    kernel = conv.whole(weight, kernel_layout, "IOHW").numpy()
    rows, count = kernel.shape[:2]
    for row in range(rows):
        for column in range(count):
            channel = row // (rows // groups) * count + column
            last = kernel_zero_points.size - 1
            kernel[row, column] -= kernel_zero_points.flat[min(channel, last)]
    x = data.astype(np.float64) - zero_point
    result = conv.transposed(x, kernel, kernel_layout="IOHW", groups=groups, **known)
    return wrapped(result, out_dtype)


def exact(array, zero_point):
    return torch.from_numpy(array.astype(np.int64) - zero_point.astype(np.int64))


def dense(data, weight, zero_point, kernel_zero_points, _, __, units, out_dtype):
    right = exact(weight, kernel_zero_points.reshape(-1, 1))
    return wrapped(exact(data, zero_point) @ right.T, out_dtype)


def dense_pack(data, weight, *parameters, weight_layout, **known):
    rows = conv.whole(weight, weight_layout, "NC").numpy()
    return dense(data, rows, *parameters, **known)


def batch_matmul(x, y, x_zero_point, y_zero_point, _, __, out_dtype, transpose_a, transpose_b):
    equation = f"{'bkm' if transpose_a else 'bmk'},{'bnk' if transpose_b else 'bkn'}->bmn"
    batch = max(len(x), len(y))
    left = exact(x, x_zero_point).expand(batch, -1, -1)
    right = exact(y, y_zero_point).expand(batch, -1, -1)
    return wrapped(torch.einsum(equation, left, right), out_dtype)


# --- pools -------------------------------------------------------------------------------------


def avg_pool2d(data, scale, zero_point, new_scale, new_zero_point, layout, out_layout, **known):
    pool_size, strides, dilation = known["pool_size"], known["strides"], known["dilation"]
    padding, ceil_mode = known["padding"], known["ceil_mode"]
    x = data.transpose([layout.index(letter) for letter in "NCHW"]).astype(int) - int(zero_point)
    counts = []
    for axis in range(2):
        room = x.shape[2 + axis] + padding[axis] + padding[2 + axis]
        room -= (pool_size[axis] - 1) * dilation[axis] + 1
        counts.append((-(-room // strides[axis]) if ceil_mode else room // strides[axis]) + 1)
    result = np.empty((*x.shape[:2], *counts), data.dtype)
    for n, c, i, j in np.ndindex(*result.shape):
        total = elements = 0
        for a, b in np.ndindex(*pool_size):
            row = i * strides[0] + a * dilation[0] - padding[0]
            column = j * strides[1] + b * dilation[1] - padding[1]
            inside = 0 <= row < x.shape[2] and 0 <= column < x.shape[3]
            padded = row < x.shape[2] + padding[2] and column < x.shape[3] + padding[3]
            elements += inside or (known["count_include_pad"] and padded)
            total += int(x[n, c, row, column]) if inside else 0
        factor = float(scale) / (float(new_scale) * max(elements, 1))
        if known["compute_dtype"] == "float32":
            whole = round(Fraction(float(np.float32(total) * np.float32(factor))))
        else:
            whole = upward(total * with_31_bits(factor))
        result[n, c, i, j] = bounded(whole + int(new_zero_point), data.dtype)
    return result.transpose(["NCHW".index(letter) for letter in out_layout or layout])


ORACLES = {
    "qnn.quantize": quantize,
    "qnn.dequantize": dequantize,
    "qnn.requantize": requantize,
    "qnn.simulated_quantize": simulated_quantize,
    "qnn.simulated_dequantize": simulated_dequantize,
    **{name: function(value_of) for name, value_of in FUNCTIONS.items()},
    "qnn.leaky_relu": leaky_relu,
    "qnn.softmax": softmax,
    "qnn.add": binary(lambda a, b, s, t, u: product(a, s / u) + product(b, t / u), operator.add),
    "qnn.subtract": binary(
        lambda a, b, s, t, u: product(a, s / u) - product(b, t / u), operator.sub
    ),
    "qnn.mul": binary(lambda a, b, s, t, u: product(a * b, s * t / u), operator.mul),
    "qnn.concatenate": concatenate,
    "qnn.conv2d": conv2d,
    "qnn.conv2d_transpose": conv2d_transpose,
    "qnn.dense": dense,
    "qnn.contrib_dense_pack": dense_pack,
    "qnn.batch_matmul": batch_matmul,
    "qnn.avg_pool2d": avg_pool2d,
}
