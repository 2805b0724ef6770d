"""Padding, dilation, blocks of space, buffers and correlation: PyTorch, and loops over places."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F


def places(shape):
    return itertools.product(*map(range, shape))


def by_source(shape, source):
    """The tensor whose element at a place is `source(place)`."""
    made = np.empty(shape, object)
    for place in places(shape):
        made[place] = source(place)
    return made.astype(np.float64)


def cut(data, pad_width):
    """Data without what negative widths take away, and the widths that are left."""
    for axis, (before, after) in enumerate(pad_width):
        data = np.delete(data, [*range(-min(before, 0)), *range(min(after, 0), 0)], axis)
    return data, [(max(before, 0), max(after, 0)) for before, after in pad_width]


def pad(data, pad_val, pad_width, pad_mode):
    if pad_mode != "constant":
        data, pad_width = cut(data, pad_width)
    shape = [d + sum(pair) for d, pair in zip(data.shape, pad_width, strict=True)]

    def source(place):
        inner = [i - before for i, (before, _) in zip(place, pad_width, strict=True)]
        if pad_mode == "edge":
            inner = [min(max(i, 0), d - 1) for i, d in zip(inner, data.shape, strict=True)]
        elif pad_mode == "reflect":
            inner = [
                abs(i) if i < d else 2 * (d - 1) - i for i, d in zip(inner, data.shape, strict=True)
            ]
        elif pad_mode == "wrap":
            inner = [i % d for i, d in zip(inner, data.shape, strict=True)]
        elif any(not 0 <= i < d for i, d in zip(inner, data.shape, strict=True)):
            return int(pad_val) if data.dtype.kind == "i" else pad_val
        return data[tuple(inner)]

    return by_source(shape, source)


def mirror_pad(data, mode, pad_width):
    repeated = mode == "SYMMETRIC"
    data, pad_width = cut(data, pad_width)
    shape = [d + sum(pair) for d, pair in zip(data.shape, pad_width, strict=True)]

    def source(place):
        inner = []
        for i, d, (before, _) in zip(place, data.shape, pad_width, strict=True):
            i -= before
            if i < 0:
                i = -i - repeated
            elif i >= d:
                i = 2 * (d - 1) + repeated - i
            inner.append(i)
        return data[tuple(inner)]

    return by_source(shape, source)


def dilate(x, strides, dilation_value):
    shape = [max((d - 1) * s + 1, 0) for d, s in zip(x.shape, strides, strict=True)]

    def source(place):
        if any(i % s for i, s in zip(place, strides, strict=True)):
            return int(dilation_value) if x.dtype.kind == "i" else dilation_value
        return x[tuple(i // s for i, s in zip(place, strides, strict=True))]

    return by_source(shape, source)


def space_to_batch_nd(data, block_shape, paddings, pad_value):
    count = len(block_shape)
    batch, *extents = data.shape
    padded = [d + sum(p) for d, p in zip(extents, paddings, strict=False)]
    shape = (
        batch * int(np.prod(block_shape, dtype=int)),
        *(d // b for d, b in zip(padded, block_shape, strict=True)),
        *extents[count:],
    )

    def source(place):
        number, *rest = place
        offsets = np.unravel_index(number // batch, block_shape) if count else ()
        inner = [
            i * b + offset - before
            for i, b, offset, (before, _) in zip(rest, block_shape, offsets, paddings, strict=False)
        ]
        if any(not 0 <= i < d for i, d in zip(inner, extents, strict=False)):
            return pad_value
        return data[(number % batch, *inner, *rest[count:])]

    return by_source(shape, source)


def batch_to_space_nd(data, block_shape, crops):
    count = len(block_shape)
    batch, *extents = data.shape
    fewer = batch // int(np.prod(block_shape, dtype=int))
    shape = (
        fewer,
        *(d * b - sum(c) for d, b, c in zip(extents, block_shape, crops, strict=False)),
        *extents[count:],
    )

    def source(place):
        number, *rest = place
        inner = [i + before for i, (before, _) in zip(rest, crops, strict=False)]
        block = 0
        for i, b in zip(inner, block_shape, strict=True):
            block = block * b + i % b
        places_in = [i // b for i, b in zip(inner, block_shape, strict=True)]
        return data[(block * fewer + number, *places_in, *rest[count:])]

    return by_source(shape, source)


def channels_first(data, layout):
    return torch.from_numpy(np.array(data, np.float64)).permute(*map(layout.index, "NCHW"))


def depth_to_space(data, block_size, layout, mode):
    images = channels_first(data, layout)
    if mode == "DCR":  # PyTorch has the other order: bring the channels in front of the block
        n, c, h, w = images.shape
        fewer = c // block_size**2
        images = images.reshape(n, -1, fewer, h, w).transpose(1, 2).reshape(n, c, h, w)
    return F.pixel_shuffle(images, block_size).permute(*map("NCHW".index, layout))


def space_to_depth(data, block_size, layout, mode):
    images = channels_first(data, layout)
    channels = images.shape[1]
    blocks = F.pixel_unshuffle(images, block_size)
    if mode == "DCR":
        n, c, h, w = blocks.shape
        blocks = blocks.reshape(n, channels, -1, h, w).transpose(1, 2).reshape(n, c, h, w)
    return blocks.permute(*map("NCHW".index, layout))


def fifo_buffer(data, buffer, axis):
    stream = [*np.moveaxis(buffer, axis, 0), *np.moveaxis(data, axis, 0)]
    kept = stream[len(stream) - buffer.shape[axis] :]
    return np.moveaxis(np.array(kept).astype(np.float64), 0, axis)


def correlation(
    data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply, layout
):
    top, left, bottom, right = padding
    one, two = (
        F.pad(channels_first(d, layout), (left, right, top, bottom)).numpy() for d in (data1, data2)
    )
    batch, channels, height, width = one.shape
    radius, reach = kernel_size // 2, max_displacement // stride2
    border = max_displacement + radius
    rows = range(border, height - border, stride1)
    columns = range(border, width - border, stride1)
    shifts = [step * stride2 for step in range(-reach, reach + 1)]
    result = np.zeros((batch, len(shifts) ** 2, len(rows), len(columns)))
    for n, (i, y), (j, x) in itertools.product(range(batch), enumerate(rows), enumerate(columns)):
        for q, (down, across) in enumerate(itertools.product(shifts, shifts)):
            total = 0.0
            for c, dy, dx in itertools.product(
                range(channels), range(-radius, radius + 1), range(-radius, radius + 1)
            ):
                a = one[n, c, y + dy, x + dx]
                b = two[n, c, y + down + dy, x + across + dx]
                total += a * b if is_multiply else abs(a - b)
            result[n, q, i, j] = total / (kernel_size**2 * channels)
    return result.transpose([*map("NCHW".index, layout)])


ORACLES = {
    "nn.pad": pad,
    "nn.mirror_pad": mirror_pad,
    "nn.dilate": dilate,
    "nn.space_to_batch_nd": space_to_batch_nd,
    "nn.batch_to_space_nd": batch_to_space_nd,
    "nn.depth_to_space": depth_to_space,
    "nn.space_to_depth": space_to_depth,
    "nn.fifo_buffer": fifo_buffer,
    "nn.correlation": correlation,
}
