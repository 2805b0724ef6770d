"""Finds weights of `nn.conv2d` that are sparse enough for BSR format.

    result = relay.analysis.sparse_conv2d.process_params(func, params, (16, 1), 0.8, "NHWC", 1)
    mod = relay.transform.Conv2dToSparse(result.weight_name, result.weight_shape, "NHWC", 1)(mod)

The matrix of a weight has a row for every output channel; its columns go through the window and
the channels in the order of the layout.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from relay.analysis.block_sparse import (
    BlockSparse,
    SparseAnalysisResult,
    block_sparse,
    replace_weights,
    share_of_zeros,
)
from relay.errors import RelayError
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType

# Layouts of images, and the corresponding layouts of weights.
KERNEL_LAYOUTS = {"NHWC": "HWIO", "NCHW": "OIHW"}


def checked_form(layout: str, kernel_size: int) -> None:
    """An error for layouts or windows that `nn.sparse_conv2d` does not support."""
    if layout not in KERNEL_LAYOUTS:
        known = " and ".join(KERNEL_LAYOUTS)
        raise RelayError(f"sparse convolutions know the layouts {known}, found {layout!r}")
    if not isinstance(kernel_size, int) or kernel_size < 1 or kernel_size % 2 == 0:
        raise RelayError(f"a kernel size is an odd number, found {kernel_size!r}")


def has_sparse_form(call: Call, layout: str, kernel_size: int) -> bool:
    """Whether `nn.sparse_conv2d` of that layout and size can replace this typed call: stride 1,
    padding that keeps the size of images, one group."""
    if getattr(call.op, "name", "") != "nn.conv2d":
        return False
    attrs: Any = call.attrs
    kernel_layout = KERNEL_LAYOUTS[layout]
    data, weight = (arg.ty for arg in call.args)
    if not (
        isinstance(data, TensorType)
        and isinstance(weight, TensorType)
        and isinstance(call.ty, TensorType)
        and len(weight.shape) == 4
    ):
        return False
    window = tuple(weight.shape[kernel_layout.index(axis)] for axis in "HW")
    return (
        data.dtype == weight.dtype == call.ty.dtype
        and attrs.data_layout == layout
        and attrs.out_layout in ("", layout)
        and attrs.kernel_layout == kernel_layout
        and window == (kernel_size, kernel_size)
        and tuple(attrs.strides) == tuple(attrs.dilation) == (1, 1)
        and tuple(attrs.padding) == (kernel_size // 2,) * 4
        and attrs.groups == 1
    )


def sparse_weight(
    array: np.ndarray, layout: str, blocksize: Sequence[int], threshold: float
) -> BlockSparse | None:
    """The weight of a convolution in BSR format; None if it is not sparse enough.

    The fraction of zeros must be at least `threshold`: of elements for a 1x1 window, otherwise of
    blocks.
    """
    if layout == "NHWC":
        matrix = array.reshape(-1, array.shape[-1]).T
    else:
        matrix = array.reshape(array.shape[0], -1)
    found = block_sparse(matrix, blocksize)
    if found is None:
        return None
    is_point = matrix.shape[1] == array.shape[KERNEL_LAYOUTS[layout].index("I")]
    zeros = share_of_zeros(array) if is_point else 1 - found.data.size / array.size
    return found if zeros >= threshold else None


def process_params(
    expr: Expr,
    params: MutableMapping[str, Any],
    block_size: Sequence[int],
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
) -> SparseAnalysisResult:
    """The sparse weights of `nn.conv2d` of that layout and size in a function.

    In `params`, `w` is replaced by `w.data`, `w.indices` and `w.indptr`. Weights that blocks do not
    divide evenly, or that have other uses, stay as they are.
    """
    checked_form(layout, kernel_size)
    fits = partial(has_sparse_form, layout=layout, kernel_size=kernel_size)
    return replace_weights(
        expr,
        params,
        fits,
        lambda array: sparse_weight(array, layout, block_size, sparsity_threshold),
    )
