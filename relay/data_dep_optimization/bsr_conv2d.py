"""Store sparse weights of `nn.conv2d` in BSR format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.analysis.sparse_conv2d import process_params
from relay.data_dep_optimization.run import run_pass
from relay.ir.expr import Function
from relay.ir.parameters import bind_params_by_name
from relay.transform.sparse.conv2d_to_sparse import Conv2dToSparse
from relay.transform.sparse.conv2d_to_sparse2 import Conv2dToSparse2


def convert(
    func: Function,
    params: Mapping[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str = "NHWC",
    kernel_size: int = 1,
) -> tuple[Function, dict[str, Any]]:
    """`func` with `nn.sparse_conv2d` for weights with at least the fraction `sparsity_threshold` of
    zeros, and its parameters.

    Convolutions of another layout or size stay as they are, and so do weights that blocks of
    `blocksize`, (output channels, columns of the weight as a matrix), do not divide evenly.
    """
    weights = dict(params)
    found = process_params(func, weights, blocksize, sparsity_threshold, layout, kernel_size)
    sparse = Conv2dToSparse(found.weight_name, found.weight_shape, layout, kernel_size)
    return run_pass(func, sparse), weights


def convert2(
    func: Function,
    params: Mapping[str, Any],
    blocksize: Sequence[int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
) -> tuple[Function, dict[str, Any]]:
    """The same for weights that are constants: `params` are bound first, and none are left."""
    bound = bind_params_by_name(func, params)
    names = {param.name_hint for param in bound.params}
    sparse = Conv2dToSparse2(layout, kernel_size, blocksize, sparsity_threshold)
    return run_pass(bound, sparse), {name: params[name] for name in params if name in names}
