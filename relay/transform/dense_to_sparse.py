"""Multiply with weights that are stored in blocks:

def @main(%x: Tensor[(1, 64), float32], %w: Tensor[(32, 64), float32]) { nn.dense(%x, %w) }
->
def @main(%x: Tensor[(1, 64), float32], %w.data: Tensor[(5, 16, 1), float32],
          %w.indices: Tensor[(5), int32], %w.indptr: Tensor[(3), int32]) {
  nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr)
}

`relay.data_dep_optimization.bsr_dense.convert` finds the weights and brings them into that form.
What is not stored is not multiplied, so that data which are not finite make no NaN there any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay.analysis.sparse_dense import has_sparse_form
from relay.ir.expr import Call, Expr, Var
from relay.ir.module import IRModule
from relay.op.sparse_matrix import sparse_dense
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.weight_parameters import block_sparse_form, in_blocks, with_other_weights


@dataclass(frozen=True)
class DenseToSparse(ModulePass):
    """`nn.dense` with a parameter of one of the names becomes `nn.sparse_dense`.

    A shape is the extents of the blocks, of their indices and of their bounds, one after the other.
    """

    opt_level = 4
    required = ("DeadCodeElimination", "InferType")
    weight_name: Sequence[str]
    weight_shape: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        block_sparse_form(self.weight_name, self.weight_shape)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        shapes = block_sparse_form(self.weight_name, self.weight_shape)
        return with_other_weights(module, list(shapes), in_blocks(shapes), _sparse)


def _sparse(before: Call, after: Call, new: Mapping[Var, tuple[Var, ...]]) -> Expr | None:
    if not has_sparse_form(before):
        return None
    weight = before.args[1]
    if not isinstance(weight, Var) or weight not in new:
        return None
    return sparse_dense(after.args[0], new[weight])
