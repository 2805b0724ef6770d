"""Layers of quantized tensors (`torch.ops.quantized`), and conversions to and from such tensors.

Results are computed with real numbers and rounded to the grid that the operator names; weights come
packed in objects of torch, and are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from relay import op
from relay.frontend.pytorch.converters import Converters, built_in, find
from relay.frontend.pytorch.exported import constant
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators import quantized_decomposed as plain
from relay.frontend.pytorch.quantization import (
    LIMITS,
    REAL,
    grid_of,
    integers,
    of_integers,
    on_grid,
    real,
)
from relay.frontend.pytorch.scope import Grid
from relay.frontend.pytorch.types import QUANTIZED
from relay.ir.expr import Expr

aten = Converters()
table = Converters("quantized")
tables = (aten,)  # beside `table`


def ordinary(node: Node, name: str, *args: Any) -> Expr:
    """The result of an operator of aten."""
    converter = find(built_in(), "aten", name, "")
    assert converter is not None
    found: Expr = node.let(converter(Node(f"aten.{name}", node.span, node.scope, node.name), *args))
    return found


# --- conversions ---------------------------------------------------------------------------------


def _integers_of(node: Node, dtype: Any) -> str:
    if dtype not in QUANTIZED:
        expected = ", ".join(map(str, QUANTIZED))
        raise node.refused("there are no quantized tensors of this kind", expected, str(dtype))
    return QUANTIZED[dtype]


@aten("quantize_per_tensor", "quantize_per_tensor.tensor_qparams")
def quantize(node: Node, self: Expr, scale: Number, zero_point: Number, dtype: Any) -> Expr:
    return on_grid(node, self, Grid(scale, zero_point, _integers_of(node, dtype)))


@aten("quantize_per_channel")
def quantize_by_channel(
    node: Node, self: Expr, scales: Expr, zero_points: Expr, axis: int, dtype: Any
) -> Expr:
    place = node.axis(self, axis)
    scale, zero = node.as_dtype(scales, REAL), node.as_dtype(zero_points, "int32")
    return on_grid(node, self, Grid(scale, zero, _integers_of(node, dtype), place))


@aten("quantize_per_tensor_dynamic")
def quantize_to_range(node: Node, self: Expr, dtype: Any, reduce_range: bool) -> Expr:
    return _measured(node, self, _integers_of(node, dtype), reduce_range)


def _measured(node: Node, data: Expr, dtype: str, reduce_range: bool) -> Expr:
    """Data on a grid from its least to its greatest element."""
    low, high = LIMITS[dtype]
    if reduce_range:
        low, high = low // 2, high // 2
    scale, zero = plain.choose(node, data, low, high, 1e-12, dtype)
    factor, place = (node.let(op.reshape(one, ())) for one in (scale, zero))
    grid = Grid(node.as_dtype(factor, REAL), node.as_dtype(place, "int32"), dtype)
    return on_grid(node, data, grid)


@aten("dequantize")
def dequantize(node: Node, self: Any) -> Any:
    return [real(node, one) for one in self] if isinstance(self, list) else real(node, self)


@aten("int_repr")
def int_repr(node: Node, self: Expr) -> Expr:
    return integers(node, self, grid_of(node, self))


@aten("q_scale")
def q_scale(node: Node, self: Expr) -> Number:
    scale: Number = grid_of(node, self).scale
    return scale


@aten("q_zero_point")
def q_zero_point(node: Node, self: Expr) -> Number:
    zero_point: Number = grid_of(node, self).zero_point
    return zero_point


# --- layers --------------------------------------------------------------------------------------


def _unpacked(node: Node, packed: Any) -> tuple[Expr, Expr | None]:
    """The weight and the bias of a layer."""
    kind = packed._type().name() if isinstance(packed, torch.ScriptObject) else ""  # type: ignore[attr-defined]
    unpack: Any = {
        "LinearPackedParamsBase": torch.ops.quantized.linear_unpack,
        "Conv2dPackedParamsBase": torch.ops.quantized.conv2d_unpack,
        "Conv3dPackedParamsBase": torch.ops.quantized.conv3d_unpack,
    }.get(kind)
    if unpack is None:
        raise node.refused("the weights are packed in another way", found=kind)
    weight, bias = unpack(packed)
    return weight_of(node, weight), None if bias is None else constant_of(bias.detach())


def constant_of(tensor: torch.Tensor) -> Expr:
    found = constant(tensor)
    assert isinstance(found, Expr)
    return found


def weight_of(node: Node, weight: torch.Tensor) -> Expr:
    """The quantized tensor of a weight, which is a constant."""
    if not weight.is_quantized:
        return constant_of(weight)
    dtype = QUANTIZED[weight.dtype]
    if weight.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        grid = Grid(weight.q_scale(), weight.q_zero_point(), dtype)
    else:
        scales = constant_of(weight.q_per_channel_scales().float())
        zeros = constant_of(weight.q_per_channel_zero_points().int())
        grid = Grid(scales, zeros, dtype, weight.q_per_channel_axis())
    return of_integers(node, constant_of(weight.int_repr()), grid)


def _as_it_is(node: Node, data: Expr) -> Expr:
    return data


def _relu(node: Node, data: Expr) -> Expr:
    return node.let(op.nn.relu(data))


After = Callable[[Node, Expr], Expr]


def _linear(
    after: After, node: Node, X: Expr, W_prepack: Any, scale: Number, zero_point: Number
) -> Expr:
    weight, bias = _unpacked(node, W_prepack)
    found = after(node, ordinary(node, "linear", X, weight, bias))
    return on_grid(node, found, Grid(scale, zero_point, grid_of(node, X).dtype))


def _linear_dynamic(
    after: After, node: Node, X: Expr, W_prepack: Any, reduce_range: bool = False
) -> Expr:
    weight, bias = _unpacked(node, W_prepack)
    data = _measured(node, X, "uint8", reduce_range)
    return after(node, ordinary(node, "linear", data, weight, bias))


def _linear_half(after: After, node: Node, X: Expr, W_prepack: Any) -> Expr:
    """A layer of weights that were rounded to halves."""
    weight, bias = torch.ops.quantized.linear_unpack_fp16(W_prepack)
    known = None if bias is None else constant_of(bias.detach())
    return after(node, ordinary(node, "linear", X, constant_of(weight.detach()), known))


@table("linear_leaky_relu")
def linear_leaky_relu(
    node: Node, X: Expr, W_prepack: Any, scale: Number, zero_point: Number, negative_slope: float
) -> Expr:
    def after(node: Node, data: Expr) -> Expr:
        return ordinary(node, "leaky_relu", data, negative_slope)

    return _linear(after, node, X, W_prepack, scale, zero_point)


@table("linear_tanh")
def linear_tanh(
    node: Node, X: Expr, W_prepack: Any, output_scale: Number, output_zero_point: Number
) -> Expr:
    return _linear(
        lambda node, data: node.let(op.tanh(data)),
        *(node, X, W_prepack, output_scale, output_zero_point),
    )


def _convolved(node: Node, rank: int, data: Expr, packed: Any) -> Expr:
    """A convolution over `rank` axes; one over one axis is packed as one over two."""
    weight, bias = _unpacked(node, packed)
    kind = "conv3d" if rank == 3 else "conv2d"

    def known(what: str) -> Any:
        return getattr(torch.ops.quantized, f"{kind}_{what}")(packed)

    stride, padding, dilation, extra = (
        [*known(what)][-rank:] for what in ("stride", "padding", "dilation", "output_padding")
    )
    if rank == 1:
        grid = grid_of(node, weight)
        weight = node.let(op.squeeze(weight, (-2,)))
        node.scope.quantized[weight] = grid
    if known("transpose"):
        name, rest = f"conv_transpose{rank}d", [extra, known("groups"), dilation]
    else:
        name, rest = f"conv{rank}d", [dilation, known("groups")]
    return ordinary(node, name, data, weight, bias, stride, padding, *rest)


def _conv(
    rank: int,
    after: After,
    node: Node,
    qx: Expr,
    packed: Any,
    *args: Any,
) -> Expr:
    *_, scale, zero_point = args  # an older form has the strides before them, as the weights do
    found = after(node, _convolved(node, rank, qx, packed))
    return on_grid(node, found, Grid(scale, zero_point, grid_of(node, qx).dtype))


def _conv_dynamic(rank: int, node: Node, qx: Expr, packed: Any, reduce_range: bool = False) -> Expr:
    return _convolved(node, rank, _measured(node, qx, "uint8", reduce_range), packed)


def _conv_add(
    after: After,
    node: Node,
    qx: Expr,
    qaccum: Expr,
    packed: Any,
    scale: Number,
    zero_point: Number,
) -> Expr:
    found = node.let(op.add(_convolved(node, 2, qx, packed), qaccum))
    return on_grid(node, after(node, found), Grid(scale, zero_point, grid_of(node, qx).dtype))


for _suffix, _after in (("", _as_it_is), ("_relu", _relu)):
    table.add(f"linear{_suffix}", partial(_linear, _after))
    table.add(f"linear{_suffix}_dynamic", partial(_linear_dynamic, _after))
    table.add(f"linear{_suffix}_dynamic_fp16", partial(_linear_half, _after))
    table.add(f"conv2d_add{_suffix}", partial(_conv_add, _after))
    for _rank in (1, 2, 3):
        table.add(f"conv{_rank}d{_suffix}", partial(_conv, _rank, _after))
for _rank in (1, 2, 3):
    table.add(f"conv_transpose{_rank}d", partial(_conv, _rank, _as_it_is))
    table.add(f"conv{_rank}d_dynamic", partial(_conv_dynamic, _rank))
    table.add(f"conv_transpose{_rank}d_dynamic", partial(_conv_dynamic, _rank))


# --- arithmetic ----------------------------------------------------------------------------------


def _combined(
    of: Callable[[Expr, Expr], Expr],
    after: After,
    node: Node,
    qa: Expr,
    qb: Expr,
    scale: Number,
    zero_point: Number,
) -> Expr:
    found = after(node, node.let(of(qa, qb)))
    return on_grid(node, found, Grid(scale, zero_point, grid_of(node, qa).dtype))


def _numbers(node: Node, data: Expr) -> tuple[float, int, int, int]:
    """The scale and zero point of a grid, and its limits."""
    grid = grid_of(node, data)
    if isinstance(grid.scale, Expr) or isinstance(grid.zero_point, Expr):
        raise node.refused("a run computes the scale", hint="dequantize the tensor first")
    return grid.scale, grid.zero_point, *LIMITS[grid.dtype]


def _with_scalar(of: Callable[..., Expr], after: After, node: Node, qa: Expr, b: Any) -> Expr:
    found: Any = node.constant(b).item() if isinstance(b, Expr) else b  # type: ignore[union-attr]
    result = of(node, qa, float(found))
    return on_grid(node, after(node, result), grid_of(node, result))


def _scalar_first(of: Callable[..., Expr], node: Node, b: Any, qa: Expr) -> Expr:
    return of(node, qa, b)


def _plus(node: Node, data: Expr, number: float) -> Expr:
    """A sum with a number of whole steps, on a grid that is moved, or stretched where it ends."""
    scale, zero, low, high = _numbers(node, data)
    steps = round(number / scale)
    moved = zero - steps
    wider, place = scale, moved
    if moved < low:
        wider, place = (high - moved) / (high - low) * scale, low
    elif moved > high:
        wider, place = (moved - low) / (high - low) * scale, high
    total = op.add(data, node.number(steps * scale, data))
    return on_grid(node, total, Grid(wider, place, grid_of(node, data).dtype))


def _times(node: Node, data: Expr, number: float) -> Expr:
    """A product with a number, on a grid that is stretched by it."""
    scale, zero, low, high = _numbers(node, data)
    place = 0 if number == 0 else zero if number > 0 else low + high - zero
    grid = Grid(abs(number) * scale if number else 1.0, place, grid_of(node, data).dtype)
    return on_grid(node, op.multiply(data, node.number(number, data)), grid)


for _name, _of, _scalar in (("add", op.add, _plus), ("mul", op.multiply, _times)):
    for _suffix, _after in (("", _as_it_is), ("_relu", _relu)):
        table.add(f"{_name}{_suffix}", partial(_combined, _of, _after))
        of_scalar = partial(_with_scalar, _scalar, _after)
        table.add(f"{_name}_scalar{_suffix}", of_scalar)
        table.add(f"{_name}{_suffix}.Scalar", of_scalar)
        table.add(f"{_name}{_suffix}.Scalar2", partial(_scalar_first, of_scalar))


@table("matmul")
def matmul(node: Node, qa: Expr, qb: Expr, scale: Number, zero_point: Number) -> Expr:
    found = ordinary(node, "matmul", qa, qb)
    return on_grid(node, found, Grid(scale, zero_point, grid_of(node, qa).dtype))


@table("cat", "cat_relu")
def cat(
    node: Node,
    qx: Sequence[Expr],
    dim: int,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Expr:
    own = grid_of(node, qx[0])
    found = ordinary(node, "cat", qx, dim)
    if node.operator.endswith("relu"):
        found = _relu(node, found)
    steps = own.scale if scale is None else scale
    return on_grid(
        node, found, Grid(steps, own.zero_point if zero_point is None else zero_point, own.dtype)
    )


# --- functions of one tensor ---------------------------------------------------------------------


def _function(name: str, count: int, node: Node, qx: Expr, *args: Any) -> Expr:
    """An operator of aten whose first arguments are these; the scale and the zero point of the
    result are behind the first `count`."""
    scale, zero_point = args[count : count + 2]
    found = ordinary(node, name, qx, *args[:count], *args[count + 2 :])
    return on_grid(node, found, Grid(scale, zero_point, grid_of(node, qx).dtype))


def _same_grid(name: str, node: Node, qx: Expr, *args: Any) -> Expr:
    return on_grid(node, ordinary(node, name, qx, *args), grid_of(node, qx))


for _name, _count in {
    "elu": 0, "celu": 0, "hardswish": 0, "sigmoid": 0, "softmax": 1, "prelu": 1,
    "layer_norm": 4, "group_norm": 4,
}.items():  # fmt: skip
    table.add(_name, partial(_function, _name, _count))
for _name in ("threshold", "clamp", "max_pool1d", "max_pool2d"):
    table.add(_name, partial(_same_grid, _name))


@table("relu6")
def relu6(node: Node, qx: Expr, inplace: bool = False) -> Expr:
    return _same_grid("relu6", node, qx)


@table("leaky_relu")
def leaky_relu(
    node: Node, qx: Expr, negative_slope: float, inplace: bool, scale: Number, zero_point: Number
) -> Expr:
    return _function("leaky_relu", 1, node, qx, negative_slope, scale, zero_point)


@table("dropout")
def dropout(
    node: Node,
    self: Expr,
    output_scale: Number,
    output_zero_point: Number,
    p: float = 0.5,
    training: bool = False,
) -> Expr:
    return self


@table("instance_norm")
def instance_norm(
    node: Node,
    input: Expr,
    weight: Expr | None,
    bias: Expr | None,
    eps: float,
    output_scale: Number,
    output_zero_point: Number,
) -> Expr:
    found = ordinary(node, "instance_norm", input, weight, bias, None, None, True, 0.0, eps)
    grid = Grid(output_scale, output_zero_point, grid_of(node, input).dtype)
    return on_grid(node, found, grid)


def _batch_norm(
    after: After,
    node: Node,
    qx: Expr,
    weight: Expr | None,
    bias: Expr | None,
    mean: Expr,
    var: Expr,
    eps: float,
    scale: Number,
    zero_point: Number,
) -> Expr:
    found = ordinary(node, "batch_norm", qx, weight, bias, mean, var, False, 0.0, eps)
    grid = Grid(scale, zero_point, grid_of(node, qx).dtype)
    return on_grid(node, after(node, found), grid)


for _axes in ("", "1d", "2d", "3d"):
    for _suffix, _after in (("", _as_it_is), ("_relu", _relu)):
        table.add(f"batch_norm{_axes}{_suffix}", partial(_batch_norm, _after))


# --- embeddings ----------------------------------------------------------------------------------


def _table(node: Node, packed: Any) -> Expr:
    """The real rows of a quantized embedding."""
    weight = torch.ops.quantized.embedding_bag_unpack(packed)
    return constant_of(weight.dequantize())


@table("embedding_byte", "embedding_4bit")
def embedding(node: Node, weight: Any, indices: Expr, pruned_weights: bool = False) -> Expr:
    return ordinary(node, "embedding", _table(node, weight), indices)


@table("embedding_bag_byte", "embedding_bag_4bit")
def embedding_bag(
    node: Node,
    weight: Any,
    indices: Expr,
    offsets: Expr | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Expr | None = None,
    compressed_indices_mapping: Expr | None = None,
    include_last_offset: bool = False,
) -> Expr:
    if pruned_weights or compressed_indices_mapping is not None:
        raise node.refused("tables without some of their rows are not supported")
    converter = find(built_in(), "aten", "embedding_bag", "")
    assert converter is not None
    weights = None if per_sample_weights is None else per_sample_weights
    args = (indices, offsets, False, mode, False, weights, include_last_offset)
    found: Expr = converter(node, _table(node, weight), *args)[0]
    return found
