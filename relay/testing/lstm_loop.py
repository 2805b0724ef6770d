"""LSTM (Hochreiter and Schmidhuber 1997), with the loop over the steps in the program.

The weights concatenate the gates: input, forget, candidate, output. `get_net` computes the input
projections of all steps before the loop; an iteration is three kernels: the matrix product with
the state, the cell, and the next state. Slices fuse into the kernels that read them; a `split`
with several users would be a kernel of its own.
`lstm` is the unrolled network.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

from collections.abc import Callable

from relay import op
from relay.frontend.python import Tensor, function
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar
from relay.prelude import rev
from relay.testing.init import Workload, create_workload

STEPS = ShapeVar("steps")


@function
def update(cell, gates):
    """The state and the cell after a step."""
    size = cell.shape[1]
    take_in, forget = gates[:, :size], gates[:, size : 2 * size]
    new, out = gates[:, 2 * size : 3 * size], gates[:, 3 * size :]
    cell = op.sigmoid(forget) * cell + op.sigmoid(take_in) * op.tanh(new)
    return op.sigmoid(out) * op.tanh(cell), cell


def get_net(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(steps, state, cell) -> the last (state, cell)"""

    @function
    def lstm(
        data: Tensor[(STEPS, batch_size, input_size), dtype],
        state: Tensor[(batch_size, hidden_size), dtype],
        cell: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(4 * hidden_size, input_size), dtype],
        h2h_weight: Tensor[(4 * hidden_size, hidden_size), dtype],
        bias: Tensor[(4 * hidden_size,), dtype],
    ):
        for from_input in op.nn.dense(data, i2h_weight) + bias:
            state, cell = update(cell, op.nn.dense(state, h2h_weight) + from_input)
        return state, cell

    return lstm.module


def over_list(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(list of steps, state, cell) -> (the last state, the last cell, list of all states)"""

    @function
    def lstm(
        data: list[Tensor[(batch_size, input_size), dtype]],
        state: Tensor[(batch_size, hidden_size), dtype],
        cell: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(4 * hidden_size, input_size), dtype],
        h2h_weight: Tensor[(4 * hidden_size, hidden_size), dtype],
        bias: Tensor[(4 * hidden_size,), dtype],
    ):
        outputs = []
        for x in data:
            from_input = op.nn.dense(x, i2h_weight) + bias
            state, cell = update(cell, op.nn.dense(state, h2h_weight) + from_input)
            outputs = [state, *outputs]
        return state, cell, rev(outputs)

    return lstm.module


def get_workload(
    input_size: int = 128,
    hidden_size: int = 128,
    batch_size: int = 1,
    dtype: str = "float32",
    net: Callable[[int, int, int, str], IRModule] = get_net,
) -> Workload:
    """The network and its parameters; `data`, `state` and `cell` are its inputs."""
    module = net(input_size, hidden_size, batch_size, dtype)
    return create_workload(module, inputs=("data", "state", "cell"))
