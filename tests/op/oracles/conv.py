"""Convolutions by PyTorch in float64; layouts element by element."""

import numpy as np
import torch
import torch.nn.functional as F

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def parts_of(layout):
    """[(letter, size of block or None)]"""
    parts, number = [], ""
    for character in layout:
        if character.isdigit():
            number += character
        else:
            parts.append((character, int(number) if number else None))
            number = ""
    return parts


def whole_index(index, parts, letters):
    """Where an element of a blocked array stands in one of whole axes."""
    found = dict.fromkeys(letters, 0)
    for place, (letter, size) in zip(index, parts, strict=True):
        if size is None:
            found[letter] += place * np.prod([s for name, s in parts if name == letter.lower()])
    seen = {letter: [] for letter in letters}
    for place, (letter, size) in zip(index, parts, strict=True):
        if size is not None:
            seen[letter.upper()].append((place, size))
    for letter, pairs in seen.items():
        within = 0
        for place, size in pairs:
            within = within * size + place
        found[letter] += within
    return tuple(int(found[letter]) for letter in letters)


def whole(array, layout, letters):
    """`array` with the axes `letters`, in float64."""
    parts = parts_of(layout)
    shape = dict.fromkeys(letters, 1)
    for (letter, _), extent in zip(parts, array.shape, strict=True):
        shape[letter.upper()] *= extent
    result = np.zeros([shape[letter] for letter in letters])
    for index in np.ndindex(array.shape):
        result[whole_index(index, parts, letters)] = array[index]
    return torch.from_numpy(result)


def laid_out(tensor, letters, layout):
    """A tensor with the axes `letters` as an array of a layout."""
    parts = parts_of(layout)
    shape = []
    for letter, size in parts:
        blocks = [s for name, s in parts if name == letter.lower()]
        extent = tensor.shape[letters.index(letter.upper())]
        shape.append(int(size or extent // np.prod(blocks)))
    result = np.zeros(shape)
    for index in np.ndindex(*shape):
        result[index] = tensor[whole_index(index, parts, letters)]
    return result


def spatial(layout):
    return "".join(letter for letter in "DHW" if letter in layout)


def padded(x, padding):
    count = len(padding) // 2
    pairs = [(padding[i], padding[count + i]) for i in range(count)]
    return F.pad(x, [value for pair in reversed(pairs) for value in pair])


def convolution(
    data,
    weight,
    strides,
    padding,
    dilation,
    groups,
    data_layout,
    kernel_layout,
    out_layout,
    **_,
):
    axes = spatial(data_layout)
    x, w = whole(data, data_layout, "NC" + axes), whole(weight, kernel_layout, "OI" + axes)
    if groups > 1 and w.shape[0] == x.shape[1] == groups:
        w = w.reshape(-1, 1, *w.shape[2:])
    conv = CONV[len(axes)]
    result = conv(padded(x, padding), w, None, strides, 0, dilation, groups)
    return laid_out(result, "NC" + axes, out_layout or data_layout)


def transposed(
    data,
    weight,
    strides,
    padding,
    dilation,
    groups,
    data_layout,
    kernel_layout,
    out_layout,
    output_padding,
    **_,
):
    axes = spatial(data_layout)
    count = len(axes)
    x, w = whole(data, data_layout, "NC" + axes), whole(weight, kernel_layout, "IO" + axes)
    conv = CONV_TRANSPOSE[count]
    before, after = padding[:count], padding[count:]
    if before == after:
        result = conv(x, w, None, strides, before, output_padding, groups, dilation)
    else:
        full = conv(x, w, None, strides, 0, output_padding, groups, dilation)
        cut = [slice(b, full.shape[2 + i] - after[i]) for i, b in enumerate(before)]
        result = full[(..., *cut)]
    return laid_out(result, "NC" + axes, out_layout or data_layout)


def backward_weight(
    grad,
    data,
    strides,
    padding,
    dilation,
    groups,
    kernel_size,
    data_layout,
    kernel_layout,
    out_layout,
    **_,
):
    x, g = whole(data, data_layout, "NCHW"), whole(grad, out_layout or data_layout, "NCHW")
    weight = torch.zeros(g.shape[1], x.shape[1] // groups, *kernel_size, dtype=x.dtype)
    weight.requires_grad_()
    result = F.conv2d(padded(x, padding), weight, None, strides, 0, dilation, groups)
    (found,) = torch.autograd.grad(result, weight, g)
    return laid_out(found, "OIHW", kernel_layout)


def bilinear(image, y, x):
    """An element between the elements of an image in a sea of zeros."""
    total = 0.0
    for row in (int(np.floor(y)), int(np.floor(y)) + 1):
        for column in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += (1 - abs(y - row)) * (1 - abs(x - column)) * float(image[row, column])
    return total


def deformable(
    data,
    offset,
    weight,
    share=None,
    *,
    strides,
    padding,
    dilation,
    deformable_groups,
    groups,
    data_layout,
    kernel_layout,
    out_layout,
    **_,
):
    x, w = whole(data, data_layout, "NCHW"), whole(weight, kernel_layout, "OIHW")
    moves = whole(offset, data_layout, "NCHW")
    shares = None if share is None else whole(share, data_layout, "NCHW")
    batch, channels = x.shape[:2]
    outputs, each, height, width = w.shape
    result = torch.zeros(batch, outputs, *moves.shape[2:], dtype=torch.float64)
    for n, o, i, j in np.ndindex(*result.shape):
        group = o // (outputs // groups)
        for c, a, b in np.ndindex(each, height, width):
            channel = group * each + c
            part = channel // (channels // deformable_groups)
            element = part * height * width + a * width + b
            at = 2 * element
            y = i * strides[0] - padding[0] + a * dilation[0] + float(moves[n, at, i, j])
            z = j * strides[1] - padding[1] + b * dilation[1] + float(moves[n, at + 1, i, j])
            counted = 1 if shares is None else shares[n, element, i, j]
            result[n, o, i, j] += w[o, c, a, b] * bilinear(x[n, channel], y, z) * counted
    return laid_out(result, "NCHW", out_layout or data_layout)


# The points of Winograd's algorithm, by how many there are; one more is at infinity.
POINTS = [0, 1, -1, 1 / 2, -2, -1 / 2, 2, -1 / 4, 4, 1 / 4, -4]


def winograd_matrix(tile, size):
    """Values of a polynomial of `size` coefficients at the points, scaled."""
    points = POINTS[: tile + size - 2]
    rows = []
    for point in points:
        scale = abs(np.prod([point - other for other in points if other != point]))
        rows.append([np.polyval(row[::-1], point) / scale for row in np.eye(size)])
    return np.array([*rows, np.eye(size)[-1]])


def transformed_axes(sizes):
    return [i for i in range(len(sizes)) if len(sizes) == 2 or i > 0 or 3 <= sizes[0] <= 7]


def winograd_transform(weight, tile_size):
    sizes = weight.shape[2:]
    result = np.asarray(weight, np.float64)
    for axis in transformed_axes(sizes):
        matrix = winograd_matrix(tile_size, sizes[axis])
        result = np.apply_along_axis(lambda line, m=matrix: m @ line, 2 + axis, result)
    return np.transpose(result, (*range(2, weight.ndim), 0, 1))


def nnpack_transform(weight, **_):
    return np.transpose(winograd_transform(weight, 6), (2, 3, 0, 1))


def winograd(data, weight, tile_size, kernel_size, kernel_layout, **known):
    """The weight that the transform maps to the one given, by least squares."""
    result = np.asarray(weight, np.float64)
    for axis in transformed_axes(kernel_size):
        matrix = winograd_matrix(tile_size, kernel_size[axis])
        result = np.apply_along_axis(
            lambda line, m=matrix: np.linalg.lstsq(m, line)[0], axis, result
        )
    letters = "DHW"[3 - len(kernel_size) :] + "OI"
    return convolution(data, result, kernel_layout=letters, **known)


def gemm_transform(weights, tile_N, tile_K):
    height, width, inputs, outputs = weights.shape
    depth = height * width * inputs
    result = np.zeros((-(-outputs // tile_N), -(-depth // tile_K), tile_N, tile_K))
    for h, w, i, o in np.ndindex(weights.shape):
        k = (h * width + w) * inputs + i
        result[o // tile_N, k // tile_K, o % tile_N, k % tile_K] = weights[h, w, i, o]
    return result


def gemm(data, weight, channels, kernel_size, groups, data_layout, kernel_layout, **known):
    inputs = data.shape[data_layout.index("C")] // groups
    whole_weight = np.zeros((*kernel_size, inputs, channels))
    for h, w, i, o in np.ndindex(whole_weight.shape):
        k = (h * kernel_size[1] + w) * inputs + i
        tile_n, tile_k = weight.shape[2:]
        whole_weight[h, w, i, o] = weight[o // tile_n, k // tile_k, o % tile_n, k % tile_k]
    return convolution(
        data,
        whole_weight,
        groups=groups,
        data_layout=data_layout,
        kernel_layout="HWIO",
        **known,
    )


ORACLES = {
    "nn.conv1d": convolution,
    "nn.conv2d": convolution,
    "nn.conv3d": convolution,
    "nn.contrib_conv2d_NCHWc": convolution,
    "nn.contrib_depthwise_conv2d_NCHWc": convolution,
    "nn.conv1d_transpose": transposed,
    "nn.conv2d_transpose": transposed,
    "nn.conv3d_transpose": transposed,
    "nn.conv2d_backward_weight": backward_weight,
    "nn.deformable_conv2d": deformable,
    "nn.modulated_deformable_conv2d": deformable,
    "nn.contrib_conv2d_winograd_weight_transform": winograd_transform,
    "nn.contrib_conv3d_winograd_weight_transform": winograd_transform,
    "nn.contrib_conv2d_winograd_nnpack_weight_transform": nnpack_transform,
    "nn.contrib_conv2d_winograd_without_weight_transform": winograd,
    "nn.contrib_conv3d_winograd_without_weight_transform": winograd,
    "nn.contrib_conv2d_gemm_weight_transform": gemm_transform,
    "nn.contrib_conv2d_gemm_without_weight_transform": gemm,
}
