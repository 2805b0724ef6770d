"""Quantization points: calls of `simulated_quantize`, whose attributes are the integer type, and
whose scale and range are parameters of `main` until calibration replaces them.

    %w: simulated_quantize(%w, %dense_0.weight.scale, %dense_0.weight.low, %dense_0.weight.high, …)
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function, Var
from relay.ir.types import TensorType
from relay.op.annotation import simulated_quantize
from relay.quantize.scheme import Integers, Parameters

PARTS: Final = ("scale", "low", "high")


class QAnnotateKind(IntEnum):
    """What is quantized."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


def kind2str(kind: int) -> str:
    """The name of a kind."""
    return QAnnotateKind(kind).name.lower()


@frozen
class Point:
    """A call of `simulated_quantize`."""

    call: Call

    @property
    def name(self) -> str:
        return self._attrs.name  # type: ignore[no-any-return]

    @property
    def data(self) -> Expr:
        return self.call.args[0]

    @property
    def is_weight(self) -> bool:
        return bool(self._attrs.kind == QAnnotateKind.WEIGHT)

    @property
    def axis(self) -> int:
        return int(self._attrs.axis)

    @property
    def is_open(self) -> bool:
        """Whether the point is not calibrated yet."""
        return isinstance(self.call.args[1], Var)

    @property
    def is_per_channel(self) -> bool:
        ty = self.call.args[1].ty
        scale = self.call.args[1]
        known = scale.tensor_type if isinstance(scale, Constant) else ty
        return isinstance(known, TensorType) and bool(known.shape)

    def integers(self, scales: Any = None) -> Integers:
        """The integer type of the point."""
        known = self._attrs
        signed = not known.dtype.startswith("u")
        return Integers(known.bits, signed, known.symmetric, scales=scales)

    @property
    def parameters(self) -> Parameters:
        """Scale and zero point, once the point is calibrated."""
        scale, low = (arg.data.array for arg in self.call.args[1:3] if isinstance(arg, Constant))
        integers = self.integers()
        zero = integers.lowest - np.rint(low).astype(np.int64)
        return Parameters(scale, np.broadcast_to(zero, scale.shape), integers)

    @property
    def _attrs(self) -> Any:
        return self.call.attrs


def points(function: Function) -> list[Point]:
    """The points of a function, in the order of evaluation."""
    return [
        Point(node)
        for node in tree.postorder(function)
        if isinstance(node, Call) and node.op is simulated_quantize and node.attrs.kind
    ]


def open_point(
    data: Expr, kind: QAnnotateKind, integers: Integers, name: str, axis: int | None, channels: int
) -> tuple[Call, tuple[Var, ...]]:
    """A point, and the parameters that calibration replaces."""
    shape = (channels,) if axis is not None and integers.per == "channel" else ()
    unknown = tuple(Var(f"{name}.{part}", TensorType(shape, "float32")) for part in PARTS)
    call = simulated_quantize(
        data,
        *unknown,
        kind=int(kind),
        axis=-1 if axis is None else axis,
        dtype=integers.dtype,
        bits=integers.bits,
        symmetric=integers.symmetric,
        name=name,
    )
    return call, unknown
