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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay.analysis.sparse_conv2d import checked_form, has_sparse_form
from relay.ir.expr import Call, Expr, Var
from relay.ir.module import IRModule
from relay.op.sparse_conv import sparse_conv2d
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.weight_parameters import block_sparse_form, in_blocks, with_other_weights


@dataclass(frozen=True)
class Conv2dToSparse(ModulePass):
    """`nn.conv2d` with a parameter of one of the names becomes `nn.sparse_conv2d`.

    A shape is the extents of the blocks, of their indices and of their bounds, one after the other.
    """

    opt_level = 4
    required = ("DeadCodeElimination", "InferType")
    weight_name: Sequence[str]
    weight_shape: Sequence[Sequence[int]]
    layout: str = "NHWC"
    kernel_size: int = 1

    def __post_init__(self) -> None:
        block_sparse_form(self.weight_name, self.weight_shape)
        checked_form(self.layout, self.kernel_size)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        shapes = block_sparse_form(self.weight_name, self.weight_shape)
        return with_other_weights(module, list(shapes), in_blocks(shapes), self._sparse)

    def _sparse(self, before: Call, after: Call, new: Mapping[Var, tuple[Var, ...]]) -> Expr | None:
        if not has_sparse_form(before, self.layout, self.kernel_size):
            return None
        weight = before.args[1]
        if not isinstance(weight, Var) or weight not in new:
            return None
        window = (self.kernel_size, self.kernel_size)
        parts = new[weight]
        return sparse_conv2d(after.args[0], *parts, layout=self.layout, kernel_size=window)
