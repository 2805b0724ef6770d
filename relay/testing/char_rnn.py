"""A character-level generator of names, with the autoregressive loop in the program.

The network of PyTorch's tutorial: from the category, the previous character and the state, one
layer computes the next state and another a hidden output; a third layer over both computes the
scores of the next character. Here one-hot inputs are indices of rows of the weights, the two layers
are one, and the category's term is added before the loop.

An iteration of the loop is four kernels: the product with the state, the state, the scores, and
argmax.

The next character is the argmax of scores plus noise: zeros decode greedily, Gumbel noise samples
from the softmax.
The number of rows of `noise` limits the length of a name.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

from relay import op
from relay.frontend.python import Tensor, function
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar
from relay.prelude import rev
from relay.testing.init import workload

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;'"
SYMBOLS = len(LETTERS) + 1  # with the end of the name
CATEGORIES = 18
LENGTH = ShapeVar("length")


def get_net(
    hidden_size: int = 16,
    symbols: int = SYMBOLS,
    categories: int = CATEGORIES,
    dtype: str = "float32",
) -> IRModule:
    """(first symbol, category, noise) -> list of symbols; the last symbol of all is the end"""
    both = hidden_size + symbols  # the state, and the first output

    @function
    def generate(
        data: int,
        category: int,
        noise: Tensor[(LENGTH, symbols), dtype],
        category_weight: Tensor[(categories, both), dtype],
        symbol_weight: Tensor[(symbols, both), dtype],
        state_weight: Tensor[(both, hidden_size), dtype],
        bias: Tensor[(both,), dtype],
        output_weight: Tensor[(symbols, both), dtype],
        output_bias: Tensor[(symbols,), dtype],
    ) -> list[int]:
        of_category = category_weight[category] + bias
        state = op.zeros((1, hidden_size), dtype)
        symbol, found = data, [data]
        for extra in noise:
            combined = op.nn.dense(state, state_weight) + (symbol_weight[symbol] + of_category)
            state = combined[:, :hidden_size]
            scores = op.nn.dense(combined, output_weight) + (output_bias + extra)
            symbol = op.argmax(scores)
            if symbol == symbols - 1:
                break
            found = [symbol, *found]
        return rev(found)

    return generate.module


get_workload = workload(get_net, inputs=("data", "category", "noise"))
