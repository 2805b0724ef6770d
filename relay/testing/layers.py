"""Layers that create their parameters: `conv2d(data, name="conv1", channels=64, …)`.

A parameter that is not given becomes a variable named after the layer: `conv1_weight`.
"""

from __future__ import annotations

from typing import Any

from relay import op
from relay.errors import RelayError
from relay.ir.expr import Expr, Var


def _parameter(given: Expr | None, name: str, kind: str) -> Expr:
    return Var(f"{name}_{kind}") if given is None else given


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str = "bn",
    **attrs: Any,
) -> Expr:
    """Batch normalization in inference mode."""
    return op.nn.batch_norm(
        data,
        _parameter(gamma, name, "gamma"),
        _parameter(beta, name, "beta"),
        _parameter(moving_mean, name, "moving_mean"),
        _parameter(moving_var, name, "moving_var"),
        **attrs,
    )[0]


def conv1d(data: Expr, weight: Expr | None = None, *, name: str = "conv", **attrs: Any) -> Expr:
    return op.nn.conv1d(data, _parameter(weight, name, "weight"), **attrs)


def conv2d(data: Expr, weight: Expr | None = None, *, name: str = "conv", **attrs: Any) -> Expr:
    return op.nn.conv2d(data, _parameter(weight, name, "weight"), **attrs)


def conv3d(data: Expr, weight: Expr | None = None, *, name: str = "conv", **attrs: Any) -> Expr:
    return op.nn.conv3d(data, _parameter(weight, name, "weight"), **attrs)


def conv2d_transpose(
    data: Expr, weight: Expr | None = None, *, name: str = "deconv", **attrs: Any
) -> Expr:
    return op.nn.conv2d_transpose(data, _parameter(weight, name, "weight"), **attrs)


def dense_add_bias(
    data: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    units: int | None = None,
    *,
    name: str = "fc",
    **attrs: Any,
) -> Expr:
    """A dense layer with bias."""
    product = op.nn.dense(data, _parameter(weight, name, "weight"), units, **attrs)
    return op.nn.bias_add(product, _parameter(bias, name, "bias"), axis=-1)


def conv2d_add_bias(data: Expr, *, name: str = "conv", axis: int = 1, **attrs: Any) -> Expr:
    """A convolution with bias."""
    return op.nn.bias_add(conv2d(data, name=name, **attrs), Var(f"{name}_bias"), axis=axis)


KERNEL_LAYOUTS = {
    "NCHW": ("OIHW", "OIHW"),
    "NHWC": ("HWIO", "HWOI"),
    "NCDHW": ("OIDHW", "OIDHW"),
    "NDHWC": ("DHWIO", "DHWOI"),
}


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The kernel layout for a data layout."""
    if data_layout not in KERNEL_LAYOUTS:
        raise RelayError(
            f"no kernel layout for {data_layout}; there is {', '.join(KERNEL_LAYOUTS)}"
        )
    return KERNEL_LAYOUTS[data_layout][is_depthwise]
