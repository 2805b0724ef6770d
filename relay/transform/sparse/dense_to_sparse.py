"""Replace nn.dense by nn.sparse_dense, for weights in block-sparse (BSR) form:

DenseToSparse(["w"], [(5, 16, 1, 5, 3)]):
def @main(%x: Tensor[(1, 64), float32], %w: Tensor[(32, 64), float32]) { nn.dense(%x, %w) }
->
def @main(%x: Tensor[(1, 64), float32], %w.data: Tensor[(5, 16, 1), float32],
          %w.indices: Tensor[(5), int32], %w.indptr: Tensor[(3), int32]) {
  nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr)
}

`relay.data_dep_optimization.bsr_dense.convert` finds and converts the weights. Blocks that are not
stored are not multiplied, so infinite data no longer produce NaN there.
"""

from __future__ import annotations

from relay.analysis.sparse_dense import has_sparse_form
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Var
from relay.op.sparse.sparse_matrix import sparse_dense
from relay.transform.memory.weight_parameters import ToSparse


@frozen
class DenseToSparse(ToSparse):
    """`nn.dense` with a parameter of one of the names becomes `nn.sparse_dense`."""

    def sparse(self, before: Call, data: Expr, parts: tuple[Var, ...]) -> Expr | None:
        return sparse_dense(data, parts) if has_sparse_form(before) else None
