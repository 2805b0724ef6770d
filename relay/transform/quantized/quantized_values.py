"""Dequantized tensors whose scales and zero points are known:

qnn.dequantize(%q, 0.1f, 3)     Quantized(%q, 0.1, 3)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.op.qnn import op as qnn
from relay.transform.simplify.rule_window import Window

BYTES = ("int8", "uint8")
SHORT = (*BYTES, "int16", "uint16")
TINY = float(np.finfo(np.float32).smallest_normal)  # the least scale


@frozen
class Affine:
    """Per-tensor or per-axis scales and zero points."""

    scale: np.ndarray  # float32, () or (n,)
    zero_point: np.ndarray  # int32, () or (n,)
    axis: int  # counted from the front; -1 where scale and zero point are per-tensor

    @classmethod
    def along(cls, scale: np.ndarray, zero_point: np.ndarray, axis: int) -> Affine:
        """The same scales and zero points, along `axis` where they are per-axis."""
        is_per_tensor = scale.ndim == 0 and zero_point.ndim == 0
        return cls(scale, zero_point, -1 if is_per_tensor else axis)

    @property
    def is_scalar(self) -> bool:
        return self.scale.ndim == 0 and self.zero_point.ndim == 0

    def is_like(self, other: Affine) -> bool:
        """Whether equal integers represent equal real numbers."""
        return (
            np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
            and self.axis == other.axis
        )

    def integers(self, value: float, dtype: str) -> np.ndarray:
        """A real number quantized, with every scale."""
        ends = np.iinfo(dtype)
        whole = np.rint(np.float32(value) / self.scale) + np.float64(self.zero_point)
        return np.asarray(np.clip(whole, ends.min, ends.max), np.int64)


@frozen
class Quantized:
    """A quantized tensor."""

    data: Expr
    dtype: str
    by: Affine

    @property
    def largest(self) -> float:
        """The largest absolute value that integers of the type can represent."""
        ends, zero = np.iinfo(self.dtype), self.by.zero_point.astype(np.float64)
        far = np.maximum(np.abs(ends.min - zero), np.abs(ends.max - zero))
        return float(np.max(far * self.by.scale))

    @property
    def is_bytes(self) -> bool:
        return self.dtype in BYTES

    @property
    def is_short(self) -> bool:
        return self.dtype in SHORT

    def reach(self, window: Window) -> int:
        """The largest absolute value that its integers less the zero point can have."""
        ends = np.iinfo(self.dtype)
        low, high = int(ends.min), int(ends.max)
        if (limited := window.call_of(self.data, "clip")) is not None:
            attrs: Any = limited.attrs
            low, high = max(low, int(attrs.a_min)), min(high, int(attrs.a_max))
        zero = self.by.zero_point.astype(np.int64)
        return int(np.maximum(np.abs(low - zero), np.abs(high - zero)).max())


def quantized(e: Expr, window: Window) -> Quantized | None:
    """The quantized tensor that `e` dequantizes to float32, if the scales are constant."""
    real = window.call_of(e, "qnn.dequantize")
    if real is None or window.dtype(e) != "float32":
        return None
    by = affine(real, window)
    return None if by is None else Quantized(real.args[0], window.dtype(real.args[0]), by)


def affine(call: Call, window: Window) -> Affine | None:
    """The scales and zero points of a `qnn.quantize` or `qnn.dequantize`, if they are constant."""
    scale, zero_point = (window.value(arg) for arg in call.args[1:3])
    ty = window.tensor(call.args[0])
    if scale is None or zero_point is None or ty is None:
        return None
    if not np.all(np.isfinite(scale)) or not np.all(scale > 0):
        return None
    attrs: Any = call.attrs
    rank = max(len(ty.shape), 1)
    return Affine.along(_one_or_many(scale), _one_or_many(zero_point), attrs.axis % rank)


def _one_or_many(parameter: np.ndarray) -> np.ndarray:
    return parameter.reshape(()) if parameter.size == 1 else parameter


def real(data: Expr, by: Affine) -> Call:
    """The dequantized tensor."""
    return qnn.dequantize(data, *parameters(by), axis=by.axis)


def parameters(by: Affine) -> tuple[Constant, Constant]:
    """Scale and zero point as operators take them."""
    return constant(by.scale, "float32"), constant(by.zero_point, "int32")


def constant(value: Any, dtype: str) -> Constant:
    return Constant(NDArray(np.asarray(value).astype(dtype)))


def spread(parameter: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A scale or zero point in a shape that broadcasts against a tensor of that rank."""
    if parameter.ndim == 0:
        return parameter
    return parameter.reshape([-1 if place == axis else 1 for place in range(rank)])


def rank_of(e: Expr, window: Window) -> int:
    ty = window.tensor(e)
    assert isinstance(ty, TensorType)
    return len(ty.shape)
