"""Make one operator of several of the same input, for all kinds of products:

(nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))  ->  one nn.batch_matmul, and its parts

Runs CombineParallelConv2D, CombineParallelDense and CombineParallelBatchMatmul.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.immutable import frozen
from relay.transform.base import Pass
from relay.transform.fusion.combine_parallel_batch_matmul import CombineParallelBatchMatmul
from relay.transform.fusion.combine_parallel_conv2d import CombineParallelConv2D
from relay.transform.fusion.combine_parallel_dense import CombineParallelDense
from relay.transform.sequential import Sequential

STEPS: tuple[Pass, ...] = (
    CombineParallelConv2D(),
    CombineParallelDense(),
    CombineParallelBatchMatmul(),
)


@frozen
class BatchingOps(Sequential):
    """The three passes that combine parallel products, where the level has them."""

    passes: Sequence[Pass] = STEPS
    name: str = "BatchingOps"
