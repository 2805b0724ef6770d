"""The operators, by family. Importing this package fills the operator table.

The operators and helpers that are imported here are also found at the top, as `relay.add`; those of
networks in `relay.nn`.
"""

from relay.op import annotation, contrib, dyn, image, memory, nn, qnn, random, vision, vm
from relay.op.annotation import debug, device_copy
from relay.op.building.helper import exported
from relay.op.linalg.determinant import determinant
from relay.op.linalg.einsum import einsum
from relay.op.linalg.matrix import matrix_set_diag, trilu
from relay.op.linalg.matrix_inverse import matrix_inverse
from relay.op.nn.trees import tree_leaves
from relay.op.opdef import (
    FusionKind,
    OpDef,
    OpPattern,
    Sample,
    define,
    get,
    register,
    register_alter_op_layout,
    register_convert_op_layout,
    register_legalize,
    register_op_attr,
    register_pattern,
    register_stateful,
    sample,
    temporary_operators,
)
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
    stop_gradient,
    tan,
    tanh,
    trunc,
    zeros_like,
)
from relay.op.tensor.unary import round_ as round

__all__ = exported(globals())
