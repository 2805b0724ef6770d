"""Dynamic quantization: dense layers in integers, whose scales are computed at run time:

nn.dense(%x, W)
->
%0 = maximum(divide(max(abs(%x), axis=[-1], keepdims=True), 127f), …);
%1 = nn.dense(cast(round(divide(%x, %0)), dtype="int8"), round(W / s), out_dtype="int32");
multiply(cast(%1, dtype="float32"), multiply(%0, s))

Every row of the data has a scale of its own, so one with an outlier does not cost the others their
precision. No examples are needed, and layers in branches, loops and functions are quantized like
others: this is for transformers and recurrent networks. Rows with NaN or infinite elements become
NaN.

    exe = relay.compile(model, quantize=relay.quantize.dynamic())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr, const
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.op import abs as absolute
from relay.op import cast, divide, maximum, multiply, nn
from relay.op import max as greatest
from relay.op import round as rounded
from relay.quantize.dense_layers import with_products
from relay.quantize.scheme import TINY, Integers

HIGHEST: Final = 127  # of the data
# so many products of bytes cannot overflow a sum of 32 bits
MOST: Final = 2**31 // (HIGHEST * 128)
PER_CHANNEL: Final = Integers(per="channel")


@frozen
class Dynamic:
    """What `relay.compile(…, quantize=…)` does with a model."""

    weight: Integers = PER_CHANNEL
    least: int = 1

    def __post_init__(self) -> None:
        known = self.weight
        if not (known.symmetric and known.signed and known.bits <= 8) or known.block:
            raise PassError(
                "weights of dense layers with scales from the run are signed and symmetric, have "
                f"up to 8 bits, and no blocks; found {known}"
            )

    def __call__(self, module: IRModule, params: Mapping[str, Any]) -> IRModule:
        return with_products(module, params, self._product, self.least)

    def _product(self, data: Expr, rank: int, weight: np.ndarray) -> Expr | None:
        if weight.shape[1] > MOST:
            return None
        axis = 1 if self.weight.per == "channel" else None
        known = self.weight.parameters(weight.min(axis, initial=0), weight.max(axis, initial=0))
        whole = known.centered(weight, 0).astype(np.int8)
        reach = greatest(absolute(data), axis=-1, keepdims=True)
        step = maximum(divide(reach, const(float(HIGHEST), "float32")), const(TINY, "float32"))
        integers = cast(rounded(divide(data, step)), "int8")
        sums = nn.dense(integers, Constant(NDArray(whole)), out_dtype="int32")
        scales = Constant(NDArray(np.asarray(known.scale, np.float32)))
        return multiply(cast(sums, "float32"), multiply(step, scales))


def dynamic(*, weight: Integers = PER_CHANNEL, least: int = 1) -> Dynamic:
    """Dense layers and matrix products with constant weights of at least so many elements, in
    integers whose scales are found at run time."""
    return Dynamic(weight, least)
