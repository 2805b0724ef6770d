"""Pools, window by window in float64; those that PyTorch knows also by PyTorch."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

LARGEST = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
ADAPTIVE = {
    ("max", 1): F.adaptive_max_pool1d,
    ("max", 2): F.adaptive_max_pool2d,
    ("max", 3): F.adaptive_max_pool3d,
    ("avg", 1): F.adaptive_avg_pool1d,
    ("avg", 2): F.adaptive_avg_pool2d,
    ("avg", 3): F.adaptive_avg_pool3d,
}


def whole_axes(data, layout):
    """(n, c, x…) in float64; a block of channels is joined to them."""
    axes = "NC" + "".join(letter for letter in "DHW" if letter in layout)
    capitals = [letter for letter in layout if letter.isupper()]
    if layout[-1] == "c":
        data = np.moveaxis(data, -1, capitals.index("C") + 1)
        at = capitals.index("C")
        data = data.reshape(*data.shape[:at], -1, *data.shape[at + 2 :])
    return np.transpose(data, [capitals.index(letter) for letter in axes]).astype(np.float64)


def laid_out(result, layout):
    axes = "NC" + "".join(letter for letter in "DHW" if letter in layout)
    capitals = [letter for letter in layout if letter.isupper()]
    result = np.transpose(result, [axes.index(letter) for letter in capitals])
    if layout[-1] == "c":
        block, at = int(layout[len(capitals) : -1]), capitals.index("C")
        result = result.reshape(*result.shape[:at], -1, block, *result.shape[at + 1 :])
        result = np.moveaxis(result, at + 1, -1)
    return result


def window(extents, place, pool_size, strides, dilation, padding):
    """The indices of a window on each axis, before padding is taken off."""
    return [
        [place[i] * strides[i] + k * dilation[i] - padding[i] for k in range(pool_size[i])]
        for i in range(len(extents))
    ]


def positions(extents, pool_size, strides, dilation, padding, ceil_mode):
    count = len(extents)
    found = []
    for i in range(count):
        covered = (pool_size[i] - 1) * dilation[i] + 1
        room = (extents[i] + padding[i] + padding[count + i] - covered) / strides[i]
        found.append(int(np.ceil(room) if ceil_mode else np.floor(room)) + 1)
    return found


def elements(extents, place, pool_size, strides, dilation, padding, count_include_pad):
    """The elements of a window that lie in data, and how many count."""
    count = len(extents)
    indices = window(extents, place, pool_size, strides, dilation, padding)
    inside = [
        index
        for index in itertools.product(*indices)
        if all(0 <= j < e for j, e in zip(index, extents, strict=True))
    ]
    counted = len(inside)
    if count_include_pad:
        counted = sum(
            all(j < extents[i] + padding[count + i] for i, j in enumerate(index))
            for index in itertools.product(*indices)
        )
    return inside, counted


def pool(kind):
    def oracle(
        data,
        pool_size,
        strides,
        dilation,
        padding,
        layout,
        out_layout,
        ceil_mode,
        count_include_pad=False,
    ):
        x = whole_axes(data, layout)
        extents = x.shape[2:]
        steps = (pool_size, strides, dilation, padding)
        result = np.zeros((*x.shape[:2], *positions(extents, *steps, ceil_mode)))
        for place in np.ndindex(*result.shape[2:]):
            inside, counted = elements(extents, place, *steps, count_include_pad)
            if not inside:
                result[(..., *place)] = -np.inf if kind == "max" else 0
                continue
            found = np.stack([x[(..., *index)] for index in inside], -1)
            result[(..., *place)] = found.max(-1) if kind == "max" else found.sum(-1) / counted
        if kind == "max" and not ceil_mode and padding[: len(extents)] == padding[len(extents) :]:
            known = LARGEST[len(extents)](
                torch.from_numpy(x), pool_size, strides, padding[: len(extents)], dilation
            )
            np.testing.assert_array_equal(known.numpy(), result)
        if data.dtype.kind in "iu":
            result = np.trunc(result)
        return laid_out(result, out_layout or layout)

    return oracle


def places(data, pool_size, strides, dilation, padding, layout, out_layout, ceil_mode):
    """Where the first greatest element of each window stands in its channel."""
    x = whole_axes(data, layout)
    extents = x.shape[2:]
    steps = (pool_size, strides, dilation, padding)
    result = np.full((*x.shape[:2], *positions(extents, *steps, ceil_mode)), -1)
    for place in np.ndindex(*result.shape[2:]):
        inside, _ = elements(extents, place, *steps, False)
        if inside:
            found = np.stack([x[(..., *index)] for index in inside], -1).argmax(-1)
            numbers = [np.ravel_multi_index(index, extents) for index in inside]
            result[(..., *place)] = np.take(numbers, found)
    return laid_out(result, out_layout or layout)


def adaptive(kind):
    def oracle(data, layout, out_layout, output_size=(1, 1)):
        x = torch.from_numpy(whole_axes(data, layout))
        result = ADAPTIVE[kind, x.ndim - 2](x, output_size or x.shape[2:]).numpy()
        if data.dtype.kind in "iu":
            result = np.trunc(result)
        return laid_out(result, out_layout or layout)

    return oracle


def gradient(kind):
    def oracle(
        out_grad,
        data,
        pool_size,
        strides,
        dilation,
        padding,
        layout,
        out_layout,
        ceil_mode,
        count_include_pad=False,
    ):
        x, grad = whole_axes(data, layout), whole_axes(out_grad, out_layout or layout)
        result = np.zeros_like(x)
        for place in np.ndindex(*grad.shape[2:]):
            inside, counted = elements(
                x.shape[2:], place, pool_size, strides, dilation, padding, count_include_pad
            )
            for n, c in np.ndindex(*x.shape[:2]):
                amount = grad[(n, c, *place)]
                if kind == "max":
                    result[(n, c, *max(inside, key=lambda at, n=n, c=c: x[(n, c, *at)]))] += amount
                else:
                    for at in inside:
                        result[(n, c, *at)] += amount / counted
        return laid_out(result, layout)

    return oracle


ORACLES = {
    **{f"nn.{kind}_pool{n}d": pool(kind) for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"nn.max_pool{n}d_positions": places for n in (1, 2, 3)},
    **{f"nn.adaptive_{kind}_pool{n}d": adaptive(kind) for kind, n in ADAPTIVE},
    **{f"nn.global_{kind}_pool2d": adaptive(kind) for kind in ("max", "avg")},
    **{f"nn.{kind}_pool2d_grad": gradient(kind) for kind in ("max", "avg")},
}
