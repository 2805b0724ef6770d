"""Weight-only quantization: dense layers with weights of few bits and data in floats:

nn.dense(%x, W)
->
nn.dense_nbits(%x, words of W, scales of its groups, 8f, bits=4)

Each group of elements in a row has a scale. Weights are dequantized in registers: this is for
products that are bound by memory bandwidth, such as those of a language model that decodes one
token at a time. No examples are needed.

    exe = relay.compile(model, quantize=relay.quantize.weight_only(bits=4))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.op import nn
from relay.op.linalg.dense_nbits import SIZES, WORD, packed
from relay.quantize.dense_layers import with_products
from relay.quantize.scheme import Integers, Parameters

# the shares of the largest element of a group that are tried as ends
SHARES: Final = (1.0, 0.96, 0.92, 0.88, 0.84, 0.8)
NIBBLES: Final = Integers(bits=4, block=32)


@frozen
class WeightOnly:
    """What `relay.compile(…, quantize=…)` does with a model."""

    weight: Integers = NIBBLES
    least: int = 1

    def __post_init__(self) -> None:
        if self.weight.bits > max(SIZES):
            raise PassError(
                f"weights that are read as integers have 2 to 8 bits, found {self.weight.bits}"
            )

    def __call__(self, module: IRModule, params: Mapping[str, Any]) -> IRModule:
        return with_products(module, params, self._product, self.least)

    def _product(self, data: Expr, rank: int, weight: np.ndarray) -> Expr | None:
        units, depth = weight.shape
        bits = next(size for size in SIZES if size >= self.weight.bits)
        per = WORD // bits
        # without blocks a row is one group
        block = -(-min(self.weight.block or depth, depth) // per) * per
        rest = -depth % block
        groups = np.pad(weight, ((0, 0), (0, rest))).reshape(units, -1, block)
        known = self._parameters(groups.astype(np.float64))
        scale = known.scale[..., None].astype(np.float64)
        low, high = self.weight.lowest, self.weight.highest
        zero = known.zero_point[..., None]
        whole = np.clip(np.rint(groups / scale) + zero, low, high) - low
        words = packed(whole.reshape(units, -1).T.astype(np.uint32), bits)
        zeros = (known.zero_point - low).astype(np.float32)
        is_one = bool((zeros == zeros[0, 0]).all())
        zeros = zeros[0, 0].reshape(()) if is_one else np.ascontiguousarray(zeros.T)
        if rest:
            data = nn.pad(data, [*[(0, 0)] * (rank - 1), (0, rest)])
        # a group of zeros gives exactly 0
        scales = np.where(groups.any(-1), known.scale, np.float32(0))
        arguments = (words, np.ascontiguousarray(scales.T), zeros)
        return nn.dense_nbits(data, *(Constant(NDArray(one)) for one in arguments), bits=bits)

    def _parameters(self, groups: np.ndarray) -> Parameters:
        """Those with the least squared error, of each group."""
        low, high = groups.min(-1, initial=0), groups.max(-1, initial=0)
        best = np.full(low.shape, np.inf)
        chosen = np.ones(low.shape)
        for share in SHARES:
            known = self.weight.parameters(low * share, high * share)
            scale = known.scale[..., None].astype(np.float64)
            least, most = (end[..., None] for end in known.ends)
            error = ((np.clip(np.rint(groups / scale), least, most) * scale - groups) ** 2).sum(-1)
            chosen = np.where(error < best, share, chosen)
            best = np.minimum(error, best)
        return self.weight.parameters(low * chosen, high * chosen)


def weight_only(
    *, bits: int = 4, block: int = 32, symmetric: bool = True, least: int = 1
) -> WeightOnly:
    """Dense layers and matrix products with constant weights of at least so many elements, which
    have so many bits, and a scale for so many consecutive elements of a row (rounded up to words of
    32 bits; 0: for a row)."""
    return WeightOnly(Integers(bits=bits, block=block, symmetric=symmetric), least)
