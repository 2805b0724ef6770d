"""Convolve with weights that are stored in blocks:

nn.conv2d(%x, %w, channels=32, kernel_size=[1, 1], data_layout="NHWC", kernel_layout="HWIO")
->
nn.sparse_conv2d(%x, %w.data, %w.indices, %w.indptr, layout="NHWC", kernel_size=[1, 1])

where the parameter %w has become the three others. Convolutions go by steps of 1, combine all
channels and keep the size of the images; others stay. `relay.data_dep_optimization.bsr_conv2d`
finds the weights and brings them into that form. What is not stored is not multiplied, so that data
which are not finite make no NaN there any more.
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
