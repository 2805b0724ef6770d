"""Convert constant weights of convolutions to block-sparse (BSR) form where most blocks are zero:

Conv2dToSparse2("NCHW", 3, (1, 1), 0):
nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
->
nn.sparse_conv2d(%x, %data, %indices, %indptr, layout="NCHW", kernel_size=[3, 3])

for %x: Tensor[(1, 4, 5, 5), float32], constant %w: Tensor[(8, 4, 3, 3), float32]

Strides are 1, there is one group, and padding preserves the image size; other convolutions stay,
and so do weights that may be replaced after compilation. Blocks that are not stored are not
multiplied, so infinite data no longer produce NaN there.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.analysis.block_sparse import checked_blocksize
from relay.analysis.sparse_conv2d import checked_form, has_sparse_form, sparse_weight
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Function, Syntax
from relay.nd import NDArray, Weight
from relay.op.sparse.sparse_conv import sparse_conv2d
from relay.transform.base import FunctionPass


@frozen
class Conv2dToSparse2(FunctionPass):
    """`nn.conv2d` with a constant weight becomes `nn.sparse_conv2d`, if at least the share
    `sparsity_threshold` of the weight is 0."""

    opt_level = 5
    required = ("DeadCodeElimination", "InferType")
    layout: str = "NHWC"
    kernel_size: int = 1
    blocksize: Sequence[int] = (1, 1)
    sparsity_threshold: float = 0.5

    def __post_init__(self) -> None:
        checked_form(self.layout, self.kernel_size)
        checked_blocksize(self.blocksize)

    def rewrite(self, function: Function) -> Function:
        return tree.transform(function, self._sparse)

    def _sparse(self, before: Syntax, after: Syntax) -> Syntax:
        match before, after:
            case Call(args=(_, Constant(data=data))), Call(args=(images, _)):
                if isinstance(data, Weight):
                    return after
                if not has_sparse_form(before, self.layout, self.kernel_size):
                    return after
                found = sparse_weight(
                    data.array, self.layout, self.blocksize, self.sparsity_threshold
                )
                if found is not None:
                    parts = (Constant(NDArray(part)) for part in found.parts.values())
                    window = (self.kernel_size, self.kernel_size)
                    return sparse_conv2d(images, *parts, layout=self.layout, kernel_size=window)
        return after
