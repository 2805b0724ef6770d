"""Combine parallel products of the same input, of all kinds:

BatchingOps() with PassContext(opt_level=4):
(nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))
->
%0 = nn.batch_matmul(…);
(…)

for %x: Tensor[(4, 8), float32], weights %w1, %w2, %w3: Tensor[(16, 8), float32]

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
    """The three passes that combine parallel products, as the level allows."""

    passes: Sequence[Pass] = STEPS
    name: str = "BatchingOps"
