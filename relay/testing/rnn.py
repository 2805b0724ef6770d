"""A recurrent network (Elman 1990), with the loop over the steps in the program.

`get_net` takes the steps as one tensor with a dynamic dimension, and computes the input projections
of all steps before the loop; an iteration of the loop is one kernel, a matrix product with the
state followed by `tanh`.

`over_list` takes a list of steps and returns a list of outputs; `as_text` is the same program as
text, `by_prelude` the same with expression builders and the prelude's `map_accuml`.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

from collections.abc import Callable
from string import Template

from relay import op
from relay.frontend.python import Tensor, function
from relay.ir.expr import Call, Expr, Function, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.types import ShapeVar, TensorType
from relay.parser import parse
from relay.prelude import Prelude, rev
from relay.testing.init import Workload, create_workload

STEPS = ShapeVar("steps")


def get_net(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(steps, state) -> the last state"""

    @function
    def rnn(
        data: Tensor[(STEPS, batch_size, input_size), dtype],
        state: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(hidden_size, input_size), dtype],
        h2h_weight: Tensor[(hidden_size, hidden_size), dtype],
        bias: Tensor[(hidden_size,), dtype],
    ) -> Tensor[(batch_size, hidden_size), dtype]:
        for from_input in op.nn.dense(data, i2h_weight) + bias:
            state = op.tanh(op.nn.dense(state, h2h_weight) + from_input)
        return state

    return rnn.module


def over_list(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """(list of steps, state) -> (the last state, list of all states)"""

    @function
    def rnn(
        data: list[Tensor[(batch_size, input_size), dtype]],
        state: Tensor[(batch_size, hidden_size), dtype],
        i2h_weight: Tensor[(hidden_size, input_size), dtype],
        h2h_weight: Tensor[(hidden_size, hidden_size), dtype],
        bias: Tensor[(hidden_size,), dtype],
    ):
        outputs = []
        for x in data:
            from_input = op.nn.dense(x, i2h_weight) + bias
            state = op.tanh(op.nn.dense(state, h2h_weight) + from_input)
            outputs = [state, *outputs]
        return state, rev(outputs)

    return rnn.module


TEXT = Template("""#[version = "0.0.5"]
def @main(
  %data: List[Tensor[($batch, $inputs), $dtype]],
  %state: Tensor[($batch, $hidden), $dtype],
  %i2h_weight: Tensor[($hidden, $inputs), $dtype],
  %h2h_weight: Tensor[($hidden, $hidden), $dtype],
  %bias: Tensor[($hidden,), $dtype],
) -> (Tensor[($batch, $hidden), $dtype], List[Tensor[($batch, $hidden), $dtype]]) {
  let %loop = fn (
    %steps: List[Tensor[($batch, $inputs), $dtype]],
    %outputs: List[Tensor[($batch, $hidden), $dtype]],
    %state: Tensor[($batch, $hidden), $dtype],
  ) {
    match (%steps) {
      Cons(%x, %rest) => {
        let %from_input = nn.dense(%x, %i2h_weight) + %bias;
        let %next = tanh(nn.dense(%state, %h2h_weight) + %from_input);
        %loop(%rest, Cons(%next, %outputs), %next)
      },
      Nil => (%state, @rev(%outputs)),
    }
  };
  %loop(%data, Nil, %state)
}
""")


def as_text(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """`over_list`, as text."""
    sizes = {"inputs": input_size, "hidden": hidden_size, "batch": batch_size}
    return parse(TEXT.substitute(sizes, dtype=dtype), "rnn.relay", Prelude().mod)


def by_prelude(
    input_size: int = 128, hidden_size: int = 128, batch_size: int = 1, dtype: str = "float32"
) -> IRModule:
    """`over_list`, from the builders: `map_accuml` carries the state through the list."""
    prelude = Prelude()
    step = TensorType((batch_size, input_size), dtype)
    hidden = TensorType((batch_size, hidden_size), dtype)
    data, state = Var("data", prelude.l(step)), Var("state", hidden)
    i2h_weight = Var("i2h_weight", TensorType((hidden_size, input_size), dtype))
    h2h_weight = Var("h2h_weight", TensorType((hidden_size, hidden_size), dtype))
    bias = Var("bias", TensorType((hidden_size,), dtype))
    before, x = Var("before", hidden), Var("x", step)
    from_input = op.add(op.nn.dense(x, i2h_weight), bias)
    after: Expr = op.tanh(op.add(op.nn.dense(before, h2h_weight), from_input))
    cell = Function((before, x), Tuple((after, after)))
    body = Call(prelude.map_accuml, (cell, state, data))
    prelude.mod["main"] = Function((data, state, i2h_weight, h2h_weight, bias), body)
    return prelude.mod


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
