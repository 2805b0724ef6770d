"""Replaces dense layers with constant weights, in all functions of a module.

This includes layers in branches and loops, so it uses no calibration data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.transform.infer_type import InferType
from relay.transform.simplify.fold_constant import FoldConstant
from relay.transform.simplify.peephole import Rules, rewritten
from relay.transform.simplify.rule_window import Window

# (data and its rank, weight (units, k) of finite float32) -> the product; None to keep it
Product = Callable[[Expr, int, np.ndarray], Expr | None]


def with_products(
    module: IRModule, params: Mapping[str, Any], product: Product, least: int
) -> IRModule:
    """The module with `params` bound, and `product` for dense layers and matrix products with
    constant weights of at least so many elements."""
    module = module.copy()
    if params:
        module["main"] = bind_params_by_name(module["main"], params)
    module = FoldConstant()(InferType()(module))
    layers = _Layers(product, least)
    rules: Rules = {"nn.dense": (layers.dense,), "nn.matmul": (layers.matmul,)}
    for name, function in [*module.functions.items()]:
        if not is_foreign(function):
            module[name.name_hint] = rewritten(function, rules)
    return infer_module(module)


@frozen
class _Layers:
    """The rules."""

    product: Product
    least: int

    def dense(self, call: Call, window: Window) -> Expr | None:
        """nn.dense(%x, W)  ->  another product"""
        return self._exchanged(window.value(call.args[1]), call, window)

    def matmul(self, call: Call, window: Window) -> Expr | None:
        """nn.matmul(%x, W)  ->  another product"""
        known: Any = call.attrs
        weight = window.value(call.args[1])
        if weight is None or known.transpose_a:
            return None
        turned = weight if known.transpose_b else np.ascontiguousarray(weight.T)
        return self._exchanged(turned, call, window)

    def _exchanged(self, weight: np.ndarray | None, call: Call, window: Window) -> Expr | None:
        data = call.args[0]
        ty = window.tensor(data)
        if weight is None or weight.dtype != np.float32 or ty is None or ty.dtype != "float32":
            return None
        if weight.size < max(self.least, 1) or not np.isfinite(weight).all():
            return None
        if window.dtype(call) not in ("", "float32") or window.is_constant(data):
            return None
        return self.product(data, len(ty.shape), weight)
