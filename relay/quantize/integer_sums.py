"""Add integers whose scales differ by powers of two without floats:

%0 = qnn.dequantize(%sums, 0.0078125f, 0);
qnn.quantize(add(%0, qnn.dequantize(%b, 0.5f, 0)), 1f, 0, out_dtype="int8")
->
%0 = multiply(cast(%b, dtype="int32"), 64);
qnn.requantize(add(%sums, %0), 0.0078125f, 0, 1f, 0, out_dtype="int8")

for %sums: qnn.conv2d(…), int32, and %b: int8

The finer scale is that of the sum, which is exact where weights and ranges prove that it has 32
bits. This is for machines that shift instead of multiplying, and compute nothing in floats.
"""

from __future__ import annotations

from math import frexp
from typing import Final

import numpy as np

from relay.ir.expr import Call, Expr
from relay.op import add, cast, multiply
from relay.op.qnn import op as qnn
from relay.transform.quantized.quantized_values import (
    Quantized,
    affine,
    constant,
    parameters,
    quantized,
)
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window

MOST: Final = 2**31 - 1
PRODUCTS: Final = ("qnn.conv2d", "qnn.conv2d_transpose", "qnn.dense")


def integer_sum(call: Call, window: Window) -> Expr | None:
    """qnn.quantize(add(qnn.dequantize(%a, …), qnn.dequantize(%b, …)), …)
    ->  qnn.requantize(add(%a, multiply(cast(%b), 2^k)), …)"""
    step, by = window.call_of(call.args[0], "add"), affine(call, window)
    if step is None or by is None or not window.is_used_once(call.args[0]):
        return None
    sides = [quantized(arg, window) for arg in step.args]
    known = [side for side in sides if side is not None and _is_centered(side)]
    if len(known) < 2 or not by.is_scalar or by.zero_point.any():
        return None
    shape = window.shape(call.args[0])
    if shape is None or any(window.shape(arg) != shape for arg in step.args):
        return None
    finest = min(known, key=lambda side: float(side.by.scale))
    factors = [_power(float(side.by.scale) / float(finest.by.scale)) for side in known]
    reaches = [_reach(side, window) for side in known]
    total = 0
    terms: list[Expr] = []
    for side, factor, reach in zip(known, factors, reaches, strict=True):
        if factor is None or reach is None:
            return None
        total += factor * reach
        term = side.data if side.dtype == "int32" else cast(side.data, "int32")
        terms.append(term if factor == 1 else multiply(term, constant(factor, "int32")))
    if total > MOST:
        return None
    return qnn.requantize(
        add(*terms),
        *parameters(finest.by),
        *parameters(by),
        out_dtype=window.dtype(call),
        rounding="TOEVEN",
        compute_dtype="float32",
    )


def _is_centered(side: Quantized) -> bool:
    return side.by.is_scalar and not side.by.zero_point.any()


def _power(ratio: float) -> int | None:
    """The ratio, if it is a power of two that a sum of 32 bits has room for."""
    mantissa, exponent = frexp(ratio)
    return 1 << (exponent - 1) if mantissa == 0.5 and 1 <= exponent <= 24 else None


def _reach(side: Quantized, window: Window) -> int | None:
    """The largest absolute value of the integers."""
    if side.is_short:
        return side.reach(window)
    more, e = 0, side.data
    if (sums := window.call_of(e, "add")) is not None:
        bias = window.value(sums.args[1])
        if bias is None or not bias.size:
            return None
        more, e = int(np.abs(bias.astype(np.int64)).max()), sums.args[0]
    product = window.call_of(e, *PRODUCTS)
    weight = None if product is None else window.value(product.args[1])
    if product is None or weight is None or window.dtype(product.args[0]) not in ("int8", "uint8"):
        return None
    if any((zero := window.value(arg)) is None or zero.any() for arg in product.args[2:4]):
        return None
    axis = 1 if product.op is qnn.conv2d_transpose else 0
    rows = np.moveaxis(np.abs(weight.astype(np.int64)), axis, 0).reshape(weight.shape[axis], -1)
    most = 128 if window.dtype(product.args[0]) == "int8" else 255
    return more + most * int(rows.sum(1).max(initial=0))


RULES: Rules = {"qnn.quantize": (integer_sum,)}
