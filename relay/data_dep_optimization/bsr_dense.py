"""Store sparse weights of `nn.dense` in BSR format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.analysis.sparse_dense import process_params
from relay.data_dep_optimization.run import run_pass
from relay.ir.expr import Function
from relay.transform.sparse.dense_to_sparse import DenseToSparse


def convert(
    func: Function, params: Mapping[str, Any], blocksize: Sequence[int], sparsity_threshold: float
) -> tuple[Function, dict[str, Any]]:
    """`func` with `nn.sparse_dense` for weights with at least the fraction `sparsity_threshold` of
    zeros, and its parameters.

    Weights that blocks of `blocksize`, (rows, columns), do not divide evenly stay as they are.
    """
    weights = dict(params)
    found = process_params(func, weights, blocksize, sparsity_threshold)
    return run_pass(func, DenseToSparse(found.weight_name, found.weight_shape)), weights
