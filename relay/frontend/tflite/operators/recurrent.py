"""Recurrent layers: over one step or over sequences, in one direction or in both.

States are tensors that operators write: they are kept from one call to the next. Quantized layers
are computed with the real numbers that their tensors stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

import tflite

from relay import op
from relay.frontend.common.builder import Builder
from relay.frontend.common.recurrence import Layer, Step, plain_product
from relay.frontend.tflite.activation import activated
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.immutable import frozen
from relay.ir.expr import Expr

table = Table()

Given = Sequence[Expr | None]
EPSILON = 1e-8  # of the normalization of gates


def _real(node: Node, given: Given, place: int) -> Expr | None:
    value = given[place] if 0 <= place < len(given) else None
    return None if value is None else node.real(value, place)


def _needed(node: Node, given: Given, place: int, what: str) -> Expr:
    found = _real(node, given, place)
    if found is None:
        raise node.refused(f"there is no tensor for {what}")
    return found


def _steps(node: Node, given: Given, place: int = 0) -> Expr:
    """Data as (steps, batch, inputs)."""
    data = _needed(node, given, place, "data")
    node.must_have_axes(data, 3, "data")
    return data if node.option("time_major", False) else node.let(op.transpose(data, (1, 0, 2)))


def _in_order(node: Node, found: Expr) -> Expr:
    return found if node.option("time_major", False) else node.let(op.transpose(found, (1, 0, 2)))


def _run(
    node: Node,
    data: Expr,
    weights: Sequence[Expr],
    recurrences: Sequence[Expr],
    bias: Expr | None,
    state: Sequence[Expr],
    step: Step,
    *,
    backwards: bool = False,
) -> tuple[Expr, list[Expr]]:
    """The outputs of a layer, and its last state."""
    weight, recurrence = (
        one[0] if len(one) == 1 else node.let(op.concatenate([*one], axis=0))
        for one in (weights, recurrences)
    )
    hidden = node.static_extent(weights[0], 0, "how many cells there are")
    layer = Layer(
        node,
        int(backwards),
        data,
        weight,
        recurrence,
        bias,
        None,
        None,
        backwards,
        (),
        hidden,
        tuple(state),
        plain_product,
    )
    return layer.run(step)


# --- plain cells ---------------------------------------------------------------------------------


def _plain(
    node: Node, data: Expr, given: Given, first: int, state: int, *, backwards: bool, bias: Expr
) -> Expr:
    """A layer whose weights, recurrent weights and biases begin at a place."""
    weight, recurrence = (_needed(node, given, first + at, "weights") for at in (0, 1))
    before = _needed(node, given, state, "the state")

    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        assert isinstance(there, Node)
        return [there.let(activated(there, own + layer.recurrent(there, state[0])))]

    found, last = _run(
        node, data, [weight], [recurrence], bias, [before], step, backwards=backwards
    )
    node.importer.write(node, state, last[0])
    return found


@table("RNN")
def rnn(node: Node, *given: Expr | None) -> Expr:
    """One step."""
    data = node.let(op.expand_dims(_needed(node, given, 0, "data"), 0))
    bias = _needed(node, given, 3, "biases")
    found = _plain(node, data, given, 1, 4, backwards=False, bias=bias)
    return node.as_result(node.let(op.squeeze(found, (0,))))


@table("UNIDIRECTIONAL_SEQUENCE_RNN")
def sequence_rnn(node: Node, *given: Expr | None) -> Expr:
    bias = _needed(node, given, 3, "biases")
    found = _plain(node, _steps(node, given), given, 1, 4, backwards=False, bias=bias)
    return node.as_result(_in_order(node, found))


def _both(node: Node, forward: Expr, backward: Expr) -> list[Expr]:
    """The results of both directions, joined where the operator says so."""
    if node.option("merge_outputs", False):
        whole = node.let(op.concatenate([forward, backward], axis=2))
        return [node.as_result(_in_order(node, whole))]
    found = (forward, backward)
    return [node.as_result(_in_order(node, one), place) for place, one in enumerate(found)]


def _no_more_inputs(node: Node, given: Given, place: int) -> None:
    if len(given) > place and any(one is not None for one in given[place:]):
        raise node.refused("it reads a second sequence", hint="concatenate both sequences")


@table("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(node: Node, *given: Expr | None) -> list[Expr]:
    _no_more_inputs(node, given, 9)
    data = _steps(node, given)
    found = [
        _plain(
            node,
            data,
            given,
            first,
            first + 3,
            backwards=first > 1,
            bias=_needed(node, given, first + 2, "biases"),
        )
        for first in (1, 5)
    ]
    return _both(node, *found)


# --- LSTM ----------------------------------------------------------------------------------------


@frozen
class Gates:
    """The tensors of an LSTM, whose gates are input, forget, cell and output; without the first,
    what is not forgotten is written."""

    node: Node
    given: Given
    first: int  # the place of the weights of the input gate

    def of(self, offset: int) -> list[Expr | None]:
        """A tensor for each gate."""
        return [_real(self.node, self.given, self.first + offset + at) for at in range(4)]

    @property
    def peepholes(self) -> list[Expr | None]:
        """For the input, forget and output gates."""
        return [_real(self.node, self.given, self.first + 8 + at) for at in range(3)]


def _clipped(node: Builder, value: Expr, limit: float) -> Expr:
    return node.let(op.clip(value, -limit, limit)) if limit > 0 else value


def _normalized(node: Builder, gate: Expr, factor: Expr) -> Expr:
    mean = node.let(op.mean(gate, axis=(1,), keepdims=True))
    apart = node.let(gate - mean)
    variance = op.mean(apart * apart, axis=(1,), keepdims=True)
    return node.let(apart * op.rsqrt(variance + node.number(EPSILON, gate)) * factor)


def _lstm(
    node: Node,
    data: Expr,
    given: Given,
    first: int,
    states: tuple[int, int],
    *,
    norms: int | None = None,
    backwards: bool = False,
) -> Expr:
    """The outputs of a layer, whose last state is written."""
    gates = Gates(node, given, first)
    weights, recurrences, biases = gates.of(0), gates.of(4), gates.of(11)
    factors = [_real(node, given, norms + at) for at in range(4)] if norms is not None else [None]
    layer_norm = any(one is not None for one in factors)
    held = [one for one in weights if one is not None]
    kept = [one for one in recurrences if one is not None]
    has_input = weights[0] is not None
    if len(held) != len(kept) or len(held) != (4 if has_input else 3):
        raise node.refused("some of the weights are not there")
    own_biases = [one for one in biases if one is not None][-len(held) :]
    if len(own_biases) != len(held):
        raise node.refused("some of the biases are not there")
    bias = None if layer_norm else node.let(op.concatenate(own_biases, axis=0))
    projection, shift = (_real(node, given, first + 15 + at) for at in (0, 1))
    cell_limit, limit = (float(node.option(name, 0.0)) for name in ("cell_clip", "proj_clip"))
    to_input, to_forget, to_output = gates.peepholes

    def step(there: Builder, layer: Layer, own: Expr, state: list[Expr]) -> list[Expr]:
        assert isinstance(there, Node)
        before = state[1]
        sums = there.let(own + layer.recurrent(there, state[0]))
        parts = layer.gates(there, sums, len(held))
        forget, new, out = parts[-3:]

        def gate(number: int, value: Expr, peephole: Expr | None, cell: Expr) -> Expr:
            if peephole is not None:
                value = there.let(value + cell * peephole)
            if not layer_norm:
                return value
            factor, moved = factors[number], biases[number]
            assert factor is not None and moved is not None
            return there.let(_normalized(there, value, factor) + moved)

        keep = there.let(op.sigmoid(gate(1, forget, to_forget, before)))
        written = there.let(activated(there, gate(2, new, None, before)))
        if has_input:
            share = there.let(op.sigmoid(gate(0, parts[0], to_input, before)))
        else:
            share = there.let(there.number(1, keep) - keep)
        cell = _clipped(there, there.let(keep * before + share * written), cell_limit)
        shown = there.let(op.sigmoid(gate(3, out, to_output, cell)))
        result = there.let(shown * activated(there, cell))
        if projection is not None:
            result = there.let(op.nn.dense(result, projection))
            result = result if shift is None else there.let(result + shift)
            result = _clipped(there, result, limit)
        return [result, cell]

    before = [_needed(node, given, place, "the state") for place in states]
    found, last = _run(node, data, held, kept, bias, before, step, backwards=backwards)
    for place, one in zip(states, last, strict=True):
        node.importer.write(node, place, one)
    return found


@table("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(node: Node, *given: Expr | None) -> Expr:
    if node.option("diagonal_recurrent_tensors", False):
        raise node.refused("its recurrent weights are diagonals")
    found = _lstm(node, _steps(node, given), given, 1, (18, 19), norms=20)
    return node.as_result(_in_order(node, found))


@table("LSTM")
def lstm(node: Node, *given: Expr | None) -> list[Expr]:
    """One step."""
    if node.option("kernel_type", 0) == tflite.LSTMKernelType.BASIC:
        return _basic(node, given)
    data = node.let(op.expand_dims(_needed(node, given, 0, "data"), 0))
    found = _lstm(node, data, given, 1, (18, 19), norms=20)
    return [node.as_result(node.let(op.squeeze(found, (0,))))]


def _basic(node: Node, given: Given) -> list[Expr]:
    """One step with one matrix for data and state, which come in and go out."""
    names = ("data", "the state", "weights", "biases", "the cells")
    data, before, weight, bias, cells = (
        _needed(node, given, place, name) for place, name in enumerate(names)
    )
    joined = node.let(op.concatenate([data, before], axis=1))
    sums = node.let(op.nn.dense(joined, weight) + bias)
    i, new, forget, out = node.fields(op.split(sums, 4, axis=1).astuple(), 4)
    kept = node.let(op.sigmoid(i) * op.tanh(new) + op.sigmoid(forget) * cells)
    result = node.let(op.sigmoid(out) * op.tanh(kept))
    found = [result, kept, joined, sums][: len(node.results)]
    return [node.as_result(one, place) for place, one in enumerate(found)]


@table("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(node: Node, *given: Expr | None) -> list[Expr]:
    _no_more_inputs(node, given, 39)
    data = _steps(node, given)
    forward = _lstm(node, data, given, 1, (35, 36))
    backward = _lstm(node, data, given, 18, (37, 38), backwards=True)
    return _both(node, forward, backward)


# --- SVDF ----------------------------------------------------------------------------------------


@table("SVDF")
def svdf(node: Node, *given: Expr | None) -> Expr:
    """Filters of low rank: features of the newest step behind those of the steps before."""
    data, features, times = (_needed(node, given, place, "weights") for place in range(3))
    bias, state = _real(node, given, 3), _needed(node, given, 4, "the state")
    filters, memory = node.static_shape(times, "weights")
    rank = node.option("rank", 1)
    if rank < 1 or filters % rank:
        raise node.refused("the rank does not divide the filters", str(filters), str(rank))
    held = node.let(op.reshape(state, (0, filters, memory)))
    newest = node.let(op.nn.dense(data, features))
    older = op.strided_slice(held, [1], [memory], axes=(2,))
    kept = node.let(op.concatenate([older, op.expand_dims(newest, 2)], axis=2))
    node.importer.write(node, 4, node.let(op.reshape(kept, (0, filters * memory))))
    sums = node.let(op.sum(kept * times, axis=(2,)))
    apart = node.let(op.reshape(sums, (0, filters // rank, rank)))
    found = node.let(op.sum(apart, axis=(2,)))
    found = found if bias is None else node.let(found + bias)
    return node.as_result(activated(node, found))
