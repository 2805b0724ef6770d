"""Matrix products in float64; bits and blocks one by one."""

import numpy as np


def exact(array):
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def transposed(array, flag):
    return np.swapaxes(array, -1, -2) if flag else array


def dense(data, weight, **_):
    return np.einsum("...k,uk->...u", exact(data), exact(weight))


def matmul(a, b, transpose_a, transpose_b, **_):
    left, right = transposed(exact(a), transpose_a), transposed(exact(b), transpose_b)
    return np.einsum("...mk,...kn->...mn", left, right)


def dense_pack(data, weight, weight_layout, **_):
    """The weight put together from its elements."""
    parts, number = [], ""
    for character in weight_layout:
        if character.isdigit():
            number += character
        else:
            parts.append((character, int(number or 0)))
            number = ""
    elements = {}
    for index in np.ndindex(weight.shape):
        place = {"N": 0, "C": 0}
        for letter in "NC":
            outer = [i for i, (name, _) in zip(index, parts, strict=True) if name == letter]
            inner = [
                (i, size)
                for i, (name, size) in zip(index, parts, strict=True)
                if name == letter.lower()
            ]
            place[letter] = outer[0]
            for i, size in inner:
                place[letter] = place[letter] * size + i
        elements[place["N"], place["C"]] = weight[index]
    rows, columns = (max(key[i] for key in elements) + 1 for i in (0, 1))
    whole = np.array([[elements[r, c] for c in range(columns)] for r in range(rows)])
    return dense(data, whole)


def dense_nbits(data, weight, scale, zero_point, bits):
    """The elements from single bits, as NumPy unpacks bytes."""
    columns = np.ascontiguousarray(weight.T).astype("<u4").view(np.uint8)
    each = np.unpackbits(columns, axis=1, bitorder="little").reshape(weight.shape[1], -1, bits)
    elements = each.astype(np.float64) @ (2.0 ** np.arange(bits))
    groups, units = scale.shape
    parts = (
        elements.reshape(units, groups, -1) - np.broadcast_to(zero_point, scale.shape).T[..., None]
    )
    return dense(data, (parts * exact(scale).T[..., None]).reshape(units, -1))


ORACLES = {
    "nn.dense_nbits": dense_nbits,
    "nn.dense": dense,
    "nn.matmul": matmul,
    "nn.batch_matmul": matmul,
    "nn.contrib_dense_pack": dense_pack,
}
