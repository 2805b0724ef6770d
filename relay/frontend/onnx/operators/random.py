"""Random tensors, the same in every run.

A node draws from the generator of its seed, or without one from that of its name, so that different
nodes draw different numbers. The standard does not say which numbers a seed gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir.expr import Constant, Expr, TupleGetItem
from relay.ir.types import TensorType, TupleType

table = Converters()

Like = Sequence[int] | Expr  # a shape, or a tensor that has it


def generator(node: Node) -> Constant:
    """The generator of a node."""
    seed = node.attribute("seed")
    if seed is None:
        name = next(filter(None, node.outputs), node.operator)
        return op.random.threefry_key(crc32(name.encode()))
    return op.random.threefry_key(int(np.float64(seed).view("uint64")))


def uniform(node: Node, like: Like, dtype: str, low: float = 0.0, high: float = 1.0) -> Expr:
    """Uniformly distributed numbers."""
    return _drawn(node, op.random.uniform, like, dtype, low, high)


def _drawn(node: Node, draw: Any, like: Like, dtype: str, *parameters: float) -> Expr:
    known = tuple(like) if not isinstance(like, Expr) else node.shape(like)
    # narrower types are converted from float32
    wide = dtype if dtype == "float64" else "float32"
    extents: Any = known
    if isinstance(like, Expr) and static(known) is None:
        extents = op.shape_of(like, dtype="int64")
    key = generator(node)
    found = TupleType((TensorType(key.data.shape, "uint64"), TensorType(known, wide)))
    whole = node.let(draw(key, extents, wide, *parameters).astuple(), declared=found)
    drawn = TupleGetItem(whole, 1)
    return drawn if dtype == wide else op.cast(drawn, dtype)


def _dtype(node: Node, default: str = "float32") -> str:
    number = node.attribute("dtype")
    return default if number is None else element_type(number)


@table("RandomUniform", "RandomUniformLike")
def random_uniform(node: Node, like: Expr | None = None) -> Expr:
    bounds = node.attribute("low", 0.0), node.attribute("high", 1.0)
    return uniform(node, *_shape_and_dtype(node, like), *bounds)


@table("RandomNormal", "RandomNormalLike")
def random_normal(node: Node, like: Expr | None = None) -> Expr:
    parameters = node.attribute("mean", 0.0), node.attribute("scale", 1.0)
    return _drawn(node, op.random.normal, *_shape_and_dtype(node, like), *parameters)


def _shape_and_dtype(node: Node, like: Expr | None) -> tuple[Like, str]:
    if like is None:
        return node.required("shape"), _dtype(node)
    return like, _dtype(node, node.dtype(like))


@table("Bernoulli")
def bernoulli(node: Node, probabilities: Expr) -> Expr:
    """1 with the given probability, otherwise 0."""
    drawn = uniform(node, probabilities, "float64")
    is_one = drawn < op.cast(probabilities, "float64")
    return op.cast(is_one, _dtype(node, node.dtype(probabilities)))


@table("Multinomial")
def multinomial(node: Node, scores: Expr) -> Expr:
    """Classes drawn with unnormalized log probabilities."""
    node.must_have_axes(scores, 2, "scores")
    wide = op.cast(scores, "float64")
    relative = op.exp(wide - op.max(wide, axis=1, keepdims=True))
    count = node.attribute("sample_size", 1)
    drawn = op.random.multinomial(generator(node), relative, count)[1]
    return op.cast(drawn, _dtype(node, "int32"))
