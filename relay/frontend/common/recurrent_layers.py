"""Layers of LSTM, GRU and plain cells on top of each other, in one direction or in both, with the
gates in the order of cuDNN: that of PyTorch and of MXNet's fused operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.recurrence import Layer, Step, plain_product
from relay.ir.expr import Expr, Tuple

# (node, the gates of the inputs, the gates of the state, the state) -> the next state
Cell = Callable[[Builder, Expr, Expr, Sequence[Expr]], list[Expr]]


def parts(node: Builder, value: Expr, count: int) -> list[Expr]:
    return node.fields(op.split(value, count, axis=-1).astuple(), count)


def lstm(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
    i, forget, cell, o = parts(node, node.let(inputs + state), 4)
    kept = op.sigmoid(forget) * before[1] + op.sigmoid(i) * op.tanh(cell)
    new = node.let(kept)
    return [node.let(op.sigmoid(o) * op.tanh(new)), new]


def gru(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
    r_in, z_in, n_in = parts(node, inputs, 3)
    r_h, z_h, n_h = parts(node, state, 3)
    z = node.let(op.sigmoid(z_in + z_h))
    new = node.let(op.tanh(n_in + op.sigmoid(r_in + r_h) * n_h))
    return [node.let((before[0] - new) * z + new)]


def _plain(function: Callable[[Expr], Expr]) -> Cell:
    def cell(node: Builder, inputs: Expr, state: Expr, before: Sequence[Expr]) -> list[Expr]:
        return [node.let(function(inputs + state))]

    return cell


CELLS: dict[str, tuple[Cell, int]] = {
    "lstm": (lstm, 4),
    "gru": (gru, 3),
    "rnn_tanh": (_plain(op.tanh), 1),
    "rnn_relu": (_plain(op.nn.relu), 1),
}


def layers(
    node: Builder,
    kind: str,
    data: Expr,
    states: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    lengths: Expr | None,
) -> tuple[Expr, list[Expr]]:
    """The outputs (steps, batch, hidden) of the last layer, and the last states of all."""
    cell, gates = CELLS[kind]
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
