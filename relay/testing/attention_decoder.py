"""A decoder with attention (Vaswani et al. 2017) and a growing cache of keys and values.

The cache is two tensors with a dynamic dimension; a step appends along it and takes the softmax
over it.
The same program serves prompts and results of all lengths.

Kernels of a step: the embedding with its query, key and value; the two concatenations; the product
with the keys, the softmax, the product with the values; the two dense layers; for a symbol of the
result, the scores and argmax.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

import math

import numpy as np

from relay import op
from relay.frontend.python import Tensor, function
from relay.ir.dims import ANY
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar
from relay.prelude import rev
from relay.testing.init import workload

PROMPT = ShapeVar("prompt")


def get_net(
    symbols: int = 100, hidden_size: int = 64, heads: int = 4, dtype: str = "float32"
) -> IRModule:
    """(prompt, number of symbols) -> list of symbols"""
    size = hidden_size // heads
    Cache = Tensor[(heads, ANY, size), dtype]

    @function
    def decode(
        data: Tensor[(PROMPT,), np.int32],
        count: int,
        embedding_weight: Tensor[(symbols, hidden_size), dtype],
        qkv_weight: Tensor[(3 * hidden_size, hidden_size), dtype],
        projection_weight: Tensor[(hidden_size, hidden_size), dtype],
        wide_weight: Tensor[(4 * hidden_size, hidden_size), dtype],
        wide_bias: Tensor[(4 * hidden_size,), dtype],
        narrow_weight: Tensor[(hidden_size, 4 * hidden_size), dtype],
        narrow_bias: Tensor[(hidden_size,), dtype],
        output_weight: Tensor[(symbols, hidden_size), dtype],
    ) -> list[int]:
        def step(symbol: int, keys: Cache, values: Cache):
            """The state after a symbol, and the extended cache."""
            x = embedding_weight[symbol][None]
            qkv = op.reshape(op.nn.dense(x, qkv_weight), (3, heads, 1, size))
            query, key, value = qkv[0], qkv[1], qkv[2]
            keys = op.concatenate([keys, key], axis=1)
            values = op.concatenate([values, value], axis=1)
            attention = op.nn.softmax(op.nn.batch_matmul(query, keys) / math.sqrt(size))
            found = op.nn.batch_matmul(attention, values, transpose_b=False)
            x += op.nn.dense(op.reshape(found, (1, hidden_size)), projection_weight)
            wide = op.nn.relu(op.nn.dense(x, wide_weight) + wide_bias)
            return x + op.nn.dense(wide, narrow_weight) + narrow_bias, keys, values

        keys: Cache = op.zeros((heads, 0, size), dtype)
        values: Cache = op.zeros((heads, 0, size), dtype)
        state = op.zeros((1, hidden_size), dtype)
        for symbol in data:
            state, keys, values = step(symbol, keys, values)
        found = []
        for _ in range(count):
            symbol = op.argmax(op.nn.dense(state, output_weight))
            found = [symbol, *found]
            state, keys, values = step(symbol, keys, values)
        return rev(found)

    return decode.module


get_workload = workload(get_net, inputs=("data", "count"))
