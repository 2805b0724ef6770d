"""Replace convolutions by sparse ones, for weights in block-sparse (BSR) form:

Conv2dToSparse(["w"], [(5, 16, 1, 5, 3)], "NHWC", 1):
nn.conv2d(%x, %w, kernel_size=[1, 1], data_layout="NHWC", kernel_layout="HWIO")
->
nn.sparse_conv2d(%x, %w.data, %w.indices, %w.indptr)

for %x: Tensor[(1, 5, 5, 64), float32], %w: Tensor[(1, 1, 64, 32), float32]

The parameter %w is replaced by the three others. Strides are 1, there is one group, and padding
preserves the image size; other convolutions stay. `relay.data_dep_optimization.bsr_conv2d` finds
and converts the weights. Blocks that are not stored are not multiplied, so infinite data no longer
produce NaN there.
"""

from __future__ import annotations

from relay.analysis.sparse_conv2d import checked_form, has_sparse_form
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Var
from relay.op.sparse.sparse_conv import sparse_conv2d
from relay.transform.memory.weight_parameters import ToSparse


@frozen
class Conv2dToSparse(ToSparse):
    """`nn.conv2d` with a parameter of one of the names becomes `nn.sparse_conv2d`."""

    layout: str = "NHWC"
    kernel_size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_form(self.layout, self.kernel_size)

    def sparse(self, before: Call, data: Expr, parts: tuple[Var, ...]) -> Expr | None:
        if not has_sparse_form(before, self.layout, self.kernel_size):
            return None
        window = (self.kernel_size, self.kernel_size)
        return sparse_conv2d(data, *parts, layout=self.layout, kernel_size=window)
