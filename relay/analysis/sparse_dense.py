"""Which weights of `nn.dense` are worth being stored in blocks.

result = relay.analysis.sparse_dense.process_params(func, params, (16, 1), 0.8)
mod = relay.transform.DenseToSparse(result.weight_name, result.weight_shape)(mod)
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from relay import nd
from relay.analysis.block_sparse import (
    SparseAnalysisResult,
    block_sparse,
    share_of_zeros,
    store,
    weights_of,
)
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType


def has_sparse_form(call: Call) -> bool:
    """Whether `nn.sparse_dense` can do what this call, which is typed, does."""
    if getattr(call.op, "name", "") != "nn.dense":
        return False
    data, weight = (arg.ty for arg in call.args)
    return (
        isinstance(data, TensorType)
        and isinstance(weight, TensorType)
        and isinstance(call.ty, TensorType)
        and len(data.shape) == 2
        and data.dtype == weight.dtype == call.ty.dtype
    )


def process_params(
    expr: Expr,
    params: MutableMapping[str, Any],
    block_size: Sequence[int],
    sparsity_threshold: float,
) -> SparseAnalysisResult:
    """The weights of `nn.dense` in a function of which at least that share of elements is 0.

    In `params` they are replaced: `w` by its blocks `w.data`, `w.indices` and `w.indptr`. Weights
    that do not consist of whole blocks, or are used for something else besides, stay as they are.
    """
    result = SparseAnalysisResult([], [])
    for name in weights_of(expr, has_sparse_form):
        if name not in params:
            continue
        array = nd.as_numpy(params[name])
        weight = block_sparse(array, block_size)
        if weight is not None and share_of_zeros(array) >= sparsity_threshold:
            result.weight_name.append(name)
            result.weight_shape.append(weight.extents)
            store(params, name, weight)
    return result
