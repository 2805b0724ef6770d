"""BERT as its authors wrote it, with random weights. Needs `tensorflow`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

WORDS, PLACES, KINDS = 60, 40, 2
INTEGERS = tf.TensorSpec([None, None], tf.int32)


class Bert(tf.Module):
    """Embeddings of words, places and kinds of sentences; layers of attention, to which padding is
    masked, each followed by a wide layer; and the first word through a last one."""

    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(layers)
        self.layers, self.width, self.heads = layers, width, heads
        self.tables = [self.table(rows, width) for rows in (WORDS, KINDS, PLACES)]
        self.norm = self.norm_of(width)
        sizes = [(width, width)] * 4 + [(width, 4 * width), (4 * width, width)]
        self.dense = [[self.dense_of(*size) for size in sizes] for _ in range(layers)]
        self.norms = [[self.norm_of(width) for _ in range(2)] for _ in range(layers)]
        self.pooler = self.dense_of(width, width)

    def table(self, *shape: int, scale: float = 1.0) -> tf.Variable:
        # of few digits, which a file of recorded graphs packs well
        values = np.round(32 * scale * self.random.standard_normal(shape)) / 32
        return tf.Variable(values.astype("float32"))

    def dense_of(self, inputs: int, outputs: int) -> tuple[tf.Variable, tf.Variable]:
        return self.table(inputs, outputs, scale=inputs**-0.5), self.table(outputs, scale=0.1)

    def norm_of(self, width: int) -> tuple[tf.Variable, tf.Variable]:
        return tf.Variable(1 + self.table(width, scale=0.1)), self.table(width, scale=0.1)

    @tf.function(input_signature=[INTEGERS] * 3)
    def __call__(self, words: Any, mask: Any, kinds: Any) -> dict[str, Any]:
        return self.call(words, mask, kinds)

    def call(self, words: Any, mask: Any, kinds: Any) -> dict[str, Any]:
        batch, steps = tf.shape(words)[0], tf.shape(words)[1]
        rows = tf.reshape(
            tf.one_hot(tf.reshape(kinds, [-1]), KINDS) @ self.tables[1], [batch, steps, -1]
        )
        x = tf.gather(self.tables[0], words) + rows
        x += tf.slice(self.tables[2], [0, 0], [steps, -1])[tf.newaxis]
        x = normalized(x, *self.norm)
        hidden = (1.0 - tf.cast(mask[:, tf.newaxis, tf.newaxis, :], "float32")) * -10000.0
        x = tf.reshape(x, [-1, self.width])
        for dense, norms in zip(self.dense, self.norms, strict=True):
            found = self.attention(x, dense, hidden, batch, steps)
            x = normalized(x + found, *norms[0])
            wide = gelu(tf.nn.bias_add(x @ dense[4][0], dense[4][1]))
            x = normalized(x + tf.nn.bias_add(wide @ dense[5][0], dense[5][1]), *norms[1])
        x = tf.reshape(x, [batch, steps, self.width])
        first = tf.squeeze(x[:, 0:1, :], axis=1)
        return {"sequence": x, "pooled": tf.tanh(first @ self.pooler[0] + self.pooler[1])}

    def attention(self, x: Any, dense: Any, hidden: Any, batch: Any, steps: Any) -> Any:
        size = self.width // self.heads

        def heads(weight: Any, bias: Any) -> Any:
            found = tf.reshape(tf.nn.bias_add(x @ weight, bias), [batch, steps, self.heads, size])
            return tf.transpose(found, [0, 2, 1, 3])

        query, key, value = (heads(*one) for one in dense[:3])
        scores = tf.matmul(query, key, transpose_b=True) * size**-0.5 + hidden
        found = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        return tf.nn.bias_add(tf.reshape(found, [-1, self.width]) @ dense[3][0], dense[3][1])


def normalized(x: Any, scale: Any, shift: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, shift, scale, 1e-12)


def gelu(x: Any) -> Any:
    return x * 0.5 * (1.0 + tf.math.erf(x / 2.0**0.5))


def sentences(random: np.random.Generator, batch: int, steps: int) -> list[np.ndarray]:
    """Words, which of them are no padding, and whether they belong to the second sentence."""
    words = random.integers(0, WORDS, (batch, steps))
    mask = np.arange(steps) < random.integers(1, steps + 1, (batch, 1))
    kinds = np.arange(steps) >= random.integers(0, steps + 1, (batch, 1))
    return [one.astype("int32") for one in (words, mask, kinds)]
