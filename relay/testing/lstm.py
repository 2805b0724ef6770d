"""LSTM (Hochreiter and Schmidhuber 1997), unrolled; `lstm_loop` has the loop."""

from __future__ import annotations

from relay import op
from relay.builder import ScopeBuilder
from relay.ir.expr import Expr, Function, Tuple, TupleGetItem, Var, var
from relay.ir.types import TensorType, TupleType
from relay.testing import layers
from relay.testing.init import workload


def lstm_cell(
    num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = ""
) -> Function:
    """One step: (inputs, (hidden, cell), weights) -> (output, (hidden, cell))"""
    state = TensorType((batch_size, num_hidden), dtype)
    weight = TensorType((4 * num_hidden, num_hidden), dtype)
    bias = TensorType((4 * num_hidden,), dtype)
    inputs = Var(f"{name}inputs", state)
    states = Var(f"{name}states", TupleType((state, state)))
    weights = [
        Var(f"{name}{source}_{kind}", ty)
        for source in ("i2h", "h2h")
        for kind, ty in (("weight", weight), ("bias", bias))
    ]
    builder = ScopeBuilder()
    from_input = builder.let(
        "i2h", layers.dense_add_bias(inputs, weights[0], weights[1], 4 * num_hidden)
    )
    from_hidden = builder.let(
        "h2h",
        layers.dense_add_bias(TupleGetItem(states, 0), weights[2], weights[3], 4 * num_hidden),
    )
    gates = builder.let("gates", op.add(from_input, from_hidden))
    parts = builder.let("parts", op.split(gates, indices_or_sections=4, axis=1).astuple())
    keep_in, forget, candidate, out = (TupleGetItem(parts, i) for i in range(4))
    kept = op.multiply(op.sigmoid(forget), TupleGetItem(states, 1))
    cell = builder.let("cell", op.add(kept, op.multiply(op.sigmoid(keep_in), op.tanh(candidate))))
    hidden = builder.let("hidden", op.multiply(op.sigmoid(out), op.tanh(cell)))
    builder.ret(Tuple((hidden, Tuple((hidden, cell)))))
    result = TupleType((state, TupleType((state, state))))
    return Function((inputs, states, *weights), builder.get(), result)


def get_net(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> Function:
    """`iterations` cells, each with its own weights, over the same input."""
    data = var("data", shape=(batch_size, num_hidden), dtype=dtype)
    builder = ScopeBuilder()
    zeros = builder.let("zeros", op.zeros((batch_size, num_hidden), dtype))
    out: Expr = zeros
    states: Expr = builder.let("states", Tuple((zeros, zeros)))
    params: list[Var] = [data]
    for number in range(iterations):
        cell = lstm_cell(num_hidden, batch_size, dtype)
        weights = [Var(f"lstm_{number}_{p.name_hint}", p.type_annotation) for p in cell.params[2:]]
        params.extend(weights)
        step = builder.let(f"cell{number}", cell)
        result = builder.let(f"step{number}", step(data, states, *weights))
        out, states = TupleGetItem(result, 0), TupleGetItem(result, 1)
    builder.ret(out)
    return Function(tuple(params), builder.get(), TensorType((batch_size, num_hidden), dtype))


get_workload = workload(get_net)
