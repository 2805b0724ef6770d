"""Beam search over a recurrent decoder.

Scores and states of the sequences are rows of tensors; the sequences are lists that share their
tails. An iteration extends all sequences by all symbols and keeps the best; finished sequences stay
as they are. The search ends when all are finished, or at a maximal length.

Kernels of an iteration: the state, the scores, those of finished sequences, log-softmax, topk, and
the states gathered from the extended sequences.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

import numpy as np

from relay import op
from relay.frontend.python import Tensor, function
from relay.ir.module import IRModule
from relay.prelude import rev
from relay.testing.init import workload

END = 0  # the symbol that ends a sequence, and begins it
NEVER = -1e30  # a score that is never chosen


def get_net(
    beam: int = 4, symbols: int = 40, hidden_size: int = 32, dtype: str = "float32"
) -> IRModule:
    """(state, maximal length) -> the sequences with their scores, best first"""
    # all rows are equal at the start, so only the first may be chosen
    first = np.array([0.0] + [NEVER] * (beam - 1), dtype)
    # a finished sequence is extended by END only, at no cost
    at_end = np.array([[0.0] + [NEVER] * (symbols - 1)], dtype)

    @function
    def search(
        data: Tensor[(1, hidden_size), dtype],
        most: int,
        embedding_weight: Tensor[(symbols, hidden_size), dtype],
        state_weight: Tensor[(hidden_size, hidden_size), dtype],
        output_weight: Tensor[(symbols, hidden_size), dtype],
        output_bias: Tensor[(symbols,), dtype],
    ) -> list[tuple[list[int], Tensor[(), dtype]]]:
        states = op.tile(data, (beam, 1))
        scores: Tensor[(beam,), dtype] = first
        last = op.full(END, (beam,), "int32")
        ended = op.zeros((beam,), "bool")
        found: list[list[int]] = [[]] * beam
        length = 0
        while length < most and not op.all(ended):
            states = op.tanh(op.nn.dense(states, state_weight) + embedding_weight[last])
            following = op.nn.log_softmax(op.nn.dense(states, output_weight) + output_bias)
            following = op.where(ended[:, None], at_end, following)
            scores, places = op.topk(op.reshape(scores[:, None] + following, (-1,)), beam)
            rows, last = places // symbols, places % symbols
            states, ended = states[rows], ended[rows]
            found = [
                found[row] if is_ended else [symbol, *found[row]]
                for row, symbol, is_ended in zip(rows, last, ended, strict=False)
            ]
            ended = op.logical_or(ended, last == END)
            length += 1
        return [(rev(one), score) for one, score in zip(found, scores, strict=False)]

    return search.module


get_workload = workload(get_net, inputs=("data", "most"))
