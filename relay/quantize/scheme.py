"""Schemes: what integers a quantized network computes with, as data.

    Scheme("w4", weight=Integers(bits=4, per="channel"))
    Scheme("shifts", data=Integers(scales=power_of_two), weight=Integers(scales=power_of_two))

A scheme has the integers of data and those of weights, how the ranges of data are chosen, and which
layers keep floats. Nothing in it is a name that other files know: a scheme of somebody else's is as
good as those below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from relay.errors import PassError
from relay.immutable import frozen

Scales = Callable[[np.ndarray], np.ndarray]
"""(float64 scales) -> the scales that a machine has for them"""

TINY: Final = float(np.finfo(np.float32).smallest_normal)  # the least scale
MODES: Final = ("global_scale", "max", "percentile", "mse", "kl_divergence")
ROUNDINGS: Final = ("TOEVEN", "UPWARD", "TONEAREST")


def power_of_two(scales: np.ndarray) -> np.ndarray:
    """Scales rounded up to powers of two, for hardware that multiplies by shifts.

    A scale may be 1 % too small: a range of 8.0 with 127 steps of 1/16 only lacks its last step,
    which is not worth half of the resolution.
    """
    found: np.ndarray = np.exp2(np.ceil(np.log2(scales * 0.99)))
    return found


@frozen
class Integers:
    """How a tensor is represented: `real = scale * (integer - zero_point)`.

    `symmetric`: the zero point is in the middle and the lowest integer is not used, so that the
    range is the same on both sides; otherwise (affine) the zero point is anywhere.
    `per="channel"`: one scale per output channel of a weight. `block`: one scale per so many
    consecutive elements of a row, for weights of dense layers that are dequantized as they are
    read. `scales` rounds scales to those that are allowed.
    """

    bits: int = 8
    signed: bool = True
    symmetric: bool = True
    per: Literal["tensor", "channel"] = "tensor"
    block: int = 0
    scales: Scales | None = None

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not 2 <= self.bits <= 16:
            raise PassError(f"integers of a scheme have 2 to 16 bits, found {self.bits!r}")
        if self.per not in ("tensor", "channel"):
            raise PassError(f'scales are per "tensor" or per "channel", found {self.per!r}')
        if type(self.block) is not int or self.block < 0:
            raise PassError(f"a block has a number of elements, found {self.block!r}")

    @property
    def dtype(self) -> str:
        """The element type they are stored in."""
        return f"{'' if self.signed else 'u'}int{8 if self.bits <= 8 else 16}"

    @property
    def lowest(self) -> int:
        return int(self.symmetric) - (1 << self.bits - 1 if self.signed else 0)

    @property
    def highest(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    @property
    def middle(self) -> int:
        """The zero point of symmetric ones."""
        return 0 if self.signed else 1 << self.bits - 1

    def parameters(self, low: Any, high: Any) -> Parameters:
        """Those that represent the numbers from `low` to `high`; 0 is always among them."""
        least = np.minimum(np.asarray(low, np.float64), 0)
        most = np.maximum(np.asarray(high, np.float64), 0)
        if self.symmetric:
            most = np.maximum(np.abs(least), most)
            scale = self._scales(most / (self.highest - self.middle))
            zero = np.full(scale.shape, self.middle, np.int64)
        else:
            steps = self.highest - self.lowest
            scale = self._scales((most - least) / steps)
            # 0 is an integer, and the ends are as near as that allows
            zero = np.rint(self.lowest - least / scale).astype(np.int64)
            zero = np.clip(zero, self.lowest, self.highest)
        return Parameters(scale.astype(np.float32), zero, self)

    def _scales(self, wanted: np.ndarray) -> np.ndarray:
        """The scales; 1 where there is nothing but 0."""
        known = np.where(wanted < TINY, 1.0, wanted)
        if self.scales is None:
            return known
        found = np.asarray(self.scales(known), np.float64)
        if found.shape != known.shape or not np.all(np.isfinite(found) & (found >= TINY)):
            raise PassError(
                "the `scales` of a scheme give a positive scale for each they are given"
            )
        return found


@frozen
class Parameters:
    """Per-tensor or per-channel scales and zero points."""

    scale: np.ndarray  # float32
    zero_point: np.ndarray  # int64
    integers: Integers

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest integer, less the zero point."""
        low, high = self.integers.lowest, self.integers.highest
        return low - self.zero_point, high - self.zero_point

    def centered(self, values: np.ndarray, axis: int = -1) -> np.ndarray:
        """The integers of real numbers, less the zero point, in the type of the numbers."""
        scale, low, high = (
            each.reshape([-1 if place == axis % values.ndim else 1 for place in range(values.ndim)])
            if each.ndim
            else each
            for each in (self.scale, *self.ends)
        )
        found: np.ndarray = np.clip(np.rint(values / scale.astype(values.dtype)), low, high)
        return found


@frozen
class Scheme:
    """How a network is quantized.

    `calibrate_mode` chooses the range of data from a histogram of it: a name of `MODES`, or a
    function (histogram, integers) -> (low, high); `percentile` and `global_scale` are its numbers.
    `weight_mode` is "max", or "mse" for the range with the least squared error. `rounding` is that
    of `qnn.requantize`.

    These layers are not quantized: convolutions whose numbers, in the order of evaluation, are in
    `skip_conv_layers`; all dense layers with `skip_dense_layer`; the first product, the last one
    and depthwise convolutions where `first`, `last` or `depthwise` is False; and the layers named
    in `keep_float`. With `residual` False, additions of residual connections read floats. With
    `whole`, all that elementwise operators read beside the sums of a product are integers in
    memory, for machines that compute nothing in floats.

    `sums` is the accumulator type: "int16" where weights and ranges prove that it cannot overflow,
    if need be after a sum is split. `equalize` equalizes the ranges of channels between layers
    (`relay.quantize.equalize`) first; `correct_bias` corrects the bias of each layer by the mean
    error of its rounded weights (`relay.quantize.bias`).
    """

    name: str
    data: Integers = Integers(signed=False, symmetric=False)
    weight: Integers = Integers(per="channel")
    calibrate_mode: str | Callable[..., tuple[float, float]] = "max"
    percentile: float = 99.99
    global_scale: float = 8.0
    weight_mode: Literal["max", "mse"] = "max"
    rounding: Literal["TOEVEN", "UPWARD", "TONEAREST"] = "TOEVEN"
    skip_conv_layers: tuple[int, ...] = ()
    skip_dense_layer: bool = False
    first: bool = True
    last: bool = True
    depthwise: bool = True
    residual: bool = True
    whole: bool = False
    sums: Literal["int32", "int16"] = "int32"
    equalize: bool = False
    correct_bias: bool = False
    keep_float: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.data.per != "tensor" or self.data.block:
            raise PassError(f"scheme `{self.name}`: data have one scale for the whole tensor")
        if not callable(self.calibrate_mode) and self.calibrate_mode not in MODES:
            raise PassError(
                f"scheme `{self.name}`: calibrate_mode is one of {', '.join(MODES)}, or a "
                f"function, found {self.calibrate_mode!r}"
            )
        if self.weight_mode not in ("max", "mse"):
            raise PassError(f"weight_mode is max or mse, found {self.weight_mode!r}")
        if self.rounding not in ROUNDINGS:
            raise PassError(f"rounding is one of {', '.join(ROUNDINGS)}, found {self.rounding!r}")
        if self.sums not in ("int32", "int16"):
            raise PassError(f"sums are int32 or int16, found {self.sums!r}")
        if not 50 < self.percentile <= 100:
            raise PassError(f"percentile is above 50 and at most 100, found {self.percentile!r}")
        if not self.global_scale > 0:
            raise PassError(f"global_scale is positive, found {self.global_scale!r}")


# 8 bits: affine data, a scale for each output channel.
INT8: Final = Scheme("int8", calibrate_mode="mse")
# 4-bit weights for 8-bit data.
INT8_W4: Final = Scheme(
    "int8-w4", weight=Integers(bits=4, per="channel"), calibrate_mode="mse", weight_mode="mse"
)
# Everything a shift: for machines that do not multiply to rescale.
SHIFTS: Final = Scheme(
    "shifts",
    data=Integers(scales=power_of_two),
    weight=Integers(scales=power_of_two),
    calibrate_mode="mse",
    rounding="UPWARD",
)
