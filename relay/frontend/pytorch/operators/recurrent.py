"""Recurrent layers and cells.

The parameters of a layer and direction are the weights of the inputs and of the state, their
biases, and with projections the weight of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.recurrent_layers import CELLS, layers, lstm, parts
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.products import linear
from relay.ir.expr import Expr

table = Converters()


def _kind(node: Node) -> str:
    """`lstm` of `aten.lstm.input`."""
    return node.operator.partition(".")[2].partition(".")[0]


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
    args = (states, params, has_biases, num_layers, bidirectional, None)
    found, lasts = layers(node, _kind(node), input, *args)
    if lacks_batch:
        return [op.squeeze(one, (1,)) for one in (found, *lasts)]
    return [op.transpose(found, (1, 0, 2)) if batch_first else found, *lasts]


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
    args = (states, params, has_biases, num_layers, bidirectional, lengths)
    found, lasts = layers(node, _kind(node), apart, *args)
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
    function, _ = CELLS[node.operator.partition(".")[2].removesuffix("_cell")]
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
    found = lstm(node, input_gates, hidden_gates, [cx, cx])
    i, forget, new, o = parts(node, whole, 4)
    gates = [op.sigmoid(i), op.sigmoid(forget), op.tanh(new), op.sigmoid(o)]
    return [*found, op.concatenate([node.let(one) for one in gates], axis=-1)]
