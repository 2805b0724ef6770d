"""Recurrent layers and cells.

The parameters of a layer and direction are the weights of the inputs and of the state, their
biases, and with projections the weight of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.recurrence import Layer, Step, plain_product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.products import linear
from relay.ir.expr import Expr, Tuple

table = Converters()

# (node, the gates of the inputs, the gates of the state, the state) -> the next state
Cell = Callable[[Builder, Expr, Expr, Sequence[Expr]], list[Expr]]


def _parts(node: Builder, value: Expr, count: int) -> list[Expr]:
    return node.fields(op.split(value, count, axis=-1).astuple(), count)


def _lstm(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
    i, forget, cell, o = _parts(node, node.let(inputs + state), 4)
    kept = op.sigmoid(forget) * before[1] + op.sigmoid(i) * op.tanh(cell)
    new = node.let(kept)
    return [node.let(op.sigmoid(o) * op.tanh(new)), new]


def _gru(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
    r_in, z_in, n_in = _parts(node, inputs, 3)
    r_h, z_h, n_h = _parts(node, state, 3)
    z = node.let(op.sigmoid(z_in + z_h))
    new = node.let(op.tanh(n_in + op.sigmoid(r_in + r_h) * n_h))
    return [node.let((before[0] - new) * z + new)]


def _plain(function: Callable[[Expr], Expr]) -> Cell:
    def cell(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
        return [node.let(function(inputs + state))]

    return cell


_CELLS: dict[str, tuple[Cell, int]] = {
    "lstm": (_lstm, 4),
    "gru": (_gru, 3),
    "rnn_tanh": (_plain(op.tanh), 1),
    "rnn_relu": (_plain(op.nn.relu), 1),
}


@table("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")
def recurrent(
    node: Node,
    input: Expr,
    hx: Any,
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """The outputs of the last layer, and the last states of all layers."""
    if train and dropout and num_layers > 1:
        raise node.refused("it drops outputs in training", hint="export the model in eval mode")
    states = hx if isinstance(hx, list) else [hx]
    lacks_batch = node.rank(input) == 2
    if lacks_batch:
        axis = 1
        input = node.let(op.expand_dims(input, axis))
        states = [node.let(op.expand_dims(one, 1)) for one in states]
    elif batch_first:
        input = node.let(op.transpose(input, (1, 0, 2)))
    found, lasts = _layers(node, input, states, params, has_biases, num_layers, bidirectional, None)
    if lacks_batch:
        return [op.squeeze(one, (1,)) for one in (found, *lasts)]
    return [op.transpose(found, (1, 0, 2)) if batch_first else found, *lasts]


def _layers(
    node: Node,
    data: Expr,
    states: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    lengths: Expr | None,
) -> tuple[Expr, list[Expr]]:
    """The outputs (steps, batch, hidden) of the last layer, and the last states of all."""
    cell, gates = _CELLS[node.operator.partition(".")[2].partition(".")[0]]
    directions = 2 if bidirectional else 1
    count = len(params) // (num_layers * directions)
    has_projections = count == (5 if has_biases else 3)
    lasts: list[list[Expr]] = []
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = number * directions + direction
            own = params[place * count : (place + 1) * count]
            projection = own[-1] if has_projections else None
            before = [node.let(op.take(one, int64(place), axis=0)) for one in states]
            hidden = node.static_shape(own[0], "weights")[0] // gates
            layer = Layer(
                node,
                direction,
                data,
                own[0],
                own[1],
                own[2] if has_biases else None,
                own[3] if has_biases else None,
                lengths,
                direction == 1,
                (),
                hidden,
                tuple(before),
                plain_product,
            )
            made, last = layer.run(_step(cell, projection))
            outputs.append(made)
            lasts.append(last)
        data = outputs[0] if directions == 1 else node.let(op.concatenate(outputs, axis=2))
    ends = zip(*lasts, strict=True)
    return data, [node.let(op.stack(Tuple(tuple(one)), 0)) for one in ends]


def _step(cell: Cell, projection: Expr | None) -> Step:
    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        following = cell(there, own, there.let(layer.recurrent(there, state[0])), state)
        if projection is not None:
            following[0] = there.let(op.nn.dense(following[0], projection))
        return following

    return step


@table("lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data")
def recurrent_packed(
    node: Node,
    data: Expr,
    batch_sizes: Expr,
    hx: Any,
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> list[Expr]:
    """Packed sequences: the rows of all first steps, of all second steps, … with the longest
    sequence first."""
    if train and dropout and num_layers > 1:
        raise node.refused("it drops outputs in training", hint="export the model in eval mode")
    states = hx if isinstance(hx, list) else [hx]
    sizes = node.as_dtype(batch_sizes, "int64")
    most = node.size(states[0], 1)
    ends = node.let(op.cumsum(sizes, axis=0))
    starts = node.let(ends - sizes)
    batch = node.declare(op.arange(most, dtype="int64"), (node.shape(states[0])[1],), "int64")
    column = node.let(op.expand_dims(sizes, 1))
    inside = node.let(op.less(op.expand_dims(batch, 0), column))
    rows = op.expand_dims(starts, 1) + op.expand_dims(batch, 0)
    rows = node.let(op.where(inside, rows, int64(0)))
    apart = node.let(op.take(data, rows, axis=0))
    lengths = node.let(op.sum(op.cast(inside, "int64"), axis=(0,)))
    found, lasts = _layers(
        node, apart, states, params, has_biases, num_layers, bidirectional, lengths
    )
    places = node.let(op.argwhere(inside))
    packed = op.gather_nd(found, op.transpose(places, (1, 0)))
    shape = (node.shape(data)[0], node.shape(found)[2])
    return [node.declare(packed, shape, node.dtype(data)), *lasts]


# --- cells ---------------------------------------------------------------------------------------


@table("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(
    node: Node,
    input: Expr,
    hx: Any,
    w_ih: Expr,
    w_hh: Expr,
    b_ih: Expr | None = None,
    b_hh: Expr | None = None,
) -> list[Expr] | Expr:
    before = hx if isinstance(hx, list) else [hx]
    function, _ = _CELLS[node.operator.partition(".")[2].removesuffix("_cell")]
    inputs = node.let(linear(node, input, w_ih, b_ih))
    found = function(node, inputs, node.let(linear(node, before[0], w_hh, b_hh)), before)
    return found if isinstance(hx, list) else found[0]


@table("_thnn_fused_lstm_cell")
def fused_cell(
    node: Node,
    input_gates: Expr,
    hidden_gates: Expr,
    cx: Expr,
    input_bias: Expr | None = None,
    hidden_bias: Expr | None = None,
) -> list[Expr]:
    """The next state, and the gates."""
    for bias in (input_bias, hidden_bias):
        input_gates = input_gates if bias is None else node.let(input_gates + bias)
    whole = node.let(input_gates + hidden_gates)
    found = _lstm(node, input_gates, hidden_gates, [cx, cx])
    i, forget, new, o = _parts(node, whole, 4)
    gates = [op.sigmoid(i), op.sigmoid(forget), op.tanh(new), op.sigmoid(o)]
    return [*found, op.concatenate([node.let(one) for one in gates], axis=-1)]
