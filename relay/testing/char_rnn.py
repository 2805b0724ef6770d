"""A generator of names, character by character: the loop that feeds a network its own output is
part of the program, and builds a list.

The network is the one of PyTorch's tutorial on generating names: of the category, the character
before and the state, one layer gives the next state and another a first output; a third layer over
both gives the scores of the next character. Inputs that are 1 in one place choose a row of the
weights, so they are given as numbers; the two layers are one; and what belongs to the category is
added once. A turn of the loop is four kernels: a product with the state, the state in it, the
scores, the best one.

The character with the highest score is taken after noise is added: none makes the same name each
time, noise of a Gumbel distribution draws names as likely as the network says. There is a row of
noise for every character, so its rows are the length that a name may have.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

from relay import nd, op
from relay.frontend.python import Tensor, function
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar
from relay.prelude import rev
from relay.testing.init import create_workload

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;'"
SYMBOLS = len(LETTERS) + 1  # and the end of a name
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


def get_workload(
    hidden_size: int = 16,
    symbols: int = SYMBOLS,
    categories: int = CATEGORIES,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, nd.NDArray]]:
    """The network and its parameters; `data` (the first symbol), `category` and `noise` are its
    inputs."""
    module = get_net(hidden_size, symbols, categories, dtype)
    return create_workload(module, inputs=("data", "category", "noise"))
