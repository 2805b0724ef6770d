"""Transformers (Vaswani et al. 2017): the encoder of BERT, and the decoder of GPT-2.

They use the operators that a frontend emits: rank-2 products between reshapes, heads split by
reshape and transpose, layer norm as arithmetic, GELU by erf. A layer is about sixty calls.
"""

from __future__ import annotations

import numpy as np

from relay import op
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Expr, Function, Var, const, var
from relay.ir.variables import free_vars
from relay.testing.init import workload

INPUTS = ("data", "mask")
EPSILON = 1e-5
HIDDEN = -1e4  # the score of a masked position: softmax makes it 0


@frozen
class _Sizes:
    """The sizes of the network."""

    batch: int
    sequence: int
    width: int
    heads: int
    dtype: str

    def number(self, value: float) -> Expr:
        return const(value, self.dtype)

    def parameter(self, name: str, *shape: int) -> Expr:
        return var(name, shape=shape, dtype=self.dtype)


def get_net(
    batch_size: int = 1,
    num_layers: int = 12,
    width: int = 768,
    heads: int = 12,
    sequence: int = 128,
    vocabulary: int = 30522,
    causal: bool = False,
    dtype: str = "float32",
) -> Function:
    """BERT: (tokens, mask) -> the output of the last layer for each token.

    With `causal`, GPT-2: tokens -> logits of the next token; attention is causal, and layer norm
    comes before the sublayers.
    """
    if width % heads:
        raise RelayError(f"{heads} heads do not share a width of {width} evenly")
    sizes = _Sizes(batch_size, sequence, width, heads, dtype)
    words = var("data", shape=(batch_size, sequence), dtype="int32")
    vectors = sizes.parameter("words_weight", vocabulary, width)
    positions = sizes.parameter("positions_weight", sequence, width)
    x: Expr = op.add(op.take(vectors, words, axis=0, mode="clip"), positions)
    if causal:
        seen = const(np.tril(np.ones((1, 1, sequence, sequence), bool)))
        for number in range(num_layers):
            x = _decoder_layer(x, seen, sizes, f"layer{number}")
        x = _linear_map(_norm(x, sizes, "norm"), vectors, sizes, vocabulary)
    else:
        present = sizes.parameter("mask", batch_size, sequence)
        absent = op.subtract(sizes.number(1.0), op.reshape(present, (batch_size, 1, 1, sequence)))
        lowered = op.multiply(absent, sizes.number(HIDDEN))
        x = _norm(x, sizes, "norm")
        for number in range(num_layers):
            x = _encoder_layer(x, lowered, sizes, f"layer{number}")
    return Function(tuple(free_vars(x)), x)


def _encoder_layer(x: Expr, lowered: Expr, sizes: _Sizes, name: str) -> Expr:
    """Post-norm: each sublayer is added to its input, then normalized."""
    scores, values = _scores(x, sizes, name)
    attended = _attended(op.add(scores, lowered), values, sizes, name)
    x = _norm(op.add(attended, x), sizes, f"{name}_norm1")
    return _norm(op.add(_perceptron(x, sizes, name), x), sizes, f"{name}_norm2")


def _decoder_layer(x: Expr, seen: Expr, sizes: _Sizes, name: str) -> Expr:
    """Pre-norm: each sublayer is applied to the normalized input, then added."""
    scores, values = _scores(_norm(x, sizes, f"{name}_norm1"), sizes, name)
    masked = op.where(seen, scores, sizes.number(HIDDEN))
    x = op.add(x, _attended(masked, values, sizes, name))
    return op.add(x, _perceptron(_norm(x, sizes, f"{name}_norm2"), sizes, name))


# --- attention ---------------------------------------------------------------------------------


def _scores(x: Expr, sizes: _Sizes, name: str) -> tuple[Expr, Expr]:
    """Attention scores (batch, heads, query, key), and the values."""
    depth = sizes.width // sizes.heads
    query, keys, values = (
        _heads(_linear(x, sizes, f"{name}_{part}", sizes.width), sizes)
        for part in ("query", "key", "value")
    )
    keys = op.reshape(keys, (sizes.batch * sizes.heads, sizes.sequence, depth))
    query = op.reshape(query, (sizes.batch * sizes.heads, sizes.sequence, depth))
    products = op.nn.batch_matmul(query, keys)
    shape = (sizes.batch, sizes.heads, sizes.sequence, sizes.sequence)
    return op.divide(op.reshape(products, shape), sizes.number(float(np.sqrt(depth)))), values


def _heads(x: Expr, sizes: _Sizes) -> Expr:
    """(batch, sequence, width) -> (batch, heads, sequence, width of a head)"""
    split = op.reshape(x, (sizes.batch, sizes.sequence, sizes.heads, -1))
    return op.transpose(split, (0, 2, 1, 3))


def _attended(scores: Expr, values: Expr, sizes: _Sizes, name: str) -> Expr:
    """The sum of the values, weighted by the softmax of the scores."""
    joined = sizes.batch * sizes.heads
    shares = op.reshape(op.nn.softmax(scores, axis=-1), (joined, sizes.sequence, sizes.sequence))
    values = op.reshape(values, (joined, sizes.sequence, -1))
    mixed = op.nn.batch_matmul(shares, values, transpose_b=False)
    mixed = op.reshape(mixed, (sizes.batch, sizes.heads, sizes.sequence, -1))
    mixed = op.transpose(mixed, (0, 2, 1, 3))
    mixed = op.reshape(mixed, (sizes.batch, sizes.sequence, sizes.width))
    return _linear(mixed, sizes, f"{name}_output", sizes.width)


# --- the rest of a layer -----------------------------------------------------------------------


def _perceptron(x: Expr, sizes: _Sizes, name: str) -> Expr:
    """Two dense layers with GELU between them."""
    x = _linear(x, sizes, f"{name}_wide", 4 * sizes.width)
    error = op.erf(op.divide(x, sizes.number(float(np.sqrt(2.0)))))
    x = op.multiply(op.multiply(x, op.add(error, sizes.number(1.0))), sizes.number(0.5))
    return _linear(x, sizes, f"{name}_narrow", sizes.width)


def _linear(x: Expr, sizes: _Sizes, name: str, units: int) -> Expr:
    weight, bias = Var(f"{name}_weight"), sizes.parameter(f"{name}_bias", units)
    return op.add(_linear_map(x, weight, sizes, units), bias)


def _linear_map(x: Expr, weight: Expr, sizes: _Sizes, units: int) -> Expr:
    """A dense layer without bias over the last axis of rank 3."""
    rows = op.reshape(x, (sizes.batch * sizes.sequence, -1))
    product = op.nn.dense(rows, weight, units)
    return op.reshape(product, (sizes.batch, sizes.sequence, units))


def _norm(x: Expr, sizes: _Sizes, name: str) -> Expr:
    """Layer norm over the last axis."""
    centered = op.subtract(x, op.mean(x, axis=-1, keepdims=True))
    variance = op.mean(op.power(centered, sizes.number(2.0)), axis=-1, keepdims=True)
    normal = op.divide(centered, op.sqrt(op.add(variance, sizes.number(EPSILON))))
    scaled = op.multiply(normal, sizes.parameter(f"{name}_gamma", sizes.width))
    return op.add(scaled, sizes.parameter(f"{name}_beta", sizes.width))


get_workload = workload(get_net, inputs=INPUTS)
