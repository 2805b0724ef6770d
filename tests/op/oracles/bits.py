"""Bits, one by one, in Python's integers."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F


def bitpack(data, bits, pack_axis, bit_axis, pack_type, name):
    width = np.dtype(pack_type or "uint32").itemsize * 8
    pack_axis %= data.ndim
    bit_axis %= data.ndim + 1
    shape = list(data.shape)
    shape[pack_axis] //= width
    shape.insert(bit_axis, bits)
    result = np.zeros(shape, pack_type or "uint32")
    for index in itertools.product(*map(range, shape)):
        bit, place = index[bit_axis], list(index[:bit_axis] + index[bit_axis + 1 :])
        word = place[pack_axis]
        text = ""
        for element in range(width):
            place[pack_axis] = word * width + element
            text += str(int(data[tuple(place)]) >> bit & 1)
        result[index] = int(text, 2)
    return result


def values(weight, bits, unipolar):
    """What numbers count as."""

    def value(number):
        ones = [int(number) >> bit & 1 for bit in range(bits)]
        signs = [2 * one - 1 for one in ones] if unipolar else ones
        return sum(sign << bit for bit, sign in enumerate(signs))

    return np.vectorize(value, otypes=[np.float64])(weight)


def numbers(packed, axis, bits_last):
    """Packed words as numbers: words along `axis`, bits last or right before it."""
    planes = packed if bits_last else np.moveaxis(packed, axis - 1, -1)
    axis = axis if bits_last else axis - 1
    width = packed.dtype.itemsize * 8
    shape = list(planes.shape[:-1])
    shape[axis] *= width
    result = np.zeros(shape, np.int64)
    for index in np.ndindex(*shape):
        place = list(index)
        place[axis] //= width
        for bit in range(planes.shape[-1]):
            text = format(int(planes[(*place, bit)]), f"0{width}b")
            result[index] |= int(text[index[axis] % width]) << bit
    return result


def bitserial_conv2d(
    data,
    weight,
    strides,
    padding,
    activation_bits,
    weight_bits,
    data_layout,
    kernel_layout,
    unipolar,
    **_,
):
    if weight.ndim == 5:
        weight = numbers(weight, kernel_layout.index("I"), bits_last=True)
    x = np.transpose(data, [data_layout.index(letter) for letter in "NCHW"])
    w = np.transpose(weight, [kernel_layout.index(letter) for letter in "OIHW"])
    x = torch.from_numpy(values(x, activation_bits, False))
    w = torch.from_numpy(values(w, weight_bits, unipolar))
    top, left, bottom, right = padding
    result = F.conv2d(F.pad(x, (left, right, top, bottom)), w, stride=strides).numpy()
    return np.transpose(result, ["NCHW".index(letter) for letter in data_layout])


def bitserial_dense(data, weight, data_bits, weight_bits, unipolar, **_):
    if weight.ndim == 3:
        weight = numbers(weight, 2, bits_last=False)
    left, right = values(data, data_bits, False), values(weight, weight_bits, unipolar)
    return np.einsum("...k,uk->...u", left, right)


ORACLES = {
    "nn.bitpack": bitpack,
    "nn.bitserial_conv2d": bitserial_conv2d,
    "nn.bitserial_dense": bitserial_dense,
}
