"""Finds weights of `nn.dense` that are sparse enough for BSR format.

result = relay.analysis.sparse_dense.process_params(func, params, (16, 1), 0.8)
mod = relay.transform.DenseToSparse(result.weight_name, result.weight_shape)(mod)
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np

from relay.analysis.block_sparse import (
    BlockSparse,
    SparseAnalysisResult,
    block_sparse,
    replace_weights,
    share_of_zeros,
)
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType


def has_sparse_form(call: Call) -> bool:
    """Whether `nn.sparse_dense` can replace this typed call."""
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
    """The weights of `nn.dense` in a function with at least that fraction of zeros.

    In `params`, `w` is replaced by `w.data`, `w.indices` and `w.indptr`. Weights that blocks do not
    divide evenly, or that have other uses, stay as they are.
    """

    def convert(array: np.ndarray) -> BlockSparse | None:
        weight = block_sparse(array, block_size)
        return weight if share_of_zeros(array) >= sparsity_threshold else None

    return replace_weights(expr, params, has_sparse_form, convert)
