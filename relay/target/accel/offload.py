"""What of a program goes to the accelerator.

    qnn.conv2d, qnn.requantize, maximum, clip   ->  one composite function, a layer
    layers that follow each other               ->  one part, whose values stay in the device

A layer without a product goes only where its data are: behind another layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relay.dataflow_pattern import DFPattern, is_constant, is_op, wildcard
from relay.external.divide import divided
from relay.ir.expr import Call, Expr, Function
from relay.op.contrib.register import Table
from relay.target.accel.compiler import AccelCompiler
from relay.target.accel.config import Config
from relay.target.accel.layers import PRODUCTS, read_layer
from relay.target.accel.parts import tiled
from relay.transform.external.merge_composite import COMPOSITE
from relay.transform.infer_type import InferType

if TYPE_CHECKING:
    from relay.ir.module import IRModule


def patterns(name: str, config: Config) -> Table:
    """The layers that the compiler of that name takes."""

    def takes(e: Expr) -> bool:
        layer = read_layer(e)
        return layer is not None and tiled(layer, config) is not None

    def follows(e: Expr) -> bool:
        layer = read_layer(e)
        if layer is None or layer.product is not None or not isinstance(layer.data, Call):
            return False
        before = layer.data.op
        if not isinstance(before, Function):
            return False
        return str(before.attrs.get(COMPOSITE, "")).startswith(f"{name}.")

    sums = _product().optional(_biased)
    return [
        (f"{name}.layer", _bounded(_rescaled(sums.optional(_added))), takes),
        (f"{name}.sums", sums, takes),
        (f"{name}.rescaled", _bounded(_rescaled(wildcard())), follows),
        (f"{name}.bounded", _bounded(_bound(wildcard())), follows),
    ]


def offloaded(module: IRModule, config: Config) -> IRModule:
    """The program with what the accelerator computes as functions of its own."""
    return divided(InferType()(module), [AccelCompiler(config)])


# --- patterns


def _product() -> DFPattern:
    scales = [is_constant() for _ in range(4)]
    found: Any = None
    for name in PRODUCTS:
        more = scales if name.startswith("qnn.") else []
        one = is_op(name)(wildcard(), is_constant(), *more)
        found = one if found is None else found | one
    return found  # type: ignore[no-any-return]


def _biased(x: DFPattern) -> DFPattern:
    return is_op("add")(x, is_constant()) | is_op("nn.bias_add")(x, is_constant())


def _added(x: DFPattern) -> DFPattern:
    bytes_ = is_op("cast")(wildcard())
    return is_op("add")(x, bytes_ | is_op("multiply")(bytes_, is_constant()))


def _rescaled(x: DFPattern) -> DFPattern:
    return is_op("qnn.requantize")(x, *(is_constant() for _ in range(4)))


def _bound(x: DFPattern) -> DFPattern:
    two = is_op("maximum")(x, is_constant()) | is_op("minimum")(x, is_constant())
    return two | is_op("nn.relu")(x) | is_op("clip")(x)


def _bounded(x: DFPattern) -> DFPattern:
    """Up to three limits."""
    for _ in range(3):
        x = x.optional(_bound)
    return x
