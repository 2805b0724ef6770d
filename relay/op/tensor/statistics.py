"""Statistics composed of other operators."""

from __future__ import annotations

from collections.abc import Sequence

from relay.ir.expr import Call, Expr, Tuple, TupleWrapper
from relay.op.known import as_tensor
from relay.op.tensor.binary import add, subtract
from relay.op.tensor.convert import cast_like
from relay.op.tensor.creation import zeros
from relay.op.tensor.rearrange import concatenate
from relay.op.tensor.reduce import max_, mean, sum_, variance
from relay.op.tensor.reshape import reshape
from relay.op.tensor.scatter import scatter_nd
from relay.op.tensor.shape import expand_dims, shape_of
from relay.op.tensor.slicing import strided_slice
from relay.op.tensor.unary import exp, log, sqrt

Axes = int | Sequence[int] | None


def std(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Call:
    """The standard deviation."""
    return sqrt(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """The mean and the variance."""
    kept = mean(data, axis, True, exclude)
    spread = variance(data, axis, keepdims, exclude, unbiased, with_mean=kept)
    # the mean over axes of extent 1 removes them
    middle = kept if keepdims else mean(kept, axis, False, exclude)
    return TupleWrapper(Tuple((middle, spread)), 2)


def mean_std(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:
    """The mean and the standard deviation."""
    middle, spread = mean_variance(data, axis, keepdims, exclude, unbiased)
    return TupleWrapper(Tuple((middle, sqrt(spread))), 2)


def logsumexp(data: Expr, axis: Axes, keepdims: bool = False) -> Call:
    """The logarithm of the sum of exponentials, without overflow."""
    highest = max_(data, axis, True)
    total = sum_(exp(subtract(data, highest)), axis, keepdims)
    return add(log(total), highest if keepdims else max_(highest, axis))


def segment_sum(data: Expr, segment_ids: Expr, num_segments: int | Expr | None = None) -> Call:
    """The sums of the rows of data with the same segment id. There are `num_segments` sums, or as
    many as the largest id requires."""
    count: Expr
    if num_segments is None:
        count = add(max_(segment_ids), cast_like(as_tensor(1), segment_ids))
    else:
        count = as_tensor(num_segments)
    rows = cast_like(reshape(count, (1,)), as_tensor(0))
    columns = strided_slice(shape_of(data, "int64"), [1], [-1], slice_mode="size")
    empty = cast_like(zeros(concatenate([rows, columns], 0), "float32"), data)
    return scatter_nd(empty, expand_dims(segment_ids, 0), data, mode="add")
