"""The child-sum tree LSTM (Tai, Socher and Manning 2015): recursion over a tree of any shape.

A tree is the prelude's: a value and a list of subtrees. The input, output and candidate gates take
the sum of the children's states, with concatenated weights; the forget gate takes each child's
state.
A leaf has neither products with states nor a forget gate: its weights are not read.

Kernels of a leaf: the product with its value, the cell, the state.
Of an inner node: these, the product with the sum of the states, that of the forget gate with the
value, and for each child its forget gate; from the second child on, the sum.

`get_net` is the program in Python; `as_text` is the same as text, `by_prelude` the same with
expression builders and the prelude's `map` and `foldl`.
"""

# The programs in here are typed by Relay, not by Python.
# mypy: ignore-errors

from collections.abc import Callable
from string import Template

from relay import op
from relay.frontend.python import Tensor, function
from relay.frontend.python.standard import Rose, Tree
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    GlobalVar,
    Match,
    PatternConstructor,
    PatternVar,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType
from relay.parser import parse
from relay.prelude import Prelude
from relay.testing.init import Workload, create_workload


@function
def kept_of(state, cell, forget, weight):
    """The child's cell, scaled by its forget gate."""
    return op.sigmoid(op.nn.dense(state, weight) + forget) * cell


@function
def finish(gates, kept):
    """The state and the cell of a node."""
    size = gates.shape[1] // 3
    take_in, out, new = gates[:, :size], gates[:, size : 2 * size], gates[:, 2 * size :]
    cell = op.sigmoid(take_in) * op.tanh(new) + kept
    return op.sigmoid(out) * op.tanh(cell), cell


def get_net(input_size: int = 300, hidden_size: int = 150, dtype: str = "float32") -> IRModule:
    """(tree) -> (state, cell) of its root"""

    @function
    def tree_lstm(
        data: Tree[Tensor[(1, input_size), dtype]],
        i2h_weight: Tensor[(3 * hidden_size, input_size), dtype],
        h2h_weight: Tensor[(3 * hidden_size, hidden_size), dtype],
        bias: Tensor[(3 * hidden_size,), dtype],
        forget_i2h_weight: Tensor[(hidden_size, input_size), dtype],
        forget_h2h_weight: Tensor[(hidden_size, hidden_size), dtype],
        forget_bias: Tensor[(hidden_size,), dtype],
    ) -> tuple[Tensor[(1, hidden_size), dtype], Tensor[(1, hidden_size), dtype]]:
        def state_of(tree: Tree[Tensor[(1, input_size), dtype]]):
            match tree:
                case Rose(value, []):
                    return finish(op.nn.dense(value, i2h_weight) + bias, 0.0)
                case Rose(value, [first, *others]):
                    forget = op.nn.dense(value, forget_i2h_weight) + forget_bias
                    total, cell = state_of(first)
                    kept = kept_of(total, cell, forget, forget_h2h_weight)
                    for child in others:
                        state, cell = state_of(child)
                        total += state
                        kept += kept_of(state, cell, forget, forget_h2h_weight)
                    gates = op.nn.dense(value, i2h_weight) + bias
                    return finish(op.nn.dense(total, h2h_weight) + gates, kept)

        return state_of(data)

    return tree_lstm.module


TEXT = Template("""#[version = "0.0.5"]
def @main(
  %data: Tree[Tensor[(1, $inputs), $dtype]],
  %i2h_weight: Tensor[($gates, $inputs), $dtype],
  %h2h_weight: Tensor[($gates, $hidden), $dtype],
  %bias: Tensor[($gates,), $dtype],
  %forget_i2h_weight: Tensor[($hidden, $inputs), $dtype],
  %forget_h2h_weight: Tensor[($hidden, $hidden), $dtype],
  %forget_bias: Tensor[($hidden,), $dtype],
) -> (Tensor[(1, $hidden), $dtype], Tensor[(1, $hidden), $dtype]) {
  let %finish = fn (
    %gates: Tensor[(1, $gates), $dtype],
    %kept: Tensor[(1, $hidden), $dtype],
  ) {
    let %parts = split(%gates, indices_or_sections=3, axis=1);
    let %cell = sigmoid(%parts.0) * tanh(%parts.2) + %kept;
    (sigmoid(%parts.1) * tanh(%cell), %cell)
  };
  let %state_of = fn (
    %tree: Tree[Tensor[(1, $inputs), $dtype]],
  ) -> (Tensor[(1, $hidden), $dtype], Tensor[(1, $hidden), $dtype]) {
    match (%tree) {
      Rose(%value, %children) => {
        let %gates = nn.dense(%value, %i2h_weight) + %bias;
        match (%children) {
          Cons(%first, %others) => {
            let %forget = nn.dense(%value, %forget_i2h_weight) + %forget_bias;
            let %kept_of = fn (
              %state: Tensor[(1, $hidden), $dtype],
              %cell: Tensor[(1, $hidden), $dtype],
            ) {
              sigmoid(nn.dense(%state, %forget_h2h_weight) + %forget) * %cell
            };
            let %sum = fn (
              %trees: List[Tree[Tensor[(1, $inputs), $dtype]]],
              %total: Tensor[(1, $hidden), $dtype],
              %kept: Tensor[(1, $hidden), $dtype],
            ) -> (Tensor[(1, $hidden), $dtype], Tensor[(1, $hidden), $dtype]) {
              match (%trees) {
                Cons(%child, %rest) => {
                  let %below = %state_of(%child);
                  %sum(%rest, %total + %below.0, %kept + %kept_of(%below.0, %below.1))
                },
                Nil => (%total, %kept),
              }
            };
            let %below = %state_of(%first);
            let %sums = %sum(%others, %below.0, %kept_of(%below.0, %below.1));
            %finish(nn.dense(%sums.0, %h2h_weight) + %gates, %sums.1)
          },
          Nil => %finish(%gates, zeros(shape=[1, $hidden], dtype="$dtype")),
        }
      },
    }
  };
  %state_of(%data)
}
""")


def as_text(input_size: int = 300, hidden_size: int = 150, dtype: str = "float32") -> IRModule:
    """The network, as text."""
    sizes = {"inputs": input_size, "hidden": hidden_size, "gates": 3 * hidden_size}
    return parse(TEXT.substitute(sizes, dtype=dtype), "tree_lstm.relay", Prelude().mod)


def by_prelude(input_size: int = 300, hidden_size: int = 150, dtype: str = "float32") -> IRModule:
    """The network with expression builders: `map` for the states of the children, `foldl` for sums.
    As in the paper on Relay, a leaf has an empty sum instead of none."""
    prelude = Prelude()
    value_type = TensorType((1, input_size), dtype)
    hidden = TensorType((1, hidden_size), dtype)
    states = TupleType((hidden, hidden))
    weights = [
        Var(f"{gate}{name}", TensorType(shape, dtype))
        for gate, size in (("", 3 * hidden_size), ("forget_", hidden_size))
        for name, shape in (
            ("i2h_weight", (size, input_size)),
            ("h2h_weight", (size, hidden_size)),
            ("bias", (size,)),
        )
    ]
    i2h_weight, h2h_weight, bias, forget_i2h_weight, forget_h2h_weight, forget_bias = weights
    state_of = GlobalVar("state_of")

    value, children = Var("value"), Var("children")
    gates = op.add(op.nn.dense(value, i2h_weight), bias)
    forget = op.add(op.nn.dense(value, forget_i2h_weight), forget_bias)

    child = Var("child", prelude.tree(value_type))
    of_child = Function((child,), Call(state_of, (child, *weights)), states)
    below = Call(prelude.map, (of_child, children))

    sums, one = Var("sums", states), Var("one", states)
    gate = op.sigmoid(op.add(op.nn.dense(TupleGetItem(one, 0), forget_h2h_weight), forget))
    total = op.add(TupleGetItem(sums, 0), TupleGetItem(one, 0))
    kept = op.add(TupleGetItem(sums, 1), op.multiply(gate, TupleGetItem(one, 1)))
    add = Function((sums, one), Tuple((total, kept)), states)
    zeros = op.zeros((1, hidden_size), dtype)
    summed: Expr = Call(prelude.foldl, (add, Tuple((zeros, zeros)), below))

    gates = op.add(gates, op.nn.dense(TupleGetItem(summed, 0), h2h_weight))
    take_in, out, new = op.split(gates, 3, axis=1)
    cell = op.add(op.multiply(op.sigmoid(take_in), op.tanh(new)), TupleGetItem(summed, 1))
    result = Tuple((op.multiply(op.sigmoid(out), op.tanh(cell)), cell))

    tree = Var("tree", prelude.tree(value_type))
    rose = PatternConstructor(prelude.rose, (PatternVar(value), PatternVar(children)))
    body = Match(tree, (Clause(rose, result),))
    prelude.mod[state_of] = Function((tree, *weights), body, states)
    data = Var("data", prelude.tree(value_type))
    prelude.mod["main"] = Function((data, *weights), Call(state_of, (data, *weights)), states)
    return prelude.mod


def get_workload(
    input_size: int = 300,
    hidden_size: int = 150,
    dtype: str = "float32",
    net: Callable[[int, int, str], IRModule] = get_net,
) -> Workload:
    """The network and its parameters; `data` is a tree of vectors."""
    return create_workload(net(input_size, hidden_size, dtype))
