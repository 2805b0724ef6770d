"""Functions of neural networks: activations, products, convolutions, pools, normalization."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from relay import op
from relay.frontend.common import attention as common
from relay.frontend.common.products import of_equation, product
from relay.frontend.keras import activations
from relay.frontend.keras.activations import widely
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.layers.convolution import (
    SPATIAL,
    convolved,
    layout_of,
    pointwise,
    spread,
    windows_of,
)
from relay.frontend.keras.layers.convolution import by_channel as each_channel
from relay.frontend.keras.layers.normalization import by_root_mean_square, normalized
from relay.frontend.keras.layers.pooling import ADAPTIVE_MAXIMA, ADAPTIVE_MEANS, pooled
from relay.frontend.keras.node import Node, policy_of
from relay.frontend.keras.operations.reductions import axes_of
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, Tuple, const
from relay.op.linalg.einsum import parse_equation

table = Operations()

_CURVES = {
    "Relu": "relu", "Relu6": "relu6", "Sigmoid": "sigmoid", "SparseSigmoid": "sparse_sigmoid",
    "Softplus": "softplus", "Softsign": "softsign", "SparsePlus": "sparse_plus", "Silu": "silu",
    "LogSigmoid": "log_sigmoid", "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu",
    "Selu": "selu", "TanhShrink": "tanh_shrink", "HardTanh": "hard_tanh",
}  # fmt: skip
# those with options
_WITH_OPTIONS: dict[str, tuple[Callable[..., Expr], dict[str, Any]]] = {
    "SoftShrink": (activations.soft_shrink, {"threshold": 0.5}),
    "HardShrink": (activations.hard_shrink, {"threshold": 0.5}),
    "Squareplus": (activations.squareplus, {"b": 4}),
    "LeakyRelu": (activations.leaky_relu, {"negative_slope": 0.2}),
    "Elu": (activations.elu, {"alpha": 1.0}),
    "Celu": (activations.celu, {"alpha": 1.0}),
    "Gelu": (activations.gelu, {"approximate": True}),
    "Threshold": (activations.threshold, {"threshold": 1.0, "default_value": 0.0}),
    "Glu": (activations.glu, {"axis": -1}),
    "Sparsemax": (activations.sparsemax, {"axis": -1}),
}


def _curve(name: str, node: Node, x: Expr) -> Expr:
    data = x if name == "relu" else floating(node, x)
    return widely(node, data, lambda wide: activations.CURVES[name](node, wide))


for _operation, _name in _CURVES.items():
    table.add(f"nn.{_operation}", partial(_curve, _name))


@table(*(f"nn.{name}" for name in _WITH_OPTIONS))
def with_options(node: Node, x: Expr) -> Expr:
    curve, defaults = _WITH_OPTIONS[node.operator]
    given = {name: node.config.get(name, default) for name, default in defaults.items()}
    return widely(node, floating(node, x), lambda wide: curve(node, node.let(wide), **given))


@table("nn.Softmax", "nn.LogSoftmax")
def softmax(node: Node, x: Expr) -> Expr:
    operator = op.nn.softmax if node.operator == "Softmax" else op.nn.log_softmax
    axis: Any = node.config.get("axis", -1)
    data = floating(node, x)
    if isinstance(axis, int):
        return widely(node, data, lambda wide: operator(wide, axis=axis))
    rank = node.rank(data)
    axes = [*range(rank)] if axis is None else node.axes_of(axis, rank, distinct=True)
    order = [one for one in range(rank) if one not in axes] + axes
    shape = node.static_shape(data, "data")
    moved = node.let(op.transpose(data, tuple(order)))
    kept = [shape[one] for one in order[: rank - len(axes)]]
    flat = node.let(operator(node.let(op.reshape(moved, (*kept, -1))), axis=-1))
    apart = node.let(op.reshape(flat, tuple(shape[one] for one in order)))
    return op.transpose(apart, tuple(sorted(range(rank), key=lambda place: order[place])))


# --- products ------------------------------------------------------------------------------------


@table("numpy.Matmul", "numpy.Dot")
def matmul(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = promoted(node, x1, x2)
    ranks = node.rank(left), node.rank(right)
    if 0 in ranks:
        return left * right
    if node.operator == "Dot" and max(ranks) > 2:
        return _contracted(node, left, right, ranks[0] - 1, max(ranks[1] - 2, 0))
    return product(node, left, right)


def _contracted(node: Node, left: Expr, right: Expr, one: int, other: int) -> Expr:
    first, second = list("abcdefgh"[: node.rank(left)]), list("ijklmnop"[: node.rank(right)])
    first[one] = second[other] = "z"
    rest = "".join(name for name in (*first, *second) if name != "z")
    return einsum_of(node, f"{''.join(first)},{''.join(second)}->{rest}", [left, right])


def einsum_of(node: Node, text: str, operands: list[Expr]) -> Expr:
    equation = parse_equation(text)
    if equation is None or len(equation.operands) != len(operands):
        raise node.refused("there is no such equation", found=text[:60])
    return op.einsum(Tuple(of_equation(node, equation, operands)), equation=text)


@table("numpy.Einsum")
def einsum(node: Node, *operands: Expr, **_: Any) -> Expr:
    text = str(node.option("subscripts", "")).replace(" ", "")
    return einsum_of(node, text, promoted(node, *operands))


@table("numpy.Tensordot")
def tensordot(node: Node, x1: Expr, x2: Expr) -> Expr:
    left, right = promoted(node, x1, x2)
    axes: Any = node.config.get("axes", 2)
    ranks = node.rank(left), node.rank(right)
    if isinstance(axes, int):
        pairs = [(ranks[0] - axes + place, place) for place in range(axes)]
    else:
        given = [[one] if isinstance(one, int) else list(one) for one in axes]
        sides = [node.axes_of(one, rank) for one, rank in zip(given, ranks, strict=True)]
        pairs = [*zip(*sides, strict=True)]
    first, second = list("abcdefgh"[: ranks[0]]), list("ijklmnop"[: ranks[1]])
    for (one, other), name in zip(pairs, "qrstuvwxyz", strict=False):
        first[one] = second[other] = name
    rest = "".join(name for name in (*first, *second) if name < "q")
    return einsum_of(node, f"{''.join(first)},{''.join(second)}->{rest}", [left, right])


@table("numpy.Outer")
def outer(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = (node.let(op.reshape(one, (-1,))) for one in promoted(node, x1, x2))
    return op.expand_dims(left, 1) * op.expand_dims(right, 0)


@table("numpy.Inner", "numpy.Vdot")
def inner(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = promoted(node, x1, x2)
    if node.operator == "Vdot":
        left, right = (node.let(op.reshape(one, (-1,))) for one in (left, right))
    if 0 in (node.rank(left), node.rank(right)):
        return left * right
    return _contracted(node, left, right, node.rank(left) - 1, node.rank(right) - 1)


@table("nn.DotProductAttention")
def dot_product_attention(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    bias: Expr | None = None,
    mask: Expr | None = None,
    scale: float | None = None,
) -> Expr:
    """Queries, keys and values are (batch, rows, heads, width)."""
    heads = [node.let(op.transpose(one, (0, 2, 1, 3))) for one in promoted(node, query, key, value)]
    run = common.Attention.of(node, heads[0], heads[1], heads[2])
    if bias is not None:
        run = run.mask(bias, pads=False, blind=False)
    if node.option("is_causal", False):
        rows, columns = run.rows(), run.columns()
        run = run.allow(node.let(op.greater_equal(rows, columns)), blind=False)
    if mask is not None:
        run = run.mask(node.as_dtype(mask, "bool"), pads=False, blind=False)
    cap = node.option("attn_logits_soft_cap", 0.0)
    found = run.run(scale=None if scale is None else float(scale), softcap=float(cap))
    return op.transpose(found.value(), (0, 2, 1, 3))


# --- windows -------------------------------------------------------------------------------------


def _each(node: Node, name: str, rank: int, default: int = 1) -> tuple[int, ...]:
    return node.whole_numbers(name, rank, default)


def _padding(node: Node) -> str:
    return str(node.option("padding", "valid")).lower()


@table("nn.Conv", "nn.DepthwiseConv", "nn.SeparableConv")
def convolution(
    node: Node, inputs: Expr, kernel: Expr, more: Expr | None = None, **named: Any
) -> Expr:
    rank, last = node.rank(inputs) - 2, node.channels_last
    more = named.get("pointwise_kernel", more)
    inputs, kernel = promoted(node, inputs, kernel)
    *sizes, depth, units = node.static_shape(kernel, "the kernel")
    strides, dilations = _each(node, "strides", rank), _each(node, "dilation_rate", rank)
    windows = windows_of(node, inputs, sizes, strides, dilations, _padding(node), last)
    if node.operator != "Conv":
        found = each_channel(node, inputs, kernel, last, windows)
        return found if more is None else pointwise(node, found, more, last)
    channels = node.static_extent(inputs, -1 if last else 1, "how many channels there are")
    if depth < 1 or channels % depth:
        raise node.refused(
            "the kernel does not fit the channels", f"a divisor of {channels}", f"{depth}"
        )
    return convolved(
        node, inputs, kernel, windows, channels // depth, units, f"{SPATIAL[rank]}IO", last
    )


@table("nn.ConvTranspose")
def transposed(node: Node, inputs: Expr, kernel: Expr) -> Expr:
    rank, last = node.rank(inputs) - 2, node.channels_last
    strides, dilations = _each(node, "strides", rank), _each(node, "dilation_rate", rank)
    given = node.config.get("output_padding")
    extra = None if given is None else _each(node, "output_padding", rank)
    return spread(node, inputs, kernel, strides, dilations, _padding(node), extra, last)


@table("nn.MaxPool", "nn.AveragePool")
def pool(node: Node, inputs: Expr) -> Expr:
    rank, last = node.rank(inputs) - 2, node.channels_last
    sizes = _each(node, "pool_size", rank, 2)
    given = node.config.get("strides")
    strides = sizes if given is None else _each(node, "strides", rank)
    windows = windows_of(node, inputs, sizes, strides, (1,) * rank, _padding(node), last)
    return pooled(node, inputs, windows, last, node.operator == "MaxPool")


@table("nn.AdaptiveMaxPool", "nn.AdaptiveAveragePool")
def adaptive_pool(node: Node, inputs: Expr) -> Expr:
    operators = ADAPTIVE_MAXIMA if "Max" in node.operator else ADAPTIVE_MEANS
    rank = node.rank(inputs) - 2
    sizes = _each(node, "output_size", rank)
    return operators[rank](inputs, output_size=sizes, layout=layout_of(rank, node.channels_last))


# --- normalization and codes ---------------------------------------------------------------------


@table("nn.BatchNorm")
def batch_norm(
    node: Node,
    x: Expr,
    mean: Expr,
    variance: Expr,
    offset: Expr | None = None,
    scale: Expr | None = None,
) -> Expr:
    axis = node.axis_of(node.option("axis", -1), node.rank(x))
    behind = node.rank(x) - axis - 1

    def along(vector: Expr) -> Expr:
        return node.let(op.expand_dims(vector, 1, num_newaxis=behind)) if behind else vector

    factor: Expr = op.rsqrt(along(variance) + node.number(node.option("epsilon", 1e-3), x))
    factor = factor if scale is None else factor * along(scale)
    found: Expr = (x - along(mean)) * factor
    return found if offset is None else found + along(offset)


@table("nn.LayerNorm", "nn.RMSNorm")
def layer_norm(
    node: Node, x: Expr, gamma: Expr | None = None, beta: Expr | None = None, **named: Any
) -> Expr:
    data = floating(node, x)
    axes = axes_of(node, x) if node.config.get("axis") is not None else (node.rank(x) - 1,)
    epsilon = node.option("epsilon", 1e-7)
    gamma = named.get("scale", gamma)
    if node.operator == "RMSNorm":
        found = by_root_mean_square(node, data, axes, epsilon)
    else:
        found = normalized(node, data, axes, epsilon)
    found = found if gamma is None else node.let(found) * gamma
    return found if beta is None else node.let(found) + beta


@table("nn.OneHot", "nn.MultiHot")
def one_hot(node: Node, x: Expr | None = None, inputs: Expr | None = None) -> Expr:
    places = x if x is not None else inputs
    if places is None:
        raise node.refused("it has no input")
    if node.option("sparse", False):
        raise node.refused("it gives a sparse tensor", hint="sparse=False")
    depth = node.option("num_classes", 0)
    given = node.config.get("dtype")
    dtype = "float32" if given is None else policy_of(node, given)
    one, zero = const(1, dtype), const(0, dtype)
    axis = node.option("axis", -1)
    whole = (
        node.as_dtype(places, "int32") if node.dtype(places) not in ("int32", "int64") else places
    )
    if node.operator == "OneHot":
        return op.one_hot(whole, one, zero, depth, axis, dtype)
    rows = node.let(op.one_hot(whole, one, zero, depth, -1, dtype))
    along = 1 if node.rank(places) > 1 else 0
    return op.max(rows, axis=(along,))


@table("nn.DepthToSpace", "nn.SpaceToDepth")
def depth_space(node: Node, x: Expr) -> Expr:
    size = node.option("block_size", 2)
    layout = "NHWC" if node.channels_last else "NCHW"
    if node.operator == "DepthToSpace":
        return op.nn.depth_to_space(x, size, layout=layout, mode="DCR")
    return op.nn.space_to_depth(x, size, layout=layout)
