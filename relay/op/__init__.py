"""The operators, by family. Importing this package fills the operator table.

The names in `__all__` are also found at the top, as `relay.add`; those of networks in `relay.nn`.
"""

from relay.op import image as image
from relay.op import nn as nn
from relay.op import random as random
from relay.op import vision as vision
from relay.op.binary import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    floor_divide,
    floor_mod,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    not_equal,
    power,
    right_shift,
    subtract,
    trunc_divide,
    trunc_mod,
    where,
)
from relay.op.convert import cast, cast_like
from relay.op.creation import arange, full, full_like, one_hot, ones, zeros
from relay.op.extend import broadcast_to, broadcast_to_like, repeat, tile
from relay.op.indexing import adv_index, gather, gather_nd, take
from relay.op.opdef import FusionKind as FusionKind
from relay.op.opdef import OpDef as OpDef
from relay.op.opdef import OpPattern as OpPattern
from relay.op.opdef import Sample as Sample
from relay.op.opdef import define as define
from relay.op.opdef import get as get
from relay.op.opdef import register as register
from relay.op.opdef import register_op_attr as register_op_attr
from relay.op.opdef import register_pattern as register_pattern
from relay.op.opdef import register_stateful as register_stateful
from relay.op.opdef import sample as sample
from relay.op.opdef import temporary_operators as temporary_operators
from relay.op.rearrange import concatenate, reverse, split, stack, transpose
from relay.op.reduce import all_ as all
from relay.op.reduce import any_ as any
from relay.op.reduce import argmax, argmin, collapse_sum_like, mean, prod, variance
from relay.op.reduce import max_ as max
from relay.op.reduce import min_ as min
from relay.op.reduce import sum_ as sum
from relay.op.reshape import reshape, reshape_like, reverse_reshape
from relay.op.shape import expand_dims, ndarray_size, shape_of, squeeze
from relay.op.slicing import slice_like, sliding_window, strided_set, strided_slice
from relay.op.unary import abs_ as abs
from relay.op.unary import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    clip,
    copy,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    logical_not,
    negative,
    ones_like,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    zeros_like,
)
from relay.op.unary import round_ as round

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "adv_index",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "broadcast_to_like",
    "cast",
    "cast_like",
    "ceil",
    "clip",
    "collapse_sum_like",
    "concatenate",
    "copy",
    "cos",
    "cosh",
    "divide",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "multiply",
    "ndarray_size",
    "negative",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "power",
    "prod",
    "repeat",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_reshape",
    "right_shift",
    "round",
    "rsqrt",
    "shape_of",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_like",
    "sliding_window",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tile",
    "transpose",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "variance",
    "where",
    "zeros",
    "zeros_like",
]
