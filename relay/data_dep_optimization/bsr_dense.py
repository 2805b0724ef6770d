"""Store the weights of `nn.dense` in blocks, where most of them are zeros."""

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
    """`func` with `nn.sparse_dense` for those weights of which at least the share
    `sparsity_threshold` is 0, and its parameters.

    Weights that do not consist of whole blocks of `blocksize`, (rows, columns), stay as they are.
    """
    weights = dict(params)
    found = process_params(func, weights, blocksize, sparsity_threshold)
    return run_pass(func, DenseToSparse(found.weight_name, found.weight_shape)), weights
