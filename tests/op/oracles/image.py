"""Images: ONNX's definition of Resize as a loop over elements, PyTorch's grids, and plain loops."""

import itertools
import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def transposed(array, source, target):
    return np.asarray(array).transpose([source.index(letter) for letter in target])


def spatial_of(layout):
    return "".join(letter for letter in layout if letter in "DHW")


# --- Resize, as ONNX defines it ----------------------------------------------------------------


def original(x, length, resized, mode, start, end):
    """The coordinate in the original tensor that belongs to coordinate x of the resized one."""
    scale = resized / length
    if mode == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if resized > 1 else 0.0
    if mode == "align_corners":
        return 0.0 if resized == 1 else x * (length - 1) / (resized - 1)
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    assert mode == "tf_crop_and_resize"
    if resized == 1:
        return 0.5 * (start + end) * (length - 1)
    return start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1)


def nearest(x, rounding, mode):
    if rounding == "":
        rounding = "round" if mode == "align_corners" else "floor"
    near = round(x * 2**40) / 2**40  # what arithmetic left of a half or a whole number
    floor = math.floor(near)
    if rounding == "floor":
        return floor
    if rounding == "ceil":
        return math.ceil(near)
    if near - floor == 0.5:
        return floor if rounding == "round_prefer_floor" else floor + 1
    return floor + (near - floor > 0.5)


def cubic(distance, alpha):
    d = abs(distance)
    if d <= 1:
        return (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1
    return alpha * d**3 - 5 * alpha * d**2 + 8 * alpha * d - 4 * alpha if d < 2 else 0.0


def neighbors(x, length, method, rounding, mode, alpha, exclude):
    """(element, weight) for each element that is read at coordinate x."""
    if method == "nearest_neighbor":
        found = [(nearest(x, rounding, mode), 1.0)]
    elif method == "linear":
        low = math.floor(x)
        found = [(low, 1 - (x - low)), (low + 1, x - low)]
    else:
        low = math.floor(x)
        found = [(i, cubic(x - i, alpha)) for i in range(low - 1, low + 3)]
        if exclude:
            found = [(i, w) for i, w in found if 0 <= i < length]
            total = sum(w for _, w in found)
            found = [(i, w / total) for i, w in found]
    return [(min(max(i, 0), length - 1), w) for i, w in found]


def converted(value, dtype):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return min(max(round(value), info.min), info.max)
    return value


def resize(
    data,
    size,
    roi,
    layout,
    method,
    coordinate_transformation_mode,
    rounding_method,
    cubic_alpha,
    cubic_exclude,
    extrapolation_value,
    out_dtype,
):
    mode = coordinate_transformation_mode
    if layout == "NCHW3c":
        whole = data.transpose(0, 1, 4, 2, 3).reshape(data.shape[0], -1, *data.shape[2:4])
    else:
        whole = transposed(data, layout, "NC" + spatial_of(layout))
    images = whole.astype(np.float64)
    extents, count = images.shape[2:], len(size)
    bounds = [(roi[i], roi[count + i]) if roi else (0, 1) for i in range(count)]
    dtype = np.dtype(out_dtype) if out_dtype else data.dtype
    result = np.zeros((*images.shape[:2], *size))
    for place in itertools.product(*map(range, size)):
        at = [
            original(x, length, new, mode, *bound)
            for x, length, new, bound in zip(place, extents, size, bounds, strict=True)
        ]
        beyond = any(not 0 <= x <= length - 1 for x, length in zip(at, extents, strict=True))
        taps = [
            neighbors(x, d, method, rounding_method, mode, cubic_alpha, cubic_exclude)
            for x, d in zip(at, extents, strict=True)
        ]
        for n, c in np.ndindex(images.shape[:2]):
            value = 0.0
            for chosen in itertools.product(*taps):
                weight = math.prod(w for _, w in chosen)
                value += weight * images[(n, c, *(i for i, _ in chosen))]
            if mode == "tf_crop_and_resize" and beyond:
                value = (
                    math.trunc(extrapolation_value) if dtype.kind in "iu" else extrapolation_value
                )
            result[(n, c, *place)] = converted(value, dtype)
    if layout == "NCHW3c":
        n, c, h, w = result.shape
        return result.reshape(n, c // 3, 3, h, w).transpose(0, 1, 3, 4, 2)
    return transposed(result, "NC" + spatial_of(layout), layout)


def upsampling(data, scale_h, scale_w, layout, method, align_corners):
    size = [
        math.floor(data.shape[layout.index(a)] * s + 0.5)
        for a, s in (("H", scale_h), ("W", scale_w))
    ]
    images = wide(data).permute(*map(layout.index, "NCHW"))
    if method == "nearest_neighbor" and not align_corners:
        large = F.interpolate(images, size, mode="nearest")
    elif method == "bilinear" and align_corners:
        large = F.interpolate(images, size, mode="bilinear", align_corners=True)
    else:
        mode = "align_corners" if align_corners else "asymmetric"
        name = {"bilinear": "linear", "bicubic": "cubic"}.get(method, method)
        return resize(data, size, None, layout, name, mode, "", -0.5, False, 0.0, None)
    return large.permute(*map("NCHW".index, layout))


def upsampling3d(data, scale_d, scale_h, scale_w, layout, method, coordinate_transformation_mode):
    factors = {"D": scale_d, "H": scale_h, "W": scale_w}
    size = [math.floor(data.shape[layout.index(a)] * s + 0.5) for a, s in factors.items()]
    volumes = wide(data).permute(*map(layout.index, "NCDHW"))
    mode = coordinate_transformation_mode
    if method == "trilinear" and mode != "asymmetric":
        large = F.interpolate(
            volumes, size, mode="trilinear", align_corners=mode == "align_corners"
        )
    else:
        name = "linear" if method == "trilinear" else method
        return resize(data, size, None, layout, name, mode, "", -0.5, False, 0.0, None)
    return large.permute(*map("NCDHW".index, layout))


# --- boxes and grids ---------------------------------------------------------------------------


def crop_and_resize(
    data, boxes, box_indices, crop_size, layout, method, extrapolation_value, out_dtype
):
    """Each box by the definition of tf_crop_and_resize."""
    name = "linear" if method == "bilinear" else method
    crops = []
    for box, index in zip(boxes, box_indices, strict=True):
        image = data[[min(max(index, 0), data.shape[layout.index("N")] - 1)]]
        crops.append(
            resize(
                image,
                crop_size,
                tuple(map(float, box)),
                layout,
                name,
                "tf_crop_and_resize",
                "round",
                -0.5,
                False,
                extrapolation_value,
                out_dtype,
            )
        )
    return np.concatenate(crops)


def affine_grid(data, target_shape):
    with warnings.catch_warnings():  # a word about grids of one row
        warnings.simplefilter("ignore")
        grid = F.affine_grid(wide(data), (len(data), 1, *target_shape), align_corners=True)
    return grid.movedim(-1, 1)


def grid_sample(data, grid, method, layout, padding_mode, align_corners):
    letters = "NC" + spatial_of(layout)
    images, places = wide(data).permute(*map(layout.index, letters)), wide(grid).movedim(1, -1)
    how = {"mode": method, "padding_mode": padding_mode, "align_corners": align_corners}
    if method == "bicubic" and len(letters) == 5:
        sampled = tricubic(images, places, how)
    else:
        sampled = F.grid_sample(images, places, **how)
    return sampled.permute(*map(letters.index, layout))


def tricubic(volumes, places, how):
    """All planes of a volume at x and y, then the line of what they give at z."""
    n, c, depth, height, width = volumes.shape
    flat = places.reshape(n, -1, 1, 3)
    planes = volumes.transpose(1, 2).reshape(n * depth, c, height, width)
    inside = F.grid_sample(planes, flat[..., :2].repeat_interleave(depth, 0), **how)
    lines = inside.reshape(n, depth, c, -1).permute(0, 3, 2, 1).reshape(-1, c, depth, 1)
    along = flat[..., 2].reshape(-1, 1, 1)
    found = F.grid_sample(lines, torch.stack((torch.zeros_like(along), along), -1), **how)
    return found.reshape(n, -1, c).transpose(1, 2).reshape(n, c, *places.shape[1:-1])


def dilation2d(data, weight, strides, padding, dilations, data_layout, kernel_layout, out_dtype):
    dtype = np.dtype(out_dtype) if out_dtype else data.dtype
    number = np.int64 if dtype.kind == "i" else np.float64
    images = transposed(data, data_layout, "NCHW").astype(number)
    kernel = transposed(weight, kernel_layout, "IHW").astype(number)
    n, c, height, width = images.shape
    _, kh, kw = kernel.shape
    top, left, bottom, right = padding
    rows = (height + top + bottom - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (width + left + right - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    result = np.zeros((n, c, rows, columns), number)
    for place in np.ndindex(result.shape):
        image, channel, i, j = place
        found = []
        for di, dj in np.ndindex(kh, kw):
            y = i * strides[0] + di * dilations[0] - top
            x = j * strides[1] + dj * dilations[1] - left
            if 0 <= y < height and 0 <= x < width:
                total = images[image, channel, y, x] + kernel[channel, di, dj]
                if dtype.kind == "i":
                    bits = 8 * dtype.itemsize
                    total = (int(total) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
                found.append(total)
        result[place] = max(found, default=-math.inf)
    return transposed(result, "NCHW", data_layout)


ORACLES = {
    "image.resize1d": resize,
    "image.resize2d": resize,
    "image.resize3d": resize,
    "image.crop_and_resize": crop_and_resize,
    "image.affine_grid": affine_grid,
    "image.grid_sample": grid_sample,
    "image.dilation2d": dilation2d,
    "nn.upsampling": upsampling,
    "nn.upsampling3d": upsampling3d,
}
