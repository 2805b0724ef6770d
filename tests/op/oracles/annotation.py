"""Annotations, which change nothing; shapes; and what quantization would do, in fractions."""

import math
from fractions import Fraction

import numpy as np


def unchanged(data, **_):
    return data


def simulated_quantize(data, scale, low, high, kind, sign, rounding, axis, **_):
    if kind == 0:
        return data
    whole = {"round": round, "floor": math.floor, "ceil": math.ceil}[rounding]
    result = np.empty(data.shape)
    for index in np.ndindex(data.shape):
        step, least, most = (
            Fraction((each[index[axis]] if each.size > 1 else each).item())
            for each in (scale, low, high)
        )
        least = least if sign else max(least, Fraction(0))
        units = Fraction(float(data[index])) / step
        result[index] = whole(max(min(units, most), least)) * step
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
