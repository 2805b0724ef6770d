"""What operators compute, in PyTorch on float64 tensors, for `torch.autograd`.

`TORCH[name](*tensors, **attributes)`: integers are tensors as well, several arguments in a tuple
are a tuple.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from relay.op.opdef import get

Function = Callable[..., Any]


def axes_of(data: torch.Tensor, axis: Any, exclude: bool) -> list[int]:
    rank = data.ndim
    if axis is None:
        return list(range(rank))
    named = {a % rank for a in ([axis] if isinstance(axis, int) else axis)}
    return [a for a in range(rank) if (a in named) != exclude]


def reduction(function: Function) -> Function:
    def reduced(data: torch.Tensor, axis: Any, keepdims: bool, exclude: bool, **_: Any) -> Any:
        axes = axes_of(data, axis, exclude)
        return function(data, axes, keepdims) if axes else data.clone()

    return reduced


def product(data: torch.Tensor, axes: list[int], keepdims: bool) -> torch.Tensor:
    for axis in sorted(axes, reverse=True):
        data = data.prod(axis, keepdim=keepdims)
    return data


def variance(
    data: torch.Tensor, mean: torch.Tensor, axis: Any, keepdims: bool, exclude: bool, unbiased: bool
) -> torch.Tensor:
    axes = axes_of(data, axis, exclude)
    count = math.prod(data.shape[a] for a in axes) - int(unbiased)
    return ((data - mean) ** 2).sum(axes, keepdim=keepdims) / count


def scan(function: Function, identity: float) -> Function:
    def scanned(data: torch.Tensor, axis: Any, exclusive: bool, **_: Any) -> torch.Tensor:
        if axis is None:
            data, axis = data.reshape(-1), 0
        total = function(data, axis)
        if not exclusive or not data.shape[axis]:
            return total
        first = torch.full_like(total.narrow(axis, 0, 1), identity)
        return torch.cat((first, total.narrow(axis, 0, data.shape[axis] - 1)), axis)

    return scanned


def strided_slice(
    data: torch.Tensor, begin: Any, end: Any, strides: Any, axes: Any, slice_mode: str
) -> torch.Tensor:
    named = range(data.ndim) if axes is None else axes
    for number, axis in enumerate(named):
        if number >= len(begin):
            break
        extent = data.shape[axis]
        stop = None if number >= len(end) or abs(end[number]) >= 2**31 - 1 else end[number]
        step = strides[number] if strides and number < len(strides) and slice_mode == "end" else 1
        if slice_mode == "size":
            start = begin[number] % extent if begin[number] < 0 else begin[number]
            stop = extent if end[number] < 0 else start + end[number]
        places = range(extent)[slice(begin[number], stop, step)]
        data = data.index_select(axis, torch.tensor(list(places), dtype=torch.int64))
    return data


def take(data: torch.Tensor, indices: torch.Tensor, axis: Any, batch_dims: int, mode: str) -> Any:
    if batch_dims:
        return NotImplemented
    if axis is None:
        data, axis = data.reshape(-1), 0
    extent = data.shape[axis]
    indices = indices.long()
    indices = indices % extent if mode == "wrap" else indices.clamp(0, extent - 1)
    axis %= data.ndim
    taken = data.index_select(axis, indices.reshape(-1))
    return taken.reshape(*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


def gather(data: torch.Tensor, indices: torch.Tensor, axis: Any) -> torch.Tensor:
    axis = axis or 0
    return torch.gather(data, axis, indices.long().clamp(0, data.shape[axis] - 1))


def pad(data: torch.Tensor, value: torch.Tensor, pad_width: Any, pad_mode: str) -> Any:
    if pad_mode != "constant":
        return NotImplemented
    widths = [width for pair in reversed(pad_width) for width in pair]
    return F.pad(data, widths) + value * (1 - F.pad(torch.ones_like(data), widths))


def matmul(
    a: torch.Tensor, b: torch.Tensor, transpose_a: bool, transpose_b: bool, **_: Any
) -> torch.Tensor:
    return (a.mT if transpose_a else a) @ (b.mT if transpose_b else b)


def only_plain(layouts: dict[str, tuple[str, ...]], function: Function) -> Function:
    """For the layouts that PyTorch has."""

    def of(*args: Any, **attributes: Any) -> Any:
        if any(attributes[name] not in allowed for name, allowed in layouts.items()):
            return NotImplemented
        return function(*args, **attributes)

    return of


def symmetric(padding: Any) -> list[int] | None:
    half = len(padding) // 2
    return list(padding[:half]) if tuple(padding[:half]) == tuple(padding[half:]) else None


def convolution(axes: int, transposed: bool = False) -> Function:
    letters = "DHW"[3 - axes :]
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"

    def convolved(data: torch.Tensor, weight: torch.Tensor, **known: Any) -> Any:
        padding = symmetric(known["padding"])
        groups = known["groups"]
        if not transposed and groups > 1 and weight.shape[1] * groups != data.shape[1]:
            return NotImplemented
        more = {"output_padding": known["output_padding"]} if transposed else {}
        if padding is None and transposed:
            return NotImplemented
        if padding is None:
            half = len(known["padding"]) // 2
            pairs = list(zip(known["padding"][:half], known["padding"][half:], strict=True))
            data, padding = F.pad(data, [w for pair in reversed(pairs) for w in pair]), [0] * half
        return getattr(F, name)(
            data,
            weight,
            stride=known["strides"],
            padding=padding,
            dilation=known["dilation"],
            groups=groups,
            **more,
        )

    kernel = f"{'IO' if transposed else 'OI'}{letters}"
    data = f"NC{letters}"
    layouts = {"data_layout": (data,), "kernel_layout": (kernel,), "out_layout": ("", data)}
    return only_plain(layouts, convolved)


def pool(axes: int, is_max: bool) -> Function:
    letters = "DHW"[3 - axes :]
    name = f"{'max' if is_max else 'avg'}_pool{axes}d"

    def pooled(data: torch.Tensor, **known: Any) -> Any:
        padding = symmetric(known["padding"])
        if padding is None or known["ceil_mode"]:
            return NotImplemented
        if not is_max and any(d != 1 for d in known["dilation"]):
            return NotImplemented
        more: dict[str, Any] = (
            {"dilation": known["dilation"]}
            if is_max
            else {"count_include_pad": known["count_include_pad"]}
        )
        if any(2 * p > k for p, k in zip(padding, known["pool_size"], strict=True)):
            return NotImplemented
        return getattr(F, name)(
            data, known["pool_size"], stride=known["strides"], padding=padding, **more
        )

    return only_plain({"layout": (f"NC{letters}",), "out_layout": ("", f"NC{letters}")}, pooled)


def adaptive(axes: int, is_max: bool) -> Function:
    letters = "DHW"[3 - axes :]
    name = f"adaptive_{'max' if is_max else 'avg'}_pool{axes}d"

    def pooled(data: torch.Tensor, output_size: Any, **_: Any) -> Any:
        size = tuple(output_size) or tuple(data.shape[2:])
        return getattr(F, name)(data, size)

    return only_plain({"layout": (f"NC{letters}",), "out_layout": ("", f"NC{letters}")}, pooled)


def batch_norm(
    data: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Any:
    shape = [-1 if a == axis % data.ndim else 1 for a in range(data.ndim)]
    made = (data - mean.reshape(shape)) / torch.sqrt(var.reshape(shape) + epsilon)
    made = made * gamma.reshape(shape) if scale else made
    made = made + beta.reshape(shape) if center else made
    return made, mean * 1, var * 1


def batch_norm_training(
    data: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    moving_mean: torch.Tensor,
    moving_var: torch.Tensor,
    axis: int,
    momentum: float,
    **known: Any,
) -> Any:
    axes = [a for a in range(data.ndim) if a != axis % data.ndim]
    mean, var = data.mean(axes), data.var(axes, unbiased=False)
    made = batch_norm(data, gamma, beta, mean, var, axis, **known)[0]
    rest = 1 - momentum
    sample = data.var(axes, unbiased=True)
    return made, rest * moving_mean + momentum * mean, rest * moving_var + momentum * sample


def dropout_training(key: torch.Tensor, data: torch.Tensor, rate: float) -> Any:
    kept = get("nn.dropout_training").reference(key.numpy(), np.ones(data.shape), rate)[1] > 0
    return key, torch.where(torch.tensor(kept), data / (1 - rate), 0)


def nll_loss(
    predictions: torch.Tensor,
    targets: torch.Tensor,
    weights: torch.Tensor,
    reduction: str,
    ignore_index: int,
) -> Any:
    axis = min(predictions.ndim - 1, 1)
    counts = targets != ignore_index
    inside = torch.where(counts, targets, 0).long()
    chosen = predictions.gather(axis, inside.unsqueeze(axis)).squeeze(axis)
    weight = torch.where(counts, weights[inside], 0.0)
    losses = -chosen * weight
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / weight.sum()


def scatter_elements(
    data: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, axis: int, reduction: str
) -> Any:
    if reduction not in ("add",) or indices.min() < -data.shape[axis]:
        return NotImplemented
    return data.scatter_add(axis, indices.long() % data.shape[axis], updates)


def split(data: torch.Tensor, indices_or_sections: Any, axis: int) -> Any:
    return torch.tensor_split(data, indices_or_sections, axis)


def topk(data: torch.Tensor, k: int, axis: int, ret_type: str, is_ascend: bool, **_: Any) -> Any:
    if ret_type == "indices" or k < 1:
        return NotImplemented
    values, places = torch.topk(data, k, axis, largest=not is_ascend)
    return values if ret_type == "values" else (values, places)


def reshape_like(data: torch.Tensor, like: torch.Tensor, **known: Any) -> Any:
    if any(value not in (0, None) for value in known.values()):
        return NotImplemented
    return data.reshape(like.shape)


def binary(function: Function) -> Function:
    return lambda left, right: function(left, right)


def unary(function: Function) -> Function:
    return lambda data: function(data)


def moved(name: str) -> Function:
    """An operator that moves the elements of its first argument, by where they come from."""

    def read(data: torch.Tensor, *rest: torch.Tensor, **attributes: Any) -> torch.Tensor:
        places = np.arange(data.numel()).reshape(data.shape)
        given = [one.detach().numpy() for one in rest]
        found = torch.from_numpy(np.array(get(name).reference(places, *given, **attributes)))
        return data.reshape(-1)[found]

    return read


MOVED = """
    contrib_reverse_reshape dyn.broadcast_to dyn.expand_dims dyn.reshape dyn.squeeze dyn.tile
    layout_transform nn.batch_to_space_nd nn.depth_to_space nn.mirror_pad nn.space_to_depth reshape
    reverse_sequence slice_like sliding_window vision.yolo_reorg
"""


def stft(
    data: torch.Tensor,
    window: torch.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool,
    onesided: bool,
) -> torch.Tensor:
    hop, length = n_fft // 4 if hop_length == -1 else hop_length, len(window)
    found = torch.stft(
        data,
        n_fft,
        hop,
        length,
        window,
        center=False,
        normalized=normalized,
        onesided=onesided,
        return_complex=True,
    )
    return torch.view_as_real(found)


def dft(re_data: torch.Tensor, im_data: torch.Tensor, inverse: bool) -> Any:
    if not re_data.numel():
        return NotImplemented
    numbers = torch.complex(re_data, im_data)
    found = torch.fft.ifft(numbers) if inverse else torch.fft.fft(numbers)
    return found.real, found.imag


def dense_of(parts: Any, columns: int) -> torch.Tensor:
    """The dense matrix of a CSR or BSR matrix."""
    data, indices, indptr = parts
    blocks = data.reshape(*data.shape, *(1,) * (3 - data.ndim))
    height, width = blocks.shape[1:]
    rows = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
    whole = torch.zeros(len(indptr) - 1, columns // width, height, width, dtype=data.dtype)
    whole = whole.index_put((rows, indices.long()), blocks, accumulate=True)
    return whole.transpose(1, 2).reshape(-1, columns)


def sparse_dense(data: torch.Tensor, *parts: torch.Tensor, sparse_lhs: bool) -> torch.Tensor:
    weight = dense_of(parts, data.shape[1])
    return weight @ data.T if sparse_lhs else data @ weight.T


FUNCTIONS = """
    abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log log10 log2 negative round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""

UNARY: dict[str, Function] = {
    **{name: unary(getattr(torch, name)) for name in FUNCTIONS.split()},
    "fast_exp": torch.exp,
    "fast_tanh": torch.tanh,
    "fast_erf": torch.erf,
    "copy": torch.clone,
    "nn.relu": F.relu,
    "determinant": torch.linalg.det,
    "matrix_inverse": torch.linalg.inv,
    "nn.batch_flatten": lambda data: data.reshape(data.shape[0], -1),
    "zeros_like": lambda data: torch.zeros_like(data) * data,
    "ones_like": lambda data: torch.ones_like(data) + 0 * data,
    "rfft": lambda data: (lambda f: (f.real, f.imag))(torch.fft.rfft(data)),
}

BINARY: dict[str, Function] = {
    "add": torch.add,
    "subtract": torch.subtract,
    "multiply": torch.multiply,
    "divide": torch.divide,
    "power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "floor_mod": torch.remainder,
    "mod": torch.fmod,
    "trunc_mod": torch.fmod,
    "nn.cross_entropy": lambda x, y: -(torch.log(x) * y).sum() / len(x),
    "broadcast_to_like": lambda data, like: data.broadcast_to(like.shape),
}

TORCH: dict[str, Function] = {
    **UNARY,
    **{name: binary(function) for name, function in BINARY.items()},
    "where": lambda condition, x, y: torch.where(condition, x, y),
    "clip": lambda data, a_min, a_max: data.clamp(a_min, a_max),
    "sum": reduction(lambda data, axes, keep: data.sum(axes, keepdim=keep)),
    "mean": reduction(lambda data, axes, keep: data.mean(axes, keepdim=keep)),
    "max": reduction(lambda data, axes, keep: data.amax(axes, keepdim=keep)),
    "min": reduction(lambda data, axes, keep: data.amin(axes, keepdim=keep)),
    "prod": reduction(product),
    "variance": variance,
    "cumsum": scan(torch.cumsum, 0),
    "cumprod": scan(torch.cumprod, 1),
    "transpose": lambda data, axes: data.permute(
        [a % data.ndim for a in axes] if axes else list(range(data.ndim))[::-1]
    ),
    "reverse": lambda data, axis: data.flip(list(range(data.ndim)) if axis is None else [axis]),
    "concatenate": lambda data, axis: torch.cat(data, axis),
    "stack": lambda data, axis: torch.stack(data, axis),
    "split": split,
    "expand_dims": lambda data, axis, num_newaxis: data.reshape(
        np.expand_dims(
            np.empty(data.shape),
            tuple(range(axis % (data.ndim + 1), axis % (data.ndim + 1) + num_newaxis)),
        ).shape
    ),
    "squeeze": lambda data, axis: data.squeeze() if axis is None else data.squeeze(tuple(axis)),
    "broadcast_to": lambda data, shape, **_: data.broadcast_to(tuple(shape)),
    "reshape_like": reshape_like,
    "repeat": lambda data, repeats, axis: data.repeat_interleave(repeats, axis),
    "tile": lambda data, reps: data.tile(tuple(reps)),
    "meshgrid": lambda data, indexing: torch.meshgrid(*data, indexing=indexing),
    "strided_slice": strided_slice,
    "take": take,
    "gather": gather,
    "scatter_elements": scatter_elements,
    "nn.pad": pad,
    "trilu": lambda data, k, upper: (torch.triu if upper else torch.tril)(data, int(k)),
    "sort": lambda data, axis, is_ascend, **_: torch.sort(data, axis, not is_ascend).values,
    "topk": topk,
    "einsum": lambda data, equation: torch.einsum(equation, *data),
    "full_like": lambda data, value: torch.zeros_like(data) + value,
    **{name: moved(name) for name in MOVED.split()},
    "full": lambda value, shape, **_: value.expand(tuple(shape)),
    "floor_divide": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc_divide": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "stft": stft,
    "dft": dft,
    "nn.sparse_dense": sparse_dense,
    "nn.sparse_add": lambda data, *parts: data + dense_of(parts, data.shape[1]),
    "nn.dense": lambda data, weight, **_: data @ weight.T,
    "nn.matmul": matmul,
    "nn.batch_matmul": matmul,
    "nn.bias_add": lambda data, bias, axis: (data.movedim(axis, -1) + bias).movedim(-1, axis),
    "nn.batch_norm": batch_norm,
    "nn.batch_norm_training": batch_norm_training,
    "nn.dropout_training": dropout_training,
    "nn.nll_loss": nll_loss,
    "nn.dropout": lambda data, rate: (data * 1, torch.ones_like(data)),
    **{f"nn.conv{n}d": convolution(n) for n in (1, 2, 3)},
    **{f"nn.conv{n}d_transpose": convolution(n, transposed=True) for n in (1, 2, 3)},
    **{f"nn.max_pool{n}d": pool(n, True) for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": pool(n, False) for n in (1, 2, 3)},
    **{f"nn.adaptive_max_pool{n}d": adaptive(n, True) for n in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{n}d": adaptive(n, False) for n in (1, 2, 3)},
    "nn.global_max_pool2d": only_plain(
        {"layout": ("NCHW",), "out_layout": ("", "NCHW")}, lambda data, **_: data.amax((2, 3), True)
    ),
    "nn.global_avg_pool2d": only_plain(
        {"layout": ("NCHW",), "out_layout": ("", "NCHW")}, lambda data, **_: data.mean((2, 3), True)
    ),
}
