"""Annotations, which change nothing; shapes; and what quantisation would do, in fractions."""

import math
from fractions import Fraction

import numpy as np


def unchanged(data, **_):
    return data


def simulated_quantize(data, scale, low, high, kind, sign, rounding):
    if kind == 0:
        return data
    whole = {"round": round, "floor": math.floor, "ceil": math.ceil}[rounding]
    least = Fraction(low.item()) if sign else max(Fraction(low.item()), Fraction(0))
    result = np.empty(data.shape)
    for index in np.ndindex(data.shape):
        units = Fraction(float(data[index])) / Fraction(scale.item())
        result[index] = whole(max(min(units, Fraction(high.item())), least)) * scale.item()
    return result


ORACLES = {
    **dict.fromkeys(
        (
            "annotation.bitpack_end",
            "annotation.bitpack_start",
            "annotation.cast_hint",
            "annotation.checkpoint",
            "annotation.compiler_begin",
            "annotation.compiler_end",
            "annotation.stop_fusion",
            "annotation.with_funcid",
            "debug",
            "device_copy",
            "on_device",
        ),
        unchanged,
    ),
    "relay.op.annotation.simulated_quantize": simulated_quantize,
    "vm.shape_of": lambda tensor, dtype: list(tensor.shape),
    "vm.reshape_tensor": lambda data, shape, newshape: np.ravel(data).reshape(tuple(shape)),
}
