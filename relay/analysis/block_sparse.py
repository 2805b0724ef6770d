"""Block-sparse weights, and where a program uses them.

A matrix in block sparse row format (BSR) is three arrays: `data`, the blocks that are not all
zeros, row by row; `indices`, their columns, counted in blocks; `indptr`, where each row of blocks
begins and ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relay import nd, tree
from relay.check.infer import infer_expr
from relay.errors import RelayError
from relay.ir.expr import Call, Expr, Function, Syntax, Var


class SparseAnalysisResult(NamedTuple):
    """The sparse weights: their names, and the concatenated shapes of `data`, `indices` and
    `indptr`."""

    weight_name: list[str]
    weight_shape: list[list[int]]


@dataclass(frozen=True, eq=False)
class BlockSparse:
    """A matrix in BSR format."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @property
    def extents(self) -> list[int]:
        return [*self.data.shape, *self.indices.shape, *self.indptr.shape]

    @property
    def parts(self) -> dict[str, np.ndarray]:
        return {"data": self.data, "indices": self.indices, "indptr": self.indptr}


def block_sparse(matrix: np.ndarray, blocksize: Sequence[int]) -> BlockSparse | None:
    """`matrix` in BSR format with blocks of `blocksize`; None if they do not divide it evenly."""
    height, width = checked_blocksize(blocksize)
    rows, columns = matrix.shape
    if rows % height or columns % width or 0 in matrix.shape:
        return None
    blocks = matrix.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    stored = (blocks != 0).any(axis=(2, 3))
    bounds = np.concatenate(([0], np.cumsum(stored.sum(axis=1))))
    indices = np.nonzero(stored)[1]
    return BlockSparse(
        np.ascontiguousarray(blocks[stored]), indices.astype(np.int32), bounds.astype(np.int32)
    )


def checked_blocksize(blocksize: Sequence[int]) -> tuple[int, int]:
    """The height and the width of blocks."""
    match tuple(blocksize):
        case (int() as height, int() as width) if height > 0 and width > 0:
            return height, width
    raise RelayError(f"a size of blocks is (rows, columns), found {blocksize!r}")


def share_of_zeros(array: np.ndarray) -> float:
    """The fraction of zeros in an array."""
    return 1 - np.count_nonzero(array) / max(array.size, 1)


def weights_of(expr: Expr, fits: Callable[[Call], bool]) -> list[str]:
    """The names of parameters used only as the second argument of typed calls for which `fits`
    holds, in the order of use; ambiguous names are excluded."""
    if not isinstance(expr, Function):
        raise RelayError(f"weights are parameters of a function, found a {type(expr).__name__}")
    function = infer_expr(expr)
    names = Counter(param.name_hint for param in function.params)
    found: dict[Var, None] = {}
    other: set[Var] = set()
    for node in tree.postorder(function.body):
        weight = node.args[1] if isinstance(node, Call) and fits(node) else None
        if isinstance(weight, Var):
            found[weight] = None
        other.update(v for v in _uses(node, weight) if isinstance(v, Var))
    own = set(function.params)
    return [v.name_hint for v in found if v not in other and v in own and names[v.name_hint] == 1]


def _uses(node: Syntax, weight: object) -> Sequence[Syntax]:
    """The children of a node, without the weight of a call."""
    if isinstance(node, Call) and weight is not None:
        return (node.op, node.args[0], *node.args[2:])
    return tree.children(node)


def replace_weights(
    expr: Expr,
    params: MutableMapping[str, Any],
    fits: Callable[[Call], bool],
    convert: Callable[[np.ndarray], BlockSparse | None],
) -> SparseAnalysisResult:
    """Convert the weights of calls for which `fits` holds, where `convert` returns a result.

    In `params`, `w` is replaced by `w.data`, `w.indices` and `w.indptr`.
    """
    result = SparseAnalysisResult([], [])
    for name in weights_of(expr, fits):
        weight = convert(nd.as_numpy(params[name])) if name in params else None
        if weight is not None:
            result.weight_name.append(name)
            result.weight_shape.append(weight.extents)
            del params[name]
            params.update((f"{name}.{part}", array) for part, array in weight.parts.items())
    return result
