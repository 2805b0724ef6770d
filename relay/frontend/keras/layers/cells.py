"""Cells of recurrent layers: what one step makes of its input and the state.

The products with inputs do not depend on the state: they are computed for all steps at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import Builder, static
from relay.frontend.keras.activations import CURVES, widely
from relay.frontend.keras.config import LayerInfo, layer_of
from relay.frontend.keras.layers.convolution import SPATIAL, convolved, windows_of
from relay.frontend.keras.layers.core import biased, product
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, bias
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr

# the layers that are their own cells
OF_LAYER = {
    "LSTM": "LSTMCell",
    "GRU": "GRUCell",
    "SimpleRNN": "SimpleRNNCell",
    "ConvLSTM1D": "ConvLSTMCell",
    "ConvLSTM2D": "ConvLSTMCell",
    "ConvLSTM3D": "ConvLSTMCell",
}


def variables(config: Mapping[str, Any]) -> Sequence[Slot]:
    """The variables of a cell."""
    return (Slot("kernel"), Slot("recurrent_kernel"), *bias(config))


# (node in the scope of a step, the prepared input, the state) -> the output, the next state
Step = Callable[[Builder, Expr, Sequence[Expr]], tuple[Expr, list[Expr]]]


@frozen
class Cell:
    """A cell of a layer."""

    prepare: Callable[[Expr], Expr]  # inputs of many steps as rows -> what the steps need of them
    step: Step
    states: Callable[[Expr], list[tuple[Dim, ...]]]  # rows of inputs -> shapes without the batch


def cell_of(node: Node) -> Cell:
    """The cell that a layer or a cell describes."""
    kind = OF_LAYER.get(node.info.kind, node.info.kind)
    makers = {
        "LSTMCell": _lstm,
        "GRUCell": _gru,
        "SimpleRNNCell": _simple,
        "ConvLSTMCell": _convolutional,
        "StackedRNNCells": _stacked,
    }
    if kind not in makers:
        raise node.refused(f"there is no cell `{kind}`", ", ".join(makers))
    return makers[kind](node)


def _function(node: Node, name: str, default: str) -> Callable[[Builder, Expr], Expr]:
    """An activation in the scope of a step."""
    given: Any = node.config.get(name, default)
    if isinstance(given, dict):
        given = given.get("config") if isinstance(given.get("config"), str) else None
    given = "linear" if given is None else given
    if given not in CURVES:
        raise node.refused(f"there is no activation `{given}` for it")
    curve = CURVES[given]
    return lambda there, x: there.let(widely(there, there.let(x), lambda wide: curve(there, wide)))


def _split(there: Builder, value: Expr, count: int, axis: int = -1) -> list[Expr]:
    return there.fields(op.split(value, count, axis=axis).astuple(), count)


def _units(node: Node) -> list[tuple[Dim, ...]]:
    return [(node.option("units", 0),)]


def _simple(node: Node) -> Cell:
    kernel, recurrent = node.needed("kernel"), node.needed("recurrent_kernel")
    function = _function(node, "activation", "tanh")

    def prepare(rows: Expr) -> Expr:
        return biased(node, product(node, rows, kernel), node.weight("bias"))

    def step(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        new = function(there, own + op.nn.matmul(state[0], recurrent))
        return new, [new]

    return Cell(prepare, step, lambda rows: _units(node))


def _lstm(node: Node) -> Cell:
    kernel, recurrent = node.needed("kernel"), node.needed("recurrent_kernel")
    function = _function(node, "activation", "tanh")
    gate = _function(node, "recurrent_activation", "sigmoid")

    def prepare(rows: Expr) -> Expr:
        return biased(node, product(node, rows, kernel), node.weight("bias"))

    def step(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        before, carry = state
        sums = there.let(own + op.nn.matmul(before, recurrent))
        i, f, c, o = _split(there, sums, 4)
        kept = there.let(gate(there, f) * carry + gate(there, i) * function(there, c))
        new = there.let(gate(there, o) * function(there, kept))
        return new, [new, kept]

    return Cell(prepare, step, lambda rows: _units(node) * 2)


def _gru(node: Node) -> Cell:
    kernel, recurrent = node.needed("kernel"), node.needed("recurrent_kernel")
    function = _function(node, "activation", "tanh")
    gate = _function(node, "recurrent_activation", "sigmoid")
    units = node.option("units", 0)
    added = node.weight("bias")
    input_bias, state_bias = added, None
    # Keras 1 and early Keras 2 have no such option, and reset before the product
    after = bool(node.option("reset_after", True))
    if added is not None and after:
        input_bias, state_bias = (
            node.let(op.squeeze(op.strided_slice(added, (place,), (place + 1,), axes=(0,)), (0,)))
            for place in (0, 1)
        )

    def prepare(rows: Expr) -> Expr:
        return biased(node, product(node, rows, kernel), input_bias)

    def reset_after(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        (before,) = state
        inner = there.let(op.nn.matmul(before, recurrent))
        if state_bias is not None:
            inner = there.let(inner + state_bias)
        x_z, x_r, x_h = _split(there, own, 3)
        h_z, h_r, h_h = _split(there, inner, 3)
        z, r = gate(there, x_z + h_z), gate(there, x_r + h_r)
        return mixed(there, z, function(there, x_h + r * h_h), before)

    def mixed(there: Builder, z: Expr, new: Expr, before: Expr) -> tuple[Expr, list[Expr]]:
        found = there.let(z * before + (there.number(1, z) - z) * new)
        return found, [found]

    if after:
        return Cell(prepare, reset_after, lambda rows: _units(node))
    gates = node.let(op.strided_slice(recurrent, (0,), (2 * units,), axes=(1,)))
    last = node.let(op.strided_slice(recurrent, (2 * units,), (3 * units,), axes=(1,)))

    def reset_before(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        (before,) = state
        h_z, h_r = _split(there, there.let(op.nn.matmul(before, gates)), 2)
        x_z, x_r, x_h = _split(there, own, 3)
        z, r = gate(there, x_z + h_z), gate(there, x_r + h_r)
        reset = there.let(r * before)
        return mixed(there, z, function(there, x_h + op.nn.matmul(reset, last)), before)

    return Cell(prepare, reset_before, lambda rows: _units(node))


def _convolutional(node: Node) -> Cell:
    """An LSTM whose products are convolutions."""
    kernel, recurrent = node.needed("kernel"), node.needed("recurrent_kernel")
    function = _function(node, "activation", "tanh")
    gate = _function(node, "recurrent_activation", "sigmoid")
    rank, last = node.rank(kernel) - 2, node.channels_last
    *sizes, _, units = node.static_shape(kernel, "the kernel")
    *inner, _, _ = node.static_shape(recurrent, "the kernel of the state")
    axis, layout = (-1 if last else 1), f"{SPATIAL[rank]}IO"
    ones = (1,) * rank

    def prepare(rows: Expr) -> Expr:
        strides, dilations = (node.whole_numbers(one, rank) for one in ("strides", "dilation_rate"))
        padding = node.option("padding", "valid").lower()
        windows = windows_of(node, rows, sizes, strides, dilations, padding, last)
        sums = convolved(node, rows, kernel, windows, 1, units, layout, last)
        return biased(node, sums, node.weight("bias"), axis)

    def step(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        before, carry = state
        assert isinstance(there, Node)  # a step is made from the node of its layer
        windows = windows_of(there, before, inner, ones, ones, "same", last)
        sums = convolved(there, before, recurrent, windows, 1, units, layout, last)
        i, f, c, o = _split(there, there.let(own + sums), 4, axis)
        kept = there.let(gate(there, f) * carry + gate(there, i) * function(there, c))
        new = there.let(gate(there, o) * function(there, kept))
        return new, [new, kept]

    def states(prepared: Expr) -> list[tuple[Dim, ...]]:
        shape = list(node.shape(prepared)[1:])
        shape[-1 if last else 0] = units // 4
        if static(shape) is None:
            raise node.refused("the size of images must be known", hint=node.give_sizes)
        return [tuple(shape)] * 2

    return Cell(prepare, step, states)


def _stacked(node: Node) -> Cell:
    """Stacked cells: each takes the output of the one before."""
    parts = inner_cells(node)
    cells = [cell_of(one) for one in parts]
    sizes = [2 if one.info.kind == "LSTMCell" else 1 for one in parts]

    def step(there: Builder, own: Expr, state: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
        following: list[Expr] = []
        value, place = own, 0
        for number, (cell, count) in enumerate(zip(cells, sizes, strict=True)):
            if number:
                assert isinstance(there, Node)  # a step is made from the node of its layer
                value = cell_of(there.sub(parts[number].info, parts[number].store)).prepare(value)
            value, new = cell.step(there, value, state[place : place + count])
            place += count
            following += new
        return value, following

    return Cell(
        cells[0].prepare, step, lambda rows: [one for cell in cells for one in cell.states(rows)]
    )


def inner_cells(node: Node) -> list[Node]:
    """The cells of stacked ones."""
    given: Any = node.config.get("cells")
    infos: list[LayerInfo] = [layer_of(one) for one in given] if isinstance(given, list) else []
    if not infos:
        raise node.refused("it has no cells")
    if any(one.kind not in ("LSTMCell", "GRUCell", "SimpleRNNCell") for one in infos):
        raise node.refused(
            "it has a cell that is not Keras' own", found=", ".join(one.kind for one in infos)
        )
    stores = node.store.items("cells", [one.kind for one in infos])
    pairs = zip(infos, stores, strict=True)
    return [node.sub(info, store, f"cells.{place}") for place, (info, store) in enumerate(pairs)]
