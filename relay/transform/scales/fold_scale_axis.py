"""Move multiplications by constants into weights, backward and then forward:

FoldScaleAxis() with PassContext(opt_level=4):
add(multiply(nn.conv2d(%x, %w), 2f), 1f)  ->  add(nn.conv2d(%x, …), 1f)

for %x: Tensor[(1, 4, 5, 5), float32], constant %w: Tensor[(8, 4, 3, 3), float32]

After SimplifyInference this removes the scale of every batch normalization next to a convolution.
Constant weights are folded.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.immutable import frozen
from relay.transform.base import Pass
from relay.transform.scales.backward_fold_scale_axis import BackwardFoldScaleAxis
from relay.transform.scales.forward_fold_scale_axis import ForwardFoldScaleAxis
from relay.transform.sequential import Sequential
from relay.transform.simplify.fold_constant import FoldConstant

STEPS: tuple[Pass, ...] = (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant())


@frozen
class FoldScaleAxis(Sequential):
    """BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant, where the level has them."""

    passes: Sequence[Pass] = STEPS
    name: str = "FoldScaleAxis"
