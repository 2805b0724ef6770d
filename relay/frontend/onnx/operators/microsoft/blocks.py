"""Block-quantized weights of 2, 4 or 8 bits, packed into bytes from the lowest bits on."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.frontend.common.indices import from_front
from relay.frontend.common.quantization import stretched
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, Tuple, const

table = Converters("com.microsoft")

WORD = 32  # bits


@table("MatMulNBits")
def mat_mul_n_bits(
    node: Node,
    data: Expr,
    packed: Expr,
    scales: Expr,
    zero_points: Expr | None = None,
    groups: Expr | None = None,
    bias: Expr | None = None,
) -> Expr:
    """Data times a matrix (n, k) with a scale per block of a row."""
    depth, outputs = int(node.required("K")), int(node.required("N"))
    bits, block = int(node.attribute("bits", 4)), int(node.required("block_size"))
    if bits not in (2, 4, 8) or block < 1 or block * bits % 8:
        raise node.refused("there are no such blocks", "2, 4 or 8 bits", f"{bits}, {block}")
    count = -(-depth // block)
    if zero_points is None:
        zero: Expr = node.importer.constant(np.array(1 << (bits - 1), "float32"))
    elif node.dtype(zero_points) == "uint8":
        per_row = -(-count * bits // 8) * 8 // bits
        rows = _unpacked(node, zero_points, bits, (outputs, per_row))
        zero = node.let(op.strided_slice(rows, [0, 0], [outputs, count]))
    else:
        zero = node.let(op.reshape(zero_points, (outputs, count)))
    scale = node.let(op.reshape(scales, (outputs, count)))
    dtype = node.dtype(data)
    if groups is None and block * bits % WORD == 0:
        rest = count * block - depth
        wide = node.as_dtype(data, "float32")
        if rest:
            wide = node.let(op.nn.pad(wide, [*[(0, 0)] * (node.rank(data) - 1), (0, rest)]))
        factor, start = (node.as_dtype(one, "float32") for one in (scale, zero))
        start = op.transpose(start, (1, 0)) if node.rank(start) else start
        words = _words(node, packed, outputs)
        product = op.nn.dense_nbits(wide, words, op.transpose(factor, (1, 0)), start, bits=bits)
        found = node.as_dtype(node.let(product), dtype)
        return found if bias is None else found + bias
    elements = _unpacked(node, packed, bits, (outputs, count * block))
    # in blocks, scales need not be repeated for every element
    parts = (outputs, count, block) if groups is None else (outputs, count * block)
    elements = node.let(op.reshape(elements, parts))
    if groups is not None:
        elements = node.let(op.strided_slice(elements, [0, 0], [outputs, depth]))
    factor, start = (_of_elements(node, one, groups) for one in (scale, zero))
    weight = (op.cast(elements, "float32") - start) * factor
    whole = op.reshape(weight, (outputs, -1))
    rows = op.strided_slice(whole, [0, 0], [outputs, depth])
    found = op.nn.dense(data, node.as_dtype(node.let(rows), dtype), units=outputs)
    return found if bias is None else found + bias


@table("GatherBlockQuantized")
def gather_block_quantized(
    node: Node, data: Expr, indices: Expr, scales: Expr, zero_points: Expr | None = None
) -> Expr:
    """Rows of a block-quantized table, dequantized after they are gathered."""
    rank, bits = node.rank(data), int(node.attribute("bits", 4))
    taken, along = (
        int(node.attribute(name, default)) % max(rank, 1)
        for name, default in (("gather_axis", 0), ("quantize_axis", 1))
    )
    block = int(node.attribute("block_size", 128))
    if taken == along or block < 1 or node.rank(scales) != rank:
        raise node.refused(
            "what is taken must have blocks of its own",
            "blocks along another axis, and a scale for each",
            f"axes {taken} and {along}, block_size = {block}, {node.type_of(scales)}",
        )
    at = from_front(node, indices, data, taken)
    rows, each = (node.let(op.take(one, at, axis=taken)) for one in (data, scales))
    zero = None if zero_points is None else node.let(op.take(zero_points, at, axis=taken))
    is_packed = node.dtype(data) == "uint8" and bits < 8
    if is_packed:
        rows = _unpacked_rows(node, rows, bits)
        zero = None if zero is None else _unpacked_rows(node, zero, bits)
    along += node.rank(indices) - 1 if along > taken else 0
    numbers = node.as_dtype(rows, "float32")
    if zero is not None:
        zero = stretched(node, node.as_dtype(zero, "float32"), rows, along, block)
        numbers = node.let(numbers - zero)
    elif node.dtype(data) == "uint8":
        numbers = node.let(numbers - const(float(1 << bits - 1), "float32"))
    factor = stretched(node, node.as_dtype(each, "float32"), rows, along, block)
    return node.as_dtype(node.let(numbers * factor), node.dtype(scales))


def _unpacked_rows(node: Node, packed: Expr, bits: int) -> Expr:
    """Unpacks the last axis."""
    parts = op.stack(Tuple(tuple(_elements_of_bytes(packed, bits))), node.rank(packed))
    return node.let(op.reshape(parts, (*[0] * (node.rank(packed) - 1), -3)))


def _elements_of_bytes(packed: Expr, bits: int) -> list[Expr]:
    mask = const((1 << bits) - 1, "uint8")
    return [
        op.bitwise_and(op.right_shift(packed, const(place, "uint8")), mask)
        for place in range(0, 8, bits)
    ]


def _words(node: Node, packed: Expr, outputs: int) -> Expr:
    """The bytes of a matrix as words of 32 bits, a row of the matrix in a column."""
    parts = op.cast(op.reshape(packed, (outputs, -1, 4)), "uint32")
    places = const(np.arange(0, WORD, 8, dtype="uint32"))
    return op.transpose(op.sum(op.left_shift(parts, places), axis=2), (1, 0))


def _unpacked(node: Node, packed: Expr, bits: int, shape: tuple[int, int]) -> Expr:
    """Unpacks a matrix to one byte per element."""
    flat = node.let(op.reshape(packed, (shape[0], -1)))
    if bits == 8:
        return node.declare(flat, shape, "uint8")
    whole = node.let(op.stack(Tuple(tuple(_elements_of_bytes(flat, bits))), 2))
    return node.let(op.reshape(whole, shape))


def _of_elements(node: Node, value: Expr, groups: Expr | None) -> Expr:
    """A value per block for its elements; with group indices, for the elements of a row."""
    value = node.as_dtype(value, "float32")
    if node.rank(value) == 0:
        return value
    if groups is not None:
        return node.let(op.take(value, node.as_dtype(groups, "int64"), axis=1))
    return node.let(op.expand_dims(value, 2))
