"""Conversions: Python's numbers, and the struct module for bits."""

import math
import struct

import ml_dtypes
import numpy as np

FORMATS = {
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "int8": "b",
    "uint8": "B",
    "int32": "i",
    "int64": "q",
    "bool": "?",
}


def converted(value, dtype):
    if dtype == "bool":
        return value != 0
    if "float" in dtype:
        return float(value)
    info = ml_dtypes.iinfo(dtype)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return info.max if value > 0 else info.min
        return min(max(math.trunc(value), info.min), info.max)
    return (int(value) - info.min) % 2**info.bits + info.min


def cast(data, dtype):
    return np.array([converted(v, dtype) for v in data.ravel().tolist()]).reshape(data.shape)


# the numbers that few bits stand for, in the order of the bits
_POSITIVE = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
FEW_BITS = {
    "uint2": [0, 1, 2, 3],
    "int2": [0, 1, -2, -1],
    "int4": [*range(8), *range(-8, 0)],
    "float4_e2m1fn": [*_POSITIVE, *(-number for number in _POSITIVE)],
}


def reinterpret(data, dtype):
    if dtype in FEW_BITS:
        codes = [str(number) for number in FEW_BITS[data.dtype.name]]  # zeros have signs
        kind = float if "float" in data.dtype.name else int
        found = [FEW_BITS[dtype][codes.index(str(kind(v)))] for v in data.ravel()]
        return np.array(found).reshape(data.shape)
    found = []
    for value in data.ravel().tolist():
        bits = struct.pack("<" + FORMATS[data.dtype.name], value)
        if dtype == "bfloat16":  # the upper half of a float32
            found.append(struct.unpack("<f", b"\0\0" + bits)[0])
        else:
            found.append(struct.unpack("<" + FORMATS[dtype], bits)[0])
    return np.array(found).reshape(data.shape)


ORACLES = {
    "cast": cast,
    "cast_like": lambda data, like: cast(data, like.dtype.name),
    "reinterpret": reinterpret,
}
