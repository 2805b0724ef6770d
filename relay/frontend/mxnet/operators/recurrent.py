"""The fused recurrent operator, and sequences of several lengths.

Its parameters are one vector: the weights of all layers and directions, then all biases.
"""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.recurrent_layers import CELLS, layers
from relay.frontend.mxnet.converters import Table
from relay.frontend.mxnet.node import Node
from relay.ir.expr import Expr

table = Table()


@table("RNN")
def rnn(
    node: Node,
    data: Expr,
    parameters: Expr,
    state: Expr,
    state_cell: Expr | None = None,
    sequence_length: Expr | None = None,
) -> list[Expr]:
    """RNN: recurrent layers over data (steps, batch, n)."""
    mode = node.text("mode")
    if mode not in CELLS:
        raise node.refused("there is no such cell", ", ".join(CELLS), mode)
    if node.has("projection_size"):
        raise node.refused("its states are projected", "no projection_size")
    if node.truth("use_sequence_length") and mode != "lstm":
        sequence_length, state_cell = state_cell, None
    lengths = sequence_length if node.truth("use_sequence_length") else None
    hidden, count = node.whole("state_size"), node.whole("num_layers")
    directions = 2 if node.truth("bidirectional") else 1
    gates = CELLS[mode][1] * hidden
    width = node.static_extent(data, 2, "the width of the inputs")
    weights: list[list[Expr]] = []
    place = 0

    def taken(rows: int, columns: int) -> Expr:
        nonlocal place
        part = op.strided_slice(parameters, (place,), (place + rows * max(columns, 1),))
        place += rows * max(columns, 1)
        return node.let(op.reshape(part, (rows, columns)) if columns else part)

    for layer in range(count):
        inputs = width if layer == 0 else hidden * directions
        weights += [[taken(gates, inputs), taken(gates, hidden)] for _ in range(directions)]
    for own in weights:
        own += [taken(gates, 0), taken(gates, 0)]
    size = node.static_extent(parameters, 0, "how many parameters there are")
    if place != size:
        raise node.refused("there are other parameters than it needs", str(place), str(size))
    states = [state, *([state_cell] if mode == "lstm" and state_cell is not None else [])]
    states = [_of_batch(node, one, data) for one in states]
    flat = [one for own in weights for one in own]
    found, lasts = layers(node, mode, data, states, flat, True, count, directions == 2, lengths)
    return [found, *lasts] if node.truth("state_outputs") else [found]


def _of_batch(node: Node, state: Expr, data: Expr) -> Expr:
    """An initial state broadcast to the batch of the data: Gluon makes zeros of batch 1."""
    if node.shape(state)[1] != 1 or node.shape(data)[1] == 1:
        return state
    rows = node.zeros_along(data, 1, (1,), node.dtype(state))
    return node.let(state + node.let(op.expand_dims(rows, 0)))


@table("_rnn_param_concat")
def parameters(node: Node, *parts: Expr) -> Expr:
    flat = [node.let(op.reshape(one, (-1,))) for one in parts]
    return op.concatenate(flat, axis=0)


@table("SequenceMask")
def sequence_mask(node: Node, data: Expr, lengths: Expr | None = None) -> Expr:
    if lengths is None or not node.truth("use_sequence_length"):
        return op.copy(data)
    whole = node.as_dtype(lengths, "int32")
    return op.sequence_mask(data, whole, node.real("value", 0.0), node.whole("axis", 0))


@table("SequenceReverse")
def sequence_reverse(node: Node, data: Expr, lengths: Expr | None = None) -> Expr:
    if lengths is None or not node.truth("use_sequence_length"):
        return op.reverse(data, axis=0)
    return op.reverse_sequence(data, node.as_dtype(lengths, "int32"), seq_axis=0, batch_axis=1)


@table("SequenceLast")
def sequence_last(node: Node, data: Expr, lengths: Expr | None = None) -> Expr:
    axis = node.whole("axis", 0)
    if lengths is None or not node.truth("use_sequence_length"):
        part = op.strided_slice(data, [-1], [2**31 - 1], axes=(axis,))
        return op.squeeze(node.let(part), (axis,))
    if axis != 0:
        data = node.let(op.transpose(data, (1, 0, *range(2, node.rank(data)))))
    last = node.let(op.subtract(node.as_dtype(lengths, "int64"), int64(1)))
    rows = node.positions(data, 1)
    return op.gather_nd(data, node.let(op.stack([last, rows], axis=0)))
