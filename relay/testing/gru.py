"""GRU (Cho et al. 2014), with the loop over the steps in the program.

The weights concatenate the gates: reset, update, candidate. `get_net` computes the input
projections of all steps before the loop; an iteration is two kernels, the matrix product with the
state and the gates.
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
def update(state, from_input, from_state):
    """The state after a step."""
    reset_x, keep_x, new_x = op.split(from_input, 3, axis=-1)
    reset_h, keep_h, new_h = op.split(from_state, 3, axis=-1)
    keep = op.sigmoid(keep_x + keep_h)
    new = op.tanh(new_x + op.sigmoid(reset_x + reset_h) * new_h)
    return new + keep * (state - new)


def get_net(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(steps, state) -> the last state"""

    @function
    def gru(
        data: Tensor[(STEPS, batch_size, input_size), dtype],
        state: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(3 * hidden_size, input_size), dtype],
        h2h_weight: Tensor[(3 * hidden_size, hidden_size), dtype],
        i2h_bias: Tensor[(3 * hidden_size,), dtype],
        h2h_bias: Tensor[(3 * hidden_size,), dtype],
    ) -> Tensor[(batch_size, hidden_size), dtype]:
        for from_input in op.nn.dense(data, i2h_weight) + i2h_bias:
            state = update(state, from_input, op.nn.dense(state, h2h_weight) + h2h_bias)
        return state

    return gru.module


def over_list(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(list of steps, state) -> (the last state, list of all states)"""

    @function
    def gru(
        data: list[Tensor[(batch_size, input_size), dtype]],
        state: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(3 * hidden_size, input_size), dtype],
        h2h_weight: Tensor[(3 * hidden_size, hidden_size), dtype],
        i2h_bias: Tensor[(3 * hidden_size,), dtype],
        h2h_bias: Tensor[(3 * hidden_size,), dtype],
    ):
        outputs = []
        for x in data:
            from_input = op.nn.dense(x, i2h_weight) + i2h_bias
            state = update(state, from_input, op.nn.dense(state, h2h_weight) + h2h_bias)
            outputs = [state, *outputs]
        return state, rev(outputs)

    return gru.module


def get_workload(
    input_size: int = 128,
    hidden_size: int = 128,
    batch_size: int = 1,
    dtype: str = "float32",
    net: Callable[[int, int, int, str], IRModule] = get_net,
) -> Workload:
    """The network and its parameters; `data` and `state` are its inputs."""
    module = net(input_size, hidden_size, batch_size, dtype)
    return create_workload(module, inputs=("data", "state"))
