"""The operators, by family. Importing this package fills the operator table.

The names in `__all__` are also found at the top, as `relay.add`; those of networks in `relay.nn`.
"""

from relay.op import annotation as annotation
from relay.op import contrib as contrib
from relay.op import dyn as dyn
from relay.op import image as image
from relay.op import memory as memory
from relay.op import nn as nn
from relay.op import qnn as qnn
from relay.op import random as random
from relay.op import vision as vision
from relay.op import vm as vm
from relay.op.annotation import debug, device_copy
from relay.op.linalg.determinant import determinant
from relay.op.linalg.einsum import einsum
from relay.op.linalg.matrix import matrix_set_diag, trilu
from relay.op.linalg.matrix_inverse import matrix_inverse
from relay.op.nn.trees import tree_leaves
from relay.op.opdef import FusionKind as FusionKind
from relay.op.opdef import OpDef as OpDef
from relay.op.opdef import OpPattern as OpPattern
from relay.op.opdef import Sample as Sample
from relay.op.opdef import define as define
from relay.op.opdef import get as get
from relay.op.opdef import register as register
from relay.op.opdef import register_alter_op_layout as register_alter_op_layout
from relay.op.opdef import register_convert_op_layout as register_convert_op_layout
from relay.op.opdef import register_legalize as register_legalize
from relay.op.opdef import register_op_attr as register_op_attr
from relay.op.opdef import register_pattern as register_pattern
from relay.op.opdef import register_stateful as register_stateful
from relay.op.opdef import sample as sample
from relay.op.opdef import temporary_operators as temporary_operators
from relay.op.signal.fourier import dft, rfft, stft
from relay.op.sparse.coordinates import sparse_fill_empty_rows, sparse_reshape, sparse_to_dense
from relay.op.tensor.binary import (
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
from relay.op.tensor.collapse import collapse_sum_like, collapse_sum_to
from relay.op.tensor.convert import cast, cast_like, reinterpret
from relay.op.tensor.creation import arange, full, full_like, one_hot, ones, zeros
from relay.op.tensor.extend import broadcast_to, broadcast_to_like, meshgrid, repeat, tile
from relay.op.tensor.fast import fast_erf, fast_exp, fast_tanh
from relay.op.tensor.fixed_point import fixed_point_multiply, fixed_point_multiply_per_axis
from relay.op.tensor.index_checks import check_indices
from relay.op.tensor.indexing import adv_index, gather, gather_nd, take
from relay.op.tensor.positions import argwhere, invert_permutation, unravel_index
from relay.op.tensor.rearrange import concatenate, reverse, split, stack, transpose
from relay.op.tensor.reduce import all_ as all
from relay.op.tensor.reduce import any_ as any
from relay.op.tensor.reduce import argmax, argmin, mean, prod, variance
from relay.op.tensor.reduce import max_ as max
from relay.op.tensor.reduce import min_ as min
from relay.op.tensor.reduce import sum_ as sum
from relay.op.tensor.relayout import (
    auto_scheduler_layout_transform,
    layout_transform,
    meta_schedule_layout_transform,
)
from relay.op.tensor.require import require
from relay.op.tensor.reshape import reshape, reshape_like, reverse_reshape
from relay.op.tensor.scan import cumprod, cumsum
from relay.op.tensor.scatter import scatter_elements, scatter_nd
from relay.op.tensor.search import searchsorted, unique
from relay.op.tensor.sequence import reverse_sequence, sequence_mask
from relay.op.tensor.shape import expand_dims, ndarray_size, shape_of, squeeze
from relay.op.tensor.slicing import slice_like, sliding_window, strided_set, strided_slice
from relay.op.tensor.sort import argsort, sort, topk
from relay.op.tensor.statistics import logsumexp, mean_std, mean_variance, segment_sum, std
from relay.op.tensor.unary import abs_ as abs
from relay.op.tensor.unary import (
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
from relay.op.tensor.unary import round_ as round

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
    "argsort",
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "auto_scheduler_layout_transform",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "broadcast_to_like",
    "cast",
    "cast_like",
    "ceil",
    "check_indices",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concatenate",
    "copy",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "debug",
    "determinant",
    "device_copy",
    "dft",
    "divide",
    "einsum",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "fixed_point_multiply",
    "fixed_point_multiply_per_axis",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "greater",
    "greater_equal",
    "invert_permutation",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
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
    "logsumexp",
    "matrix_inverse",
    "matrix_set_diag",
    "max",
    "maximum",
    "mean",
    "mean_std",
    "mean_variance",
    "meshgrid",
    "meta_schedule_layout_transform",
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
    "reinterpret",
    "repeat",
    "require",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_reshape",
    "reverse_sequence",
    "rfft",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "segment_sum",
    "sequence_mask",
    "shape_of",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_like",
    "sliding_window",
    "sort",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_to_dense",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "stft",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "transpose",
    "tree_leaves",
    "trilu",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "unique",
    "unravel_index",
    "variance",
    "where",
    "zeros",
    "zeros_like",
]
