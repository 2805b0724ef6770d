"""Compute with the integers whose quantization was simulated:

nn.dense(simulated_quantize(%x, 0.5f, -3f, 252f, dtype="uint8", …), simulated_quantize(…, kind=2))
->
%0 = qnn.quantize(%x, 0.5f, 3, out_dtype="uint8");
qnn.dequantize(qnn.dense(%0, meta[relay.Constant][0], 3, 0, 0.5f, …), …)

Points become conversions, and weights integers; then `FakeQuantizationToInteger` makes operators on
integers of what stands between them. `to_conversions` is the first half: what ONNX calls QDQ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import tree
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.op import clip
from relay.op.annotation import simulated_quantize
from relay.op.qnn import op as qnn
from relay.quantize import integer_sums
from relay.quantize.narrow_sums import with_narrow_sums
from relay.quantize.points import Point, points
from relay.quantize.qconfig import current_qconfig
from relay.quantize.scheme import Parameters
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.quantized.fake_quantization_to_integer import FakeQuantizationToInteger
from relay.transform.simplify.peephole import rewritten


@frozen
class Realize(ModulePass):
    """Makes integers of what is simulated; `rounding` is that of `qnn.requantize`, `sums` the
    accumulator type, both by default those of the `qconfig`."""

    required = ("InferType",)
    rounding: str | None = None
    sums: str | None = None

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        config = current_qconfig()
        rounding = config.rounding if self.rounding is None else self.rounding
        module = FakeQuantizationToInteger(thorough=False)(to_conversions(module))
        if (config.dtype_activation if self.sums is None else self.sums) == "int16":
            module["main"] = with_narrow_sums(infer_module(module)["main"])
        if rounding != "TOEVEN":
            module["main"] = rewritten(infer_module(module)["main"], integer_sums.RULES)
            module["main"] = tree.transform(module["main"], _Rounding(rounding).visit)
        return infer_module(module)


def realize(rounding: str | None = None, sums: str | None = None) -> Realize:
    """The pass; by default with the rounding and the accumulators of the `qconfig`."""
    return Realize(rounding, sums)


def to_conversions(module: IRModule) -> IRModule:
    """The module with `qnn.quantize` and `qnn.dequantize` for each point."""
    module = module.copy()
    main = module["main"]
    for point in points(main):
        if point.is_open:
            raise PassError(
                f"`{point.name}` has no scale yet: relay.quantize.calibrate comes before realize"
            )

    def visit(before: Expr, after: Any) -> Any:
        if getattr(after, "op", None) is not simulated_quantize or not after.attrs.kind:
            return after
        return _converted(Point(after))

    module["main"] = tree.replace(
        main, body=tree.transform(main.body, visit), ret_type=main.ret_type
    )
    return infer_module(module)


def _converted(point: Point) -> Call:
    known = point.parameters
    dtype = known.integers.dtype
    scale, zero = known.scale, known.zero_point
    arguments = _constant(scale, "float32"), _constant(zero, "int32")
    if isinstance(point.data, Constant):
        values = known.centered(point.data.data.array, point.axis)
        shape = [1] * values.ndim
        if zero.ndim:
            shape[point.axis % values.ndim] = -1
        whole: Expr = _constant(
            values.astype(np.int64) + zero.reshape(shape if zero.ndim else ()), dtype
        )
    else:
        whole = _in_range(
            qnn.quantize(point.data, *arguments, axis=point.axis, out_dtype=dtype), known
        )
    return qnn.dequantize(whole, *arguments, axis=point.axis)


def _in_range(whole: Expr, known: Parameters) -> Expr:
    """The integers, clipped to the range of their type."""
    ends, (low, high) = (
        np.iinfo(known.integers.dtype),
        (known.integers.lowest, known.integers.highest),
    )
    if (low, high) == (ends.min, ends.max):
        return whole
    return clip(whole, float(low), float(high))


def _constant(value: np.ndarray, dtype: str) -> Constant:
    return Constant(NDArray(np.asarray(value).astype(dtype, order="C")))


@frozen
class _Rounding:
    """Sets the rounding of `qnn.requantize`, in fixed point of 64 bits."""

    rounding: str

    def visit(self, before: Expr, after: Any) -> Any:
        op = getattr(after, "op", None)
        if getattr(op, "name", "") != "qnn.requantize":
            return after
        known = {**dict(after.attrs.items()), "rounding": self.rounding, "compute_dtype": "int64"}
        return tree.replace(after, attrs=op.make_attrs(known))  # type: ignore[union-attr]
