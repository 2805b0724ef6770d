"""Dense layers, embeddings, masks, and layers that are the identity at inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from relay import op
from relay.frontend.common.products import of_equation
from relay.frontend.keras.activations import activated
from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, kernel_bias
from relay.ir.expr import Expr, Tuple
from relay.op.linalg.einsum import REST, parse_equation

table = Table()


@table(
    "Identity",
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "GaussianDropout",
    "GaussianNoise",
    "AlphaDropout",
    "ActivityRegularization",
    keeps_mask=True,
)
def identity(node: Node, inputs: Any, **_: Any) -> Any:
    return inputs


@table("Dense", variables=kernel_bias, keeps_mask=True)
def dense(node: Node, inputs: Expr) -> Expr:
    kernel, bias = node.needed("kernel"), node.weight("bias")
    return activated(node, biased(node, product(node, inputs, kernel), bias))


def product(node: Node, data: Expr, kernel: Expr) -> Expr:
    """The products of the last axis of data with a kernel (inputs, outputs)."""
    rank = node.rank(data)
    if rank == 0 or node.rank(kernel) != 2:
        types = f"{node.type_of(data)} and {node.type_of(kernel)}"
        raise node.refused("data and kernel do not fit", found=types)
    if rank == 1:
        data = node.let(op.expand_dims(data, 0))
    flat = data if rank <= 2 else node.let(_rows(node, data))
    found = node.let(op.nn.matmul(flat, kernel))
    if rank == 1:
        return node.let(op.squeeze(found, (0,)))
    if rank == 2:
        return found
    units = node.static_extent(kernel, 1, "the units of the layer")
    return node.let(as_before(node, found, data, (units,)))


def _rows(node: Node, data: Expr) -> Expr:
    """Data as a matrix: all axes but the last one flattened."""
    for _ in range(node.rank(data) - 2):
        data = node.let(op.reshape(data, (-3, *[0] * (node.rank(data) - 2))))
    return data


def as_before(node: Node, rows: Expr, data: Expr, last: Sequence[int]) -> Expr:
    """The rows of a matrix with the leading axes of data: the reverse of `_rows`."""
    shape = node.shape(data)[:-1]
    codes = [one if isinstance(one, int) else -1 for one in shape]
    if codes.count(-1) <= 1 and 0 not in codes:
        return op.reshape(rows, (*codes, *last))
    rest = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": len(shape)}
    return op.reshape_like(rows, data, **rest)


def biased(node: Node, data: Expr, bias: Expr | None, axis: int = -1) -> Expr:
    """Data with a bias along an axis."""
    if bias is None:
        return data
    return node.let(op.nn.bias_add(node.let(data), bias, axis=axis))


@table("EinsumDense", variables=lambda config: _einsum_slots(config))
def einsum_dense(node: Node, inputs: Expr) -> Expr:
    kernel, bias = node.needed("kernel"), node.weight("bias")
    found = contracted(node, str(node.option("equation", "")), inputs, kernel)
    return activated(node, found if bias is None else node.let(found + bias))


def _einsum_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    return (Slot("kernel"), Slot("bias")) if config.get("bias_axes") else (Slot("kernel"),)


def contracted(node: Node, equation: str, data: Expr, kernel: Expr) -> Expr:
    """The sums of products of data and a kernel that an equation describes; as one matrix product
    where the last axes of data are the first of the kernel."""
    text = equation.replace(" ", "")
    parsed = parse_equation(text)
    if parsed is None or len(parsed.operands) != 2:
        raise node.refused("there is no such equation for it", found=equation[:60])
    left, right = parsed.operands
    shared = [name for name in right if name in left]
    count = len(shared)
    split = len(left) - count
    whole = (*left[:split], *right[count:])
    fits = [*left[split:]] == shared == [*right[:count]] and parsed.result == whole
    if not fits or not count or REST in right or split < 1:
        operands = of_equation(node, parsed, [data, kernel])
        return node.let(op.einsum(Tuple(operands), equation=text))
    if node.rank(kernel) != len(right):
        raise node.refused("the kernel does not fit", equation[:60], str(node.type_of(kernel)))
    shape = node.static_shape(kernel, "the kernel")
    flat = data
    for _ in range(count - 1):
        flat = node.let(op.reshape(flat, (*[0] * (node.rank(flat) - 2), -3)))
    found = product(node, flat, node.let(op.reshape(kernel, (prod(shape[:count]), -1))))
    if len(shape) == count + 1:
        return found
    return node.let(as_before(node, found, flat, shape[count:]))


@table("Embedding", variables=lambda config: (Slot("embeddings"),))
def embedding(node: Node, inputs: Expr) -> Expr:
    table_of = node.needed("embeddings")
    places = node.as_dtype(inputs, "int32")
    found = node.let(op.take(table_of, places, axis=0, mode="clip"))
    if not node.option("mask_zero", False):
        return node.with_mask(found, None)
    return node.with_mask(found, node.let(op.not_equal(places, node.number(0, places))))


@table("ReversibleEmbedding", variables=lambda config: _reversible_slots(config))
def reversible_embedding(node: Node, inputs: Expr, reverse: bool = False) -> Expr:
    """An embedding, or its transpose: scores of all entries."""
    if not reverse:
        return embedding(node, inputs)
    kernel = node.weight("reverse_embeddings")
    if kernel is None:
        kernel = node.let(op.transpose(node.needed("embeddings"), (1, 0)))
    scores = product(node, inputs, kernel)
    cap = node.config.get("logit_soft_cap")
    if cap is not None:
        limit = node.number(float(cap), scores)
        scores = node.let(op.tanh(scores / limit) * limit)
    return node.with_mask(scores, None)


def _reversible_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    own = Slot("embeddings")
    return (own,) if config.get("tie_weights", True) else (own, Slot("reverse_embeddings"))


@table("Masking")
def masking(node: Node, inputs: Expr) -> Expr:
    """Masking: steps whose elements all equal `mask_value` are masked and set to 0."""
    value = node.number(node.option("mask_value", 0.0), inputs)
    differs = node.let(op.not_equal(inputs, value))
    counts = node.let(op.any(differs, axis=(-1,)))
    kept = op.cast(node.let(op.expand_dims(counts, -1)), node.dtype(inputs))
    return node.with_mask(node.let(inputs * kept), counts)


@table("Activation", keeps_mask=True)
def activation(node: Node, inputs: Expr) -> Expr:
    return activated(node, inputs)
