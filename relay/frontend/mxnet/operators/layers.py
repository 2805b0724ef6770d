"""Layers of networks: convolutions, products, pools, normalization, activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import op
from relay.frontend.common import curves
from relay.frontend.common.builder import static
from relay.frontend.mxnet.converters import Table
from relay.frontend.mxnet.node import Node
from relay.ir.expr import Expr

table = Table()

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _layouts(node: Node, rank: int) -> tuple[str, bool]:
    """The layout of data, and whether its channels are last."""
    layout = node.text("layout", f"NC{SPATIAL[rank]}")
    if layout not in (f"NC{SPATIAL[rank]}", f"N{SPATIAL[rank]}C"):
        raise node.refused("there is no such layout", f"NC{SPATIAL[rank]}", layout)
    return layout, layout.endswith("C")


@table("Convolution", "Convolution_v1")
def convolution(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    kernel = node.wholes("kernel")
    rank = len(kernel)
    if rank not in SPATIAL:
        raise node.refused("there are no such windows", "1 to 3 axes", str(kernel))
    node.must_have_axes(data, rank + 2, "images")
    layout, last = _layouts(node, rank)
    pads = node.wholes("pad", rank, 0)
    found = CONVOLUTIONS[rank](
        data,
        weight,
        strides=node.wholes("stride", rank),
        padding=(*pads, *pads),
        dilation=node.wholes("dilate", rank),
        groups=node.whole("num_group", 1),
        channels=node.whole("num_filter"),
        kernel_size=kernel,
        data_layout=layout,
        kernel_layout=f"O{SPATIAL[rank]}I" if last else f"OI{SPATIAL[rank]}",
    )
    return _biased(node, found, bias, -1 if last else 1)


def _biased(node: Node, found: Expr, bias: Expr | None, axis: int) -> Expr:
    if bias is None or node.truth("no_bias"):
        return found
    return op.nn.bias_add(node.let(found), bias, axis=axis)


@table("Deconvolution")
def deconvolution(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    kernel = node.wholes("kernel")
    rank = len(kernel)
    if rank not in SPATIAL:
        raise node.refused("there are no such windows", "1 to 3 axes", str(kernel))
    layout, last = _layouts(node, rank)
    if last:
        raise node.refused("its channels are last", f"NC{SPATIAL[rank]}", layout)
    if set(node.wholes("dilate", rank)) != {1}:
        raise node.refused("its windows have steps between their elements", "dilate 1")
    strides, pads = node.wholes("stride", rank), node.wholes("pad", rank, 0)
    extra = node.wholes("adj", rank, 0)
    before, after = pads, pads
    if wanted := node.wholes("target_shape"):
        extents = node.static_shape(data, "images")[2:]
        whole = [(n - 1) * s + k for n, s, k in zip(extents, strides, kernel, strict=True)]
        cut = [size - one for size, one in zip(whole, wanted, strict=True)]
        before = tuple((one + 1) // 2 for one in cut)
        after = tuple(one // 2 for one in cut)
        extra = (0,) * rank
    groups = node.whole("num_group", 1)
    units = node.whole("num_filter")
    attributes: dict[str, Any] = {
        "strides": strides,
        "padding": (*before, *after),
        "output_padding": extra,
        "kernel_size": kernel,
    }
    found = TRANSPOSED[rank](data, weight, groups=groups, channels=units, **attributes)
    return _biased(node, found, None if node.truth("no_bias", True) else bias, 1)


@table("FullyConnected")
def fully_connected(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    rank = node.rank(data)
    if node.truth("flatten", True) and rank != 2:
        data = node.let(op.reshape(data, (0, -1)))
    flat = data
    for _ in range(node.rank(data) - 2):
        flat = node.let(op.reshape(flat, (-3, *[0] * (node.rank(flat) - 2))))
    found = _biased(node, op.nn.dense(flat, weight), bias, -1)
    if node.rank(data) <= 2:
        return found
    shape = node.shape(data)[:-1]
    codes = [one if isinstance(one, int) else -1 for one in shape]
    found = node.let(found)
    if codes.count(-1) <= 1:
        return op.reshape(found, (*codes, node.whole("num_hidden")))
    apart = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": len(shape)}
    return op.reshape_like(found, data, **apart)


MAXIMA = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
MEANS = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


@table("Pooling", "Pooling_v1")
def pooling(node: Node, data: Expr) -> Expr:
    rank = node.rank(data) - 2
    if rank not in SPATIAL:
        raise node.refused("data has no images", "3 to 5 axes", str(node.type_of(data)))
    layout, last = _layouts(node, rank)
    kind = node.text("pool_type", "max")
    if kind not in ("max", "avg", "sum"):
        raise node.refused("there is no such pool", "max, avg or sum", kind)
    if node.truth("global_pool"):
        first = 1 if last else 2
        axes = tuple(range(first, first + rank))
        reduce = {"max": op.max, "avg": op.mean, "sum": op.sum}[kind]
        return reduce(data, axis=axes, keepdims=True)
    kernel = node.wholes("kernel", rank)
    strides, pads = node.wholes("stride", rank), node.wholes("pad", rank, 0)
    before, after = pads, pads
    convention = node.text("pooling_convention", "valid")
    more = (0,) * rank
    if convention == "full":
        # the number of windows is rounded up: the last ones go beyond the padding
        extents = node.static_shape(data, "images")[1 if last else 2 :][:rank]
        more = tuple(
            -(n + 2 * pad - size) % step
            for n, size, step, pad in zip(extents, kernel, strides, pads, strict=True)
        )
    elif convention == "same":
        extents = node.static_shape(data, "images")[1 if last else 2 :][:rank]
        total = [
            max((-(-n // step) - 1) * step + size - n, 0)
            for n, size, step in zip(extents, kernel, strides, strict=True)
        ]
        before = tuple(one // 2 for one in total)
        after = tuple(one - one // 2 for one in total)
    elif convention != "valid":
        raise node.refused("there is no such convention", "valid, full or same", convention)
    ends = tuple(one + rest for one, rest in zip(after, more, strict=True))
    windows: dict[str, Any] = {
        "pool_size": kernel,
        "strides": strides,
        "padding": (*before, *ends),
        "layout": layout,
    }
    if kind == "max":
        return MAXIMA[rank](data, **windows)
    counts_padding = node.truth("count_include_pad", True)
    if not counts_padding and kind == "avg":
        return MEANS[rank](data, **windows, count_include_pad=False)
    whole = node.let(MEANS[rank](data, **windows, count_include_pad=True))
    size = float(_product(kernel))
    if kind == "sum":
        return whole * node.number(size, data)
    if not any(more):
        return whole
    # what lies beyond the padding does not count
    shape = node.static_shape(data, "images")
    first = 1 if last else 2
    inner = [1] * len(shape)
    for axis in range(rank):
        inner[first + axis] = shape[first + axis] + before[axis] + after[axis]
    ones = node.zeros(tuple(inner), node.dtype(data)) + node.number(1, data)
    beyond = {**windows, "padding": (*[0] * rank, *more)}
    share = node.let(MEANS[rank](node.let(ones), **beyond, count_include_pad=True))
    return whole / share


def _product(numbers: tuple[int, ...]) -> int:
    found = 1
    for one in numbers:
        found *= one
    return found


@table("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm")
def batch_norm(
    node: Node, data: Expr, gamma: Expr, beta: Expr, moving_mean: Expr, moving_var: Expr
) -> Expr:
    """Batch normalization by the moving statistics."""
    if node.truth("fix_gamma", True):
        gamma = node.let(op.ones_like(gamma))
    axis = node.axis_of(node.whole("axis", 1), node.rank(data))
    found = op.nn.batch_norm(
        data, gamma, beta, moving_mean, moving_var, axis=axis, epsilon=node.real("eps", 1e-3)
    )
    return found[0]


@table("LayerNorm")
def layer_norm(node: Node, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    axis = node.axis_of(node.whole("axis", -1), node.rank(data))
    return op.nn.layer_norm(data, gamma, beta, axis=axis, epsilon=node.real("eps", 1e-5))


@table("InstanceNorm")
def instance_norm(node: Node, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    return op.nn.instance_norm(data, gamma, beta, axis=1, epsilon=node.real("eps", 1e-3))


@table("GroupNorm")
def group_norm(node: Node, data: Expr, gamma: Expr, beta: Expr) -> Expr:
    groups = node.whole("num_groups", 1)
    channels = node.static_extent(data, 1, "how many channels there are")
    if groups < 1 or channels % groups:
        raise node.refused("the channels do not fit the groups", f"a multiple of {groups}")
    if node.shape(gamma) == (groups,) and groups != channels:
        # a weight for each group
        gamma, beta = (
            node.let(op.repeat(one, channels // groups, axis=0)) for one in (gamma, beta)
        )
    return op.nn.group_norm(data, gamma, beta, num_groups=groups, epsilon=node.real("eps", 1e-5))


@table("L2Normalization")
def l2_normalization(node: Node, data: Expr) -> Expr:
    rank = node.rank(data)
    mode = node.text("mode", "instance")
    axes = {"instance": range(1, rank), "channel": range(1, 2), "spatial": range(2, rank)}
    if mode not in axes:
        raise node.refused("there is no such mode", ", ".join(axes), mode)
    square = op.sum(data * data, axis=tuple(axes[mode]), keepdims=True)
    return data / op.sqrt(square + node.number(node.real("eps", 1e-10), data))


@table("LRN")
def lrn(node: Node, data: Expr) -> Expr:
    alpha, beta, bias = node.real("alpha", 1e-4), node.real("beta", 0.75), node.real("knorm", 2.0)
    return op.nn.lrn(data, size=node.whole("nsize"), axis=1, bias=bias, alpha=alpha, beta=beta)


@table("Activation")
def activation(node: Node, data: Expr) -> Expr:
    kind = node.text("act_type")
    curves_of: dict[str, Callable[[Expr], Expr]] = {
        "relu": op.nn.relu,
        "sigmoid": op.sigmoid,
        "tanh": op.tanh,
        "softrelu": lambda x: curves.softplus(node, x),
        "softsign": lambda x: curves.softsign(node, x),
        "log_sigmoid": lambda x: -curves.softplus(node, node.let(-x)),
        "mish": lambda x: curves.mish(node, x),
    }
    if kind not in curves_of:
        raise node.refused("there is no such activation", ", ".join(curves_of), kind)
    return curves_of[kind](data)


@table("LeakyReLU")
def leaky_relu(node: Node, data: Expr, gamma: Expr | None = None) -> Expr | list[Expr]:
    kind, slope = node.text("act_type", "leaky"), node.real("slope", 0.25)
    match kind:
        case "leaky":
            return op.nn.leaky_relu(data, alpha=slope)
        case "prelu" if gamma is not None:
            behind = node.rank(data) - 2
            own = op.expand_dims(gamma, 1, num_newaxis=behind) if behind > 0 else gamma
            return op.where(data > node.number(0, data), data, data * node.let(own))
        case "elu":
            return curves.elu(node, data, slope)
        case "selu":
            return curves.elu(node, data, SELU_ALPHA * SELU_SCALE, SELU_SCALE)
        case "gelu":
            return curves.gelu(node, data, by_tanh=False)
        case "rrelu":
            low, high = node.real("lower_bound", 0.125), node.real("upper_bound", 0.334)
            found = op.nn.leaky_relu(data, alpha=(low + high) / 2)
            return [found, op.ones_like(data)]  # and the slopes that training draws
    raise node.refused("there is no such activation", found=kind)


@table("hard_sigmoid")
def hard_sigmoid(node: Node, data: Expr) -> Expr:
    return curves.hard_sigmoid(node, data, node.real("alpha", 0.2), node.real("beta", 0.5))


@table("softmax", "log_softmax", "softmin", "SoftmaxActivation")
def softmax(node: Node, data: Expr, length: Expr | None = None) -> Expr:
    if length is not None and node.truth("use_length"):
        raise node.refused("its rows have lengths", "use_length False")
    axis = node.whole("axis", -1)
    if node.operator == "SoftmaxActivation":
        axis = 1 if node.text("mode", "instance") == "channel" else -1
        if axis == -1 and node.rank(data) > 2:
            flat = node.let(op.nn.softmax(node.let(op.reshape(data, (0, -1))), axis=-1))
            return op.reshape_like(flat, data)
    heat = node.real("temperature", 1.0)
    if heat != 1.0:
        data = node.let(data / node.number(heat, data))
    if node.operator == "softmin":
        data = node.let(-data)
    operator = op.nn.log_softmax if node.operator == "log_softmax" else op.nn.softmax
    return operator(data, axis=node.axis_of(axis, node.rank(data)))


@table("SoftmaxOutput", "Softmax")
def softmax_output(node: Node, data: Expr, label: Expr | None = None) -> Expr:
    """SoftmaxOutput: softmax, at inference."""
    axis = 1 if node.truth("multi_output") or node.rank(data) == 2 else -1
    return op.nn.softmax(data, axis=axis)


@table("LinearRegressionOutput", "MAERegressionOutput", "MakeLoss", "make_loss", "BlockGrad",
       "_copy", "identity", "stop_gradient", "Dropout", "_identity_with_attr_like_rhs")  # fmt: skip
def same(node: Node, data: Expr, label: Expr | None = None) -> Expr:
    return op.copy(data)


@table("LogisticRegressionOutput")
def logistic(node: Node, data: Expr, label: Expr | None = None) -> Expr:
    return op.sigmoid(data)


@table("Embedding")
def embedding(node: Node, data: Expr, weight: Expr) -> Expr:
    return op.take(weight, node.as_dtype(data, "int32"), axis=0, mode="clip")


@table("UpSampling")
def upsampling(node: Node, *data: Expr) -> Expr:
    scale = node.whole("scale")
    if node.text("sample_type", "nearest") != "nearest" or len(data) != 1:
        raise node.refused("it is learned, or of several images", "nearest")
    return op.nn.upsampling(data[0], float(scale), float(scale))


@table("_contrib_BilinearResize2D")
def bilinear(node: Node, data: Expr, like: Expr | None = None) -> Expr:
    """Bilinear resize, with aligned corners by default."""
    if node.text("mode", "size") != "size":
        raise node.refused("it does not say a size", "mode size", node.text("mode"))
    extents = static(node.shape(data)[2:])
    if node.has("scale_height"):
        if extents is None:
            raise node.refused("the size of images must be known", hint=node.give_sizes)
        scales = [node.real(f"scale_{one}") for one in ("height", "width")]
        size = tuple(int(one * scale) for one, scale in zip(extents, scales, strict=True))
    else:
        size = (node.whole("height"), node.whole("width"))
    corners = "align_corners" if node.truth("align_corners", True) else "half_pixel"
    return op.image.resize2d(data, size, coordinate_transformation_mode=corners, method="linear")


@table("_contrib_AdaptiveAvgPooling2D")
def adaptive(node: Node, data: Expr) -> Expr:
    size = node.wholes("output_size") or (1,)
    size = size * 2 if len(size) == 1 else size
    return op.nn.adaptive_avg_pool2d(data, output_size=size)


@table("Pad", "pad")
def pad(node: Node, data: Expr) -> Expr:
    widths = node.wholes("pad_width")
    pairs = [*zip(widths[::2], widths[1::2], strict=True)]
    mode = node.text("mode", "constant")
    if mode == "constant":
        return op.nn.pad(data, pairs, node.number(node.real("constant_value", 0.0), data))
    if mode == "reflect":
        return op.nn.mirror_pad(data, pairs, mode="REFLECT")
    return op.nn.pad(data, pairs, node.number(0, data), pad_mode="edge")
