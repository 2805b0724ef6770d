"""Recurrent layers: loops over the steps of sequences, which are recursive functions of Relay.

A masked step keeps the state, and gives the output of the step before, or zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import Builder, static
from relay.frontend.common.loops import counted
from relay.frontend.keras.config import layer_of
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers import cells
from relay.frontend.keras.layers.cells import Cell
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, inside
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Table()


def _own_cell(config: Mapping[str, Any]) -> Sequence[Slot]:
    return inside("cell", cells.variables(config))


@table("LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", variables=_own_cell)
def recurrent(node: Node, inputs: Any, **more: Any) -> Any:
    config = dict(node.config)
    return _run(node, cells.cell_of(_as_cell(node, config)), inputs, **more)


def _as_cell(node: Node, config: Mapping[str, Any]) -> Node:
    """The cell of a layer that describes it in its own configuration."""
    info = layer_of({"class_name": cells.OF_LAYER[node.info.kind], "config": config})
    return node.sub(info, node.store.part("cell"), "cell")


@table("LSTMCell", "GRUCell", "SimpleRNNCell", "ConvLSTMCell", variables=cells.variables)
def one_step(node: Node, inputs: Expr, states: Any, **_: Any) -> Any:
    """A cell that is called by itself."""
    cell = cells.cell_of(node)
    given = states if isinstance(states, list) else [states]
    found, following = cell.step(node, cell.prepare(inputs), given)
    return [found, *following]


def _stacked_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    given = config.get("cells")
    infos = [layer_of(one) for one in given] if isinstance(given, list) else []
    return [
        slot
        for place, one in enumerate(infos)
        for slot in inside(f"cells.{place}", cells.variables(one.config))
    ]


@table("StackedRNNCells", variables=_stacked_slots)
def stacked(node: Node, inputs: Expr, states: Any, **_: Any) -> Any:
    return one_step(node, inputs, states)


@table("RNN")
def rnn(node: Node, inputs: Any, **more: Any) -> Any:
    info = node.layer("cell")
    part = node.sub(info, node.store.part("cell"), "cell")
    return _run(node, cells.cell_of(part), inputs, **more)


def _run(
    node: Node,
    cell: Cell,
    inputs: Any,
    initial_state: Any = None,
    mask: Expr | None = None,
    **_: Any,
) -> Any:
    """The outputs of a layer for sequences (batch, steps, …)."""
    if node.option("stateful", False):
        hint = "build it with stateful=False, and pass its states as inputs"
        raise node.refused("it keeps its state from call to call", hint=hint)
    if isinstance(inputs, list):
        inputs, *states = inputs
        initial_state = states or initial_state
    hidden = mask if mask is not None else node.mask(inputs)
    rank = node.rank(inputs)
    data = node.let(op.transpose(inputs, (1, 0, *range(2, rank))))
    keep = None
    if hidden is not None:
        keep = node.let(op.transpose(node.as_dtype(hidden, "bool"), (1, 0)))
    if node.option("go_backwards", False):
        data = node.let(op.reverse(data, axis=0))
        keep = None if keep is None else node.let(op.reverse(keep, axis=0))
    prepared = _prepared(node, cell, data)
    begin = _initial(node, cell, prepared, data, initial_state)
    whole = bool(node.option("return_sequences", False))
    found, last = _loop(node, cell, prepared, keep, begin, whole)
    if whole:
        found = node.let(op.transpose(found, (1, 0, *range(2, node.rank(found)))))
    found = node.with_mask(found, hidden if whole else None)
    return [found, *last] if node.option("return_state", False) else found


def _prepared(node: Node, cell: Cell, data: Expr) -> Expr:
    """The products of the inputs of all steps: (steps, batch, …)."""
    shape = node.shape(data)
    rows = node.let(op.reshape(data, (-3, *[0] * (len(shape) - 2))))
    made = node.let(cell.prepare(rows))
    rest = static(node.shape(made)[1:])
    if rest is None:
        raise node.refused("the size of what a step gets must be known", hint=node.give_sizes)
    ends = shape[:2]
    codes = [one if isinstance(one, int) else -1 for one in ends]
    if codes.count(-1) <= 1 and 0 not in codes:
        return node.let(op.reshape(made, (*codes, *rest)))
    apart = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}
    return node.let(op.reshape_like(made, data, **apart))


def _initial(node: Node, cell: Cell, prepared: Expr, data: Expr, given: Any) -> list[Expr]:
    """The states at the beginning, zeros where none are given."""
    if given is not None:
        flat: list[Expr] = []
        left = [given]
        while left:
            one = left.pop(0)
            if isinstance(one, list):
                left = [*one, *left]
            else:
                flat.append(one)
        return [node.let(one) for one in flat]
    shapes = cell.states(_first(node, prepared))
    dtype = node.dtype(prepared)
    return [node.zeros_along(data, 1, _numbers(node, one), dtype) for one in shapes]


def _numbers(node: Node, shape: Sequence[Dim]) -> tuple[int, ...]:
    found = static(shape)
    if found is None:
        raise node.refused("the size of the state must be known", hint=node.give_sizes)
    return found


def _loop(
    node: Node, cell: Cell, prepared: Expr, keep: Expr | None, begin: Sequence[Expr], whole: bool
) -> tuple[Expr, list[Expr]]:
    """The outputs of all steps (steps, batch, …), or that of the last one, and the last state."""
    zeros_outputs = bool(node.option("zero_output_for_mask", False))
    extra: list[Expr] = []
    if not whole or (keep is not None and not zeros_outputs):
        extra = [_zeros_like_output(node, cell, prepared, begin)]
    count = len(begin)

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        own = there.let(op.take(prepared, number, axis=0, mode="clip"))
        output, following = cell.step(there, own, list(state[:count]))
        row = there.let(output)
        following = [there.let(one) for one in following]
        if keep is not None:
            counts = there.let(op.take(keep, number, axis=0, mode="clip"))

            def chosen(new: Expr, old: Expr) -> Expr:
                behind = there.rank(new) - 1
                there_counts = op.expand_dims(counts, 1, num_newaxis=behind)
                return there.let(op.where(there_counts, new, old))

            pairs = zip(following, state[:count], strict=True)
            following = [chosen(new, old) for new, old in pairs]
            before = there.let(op.zeros_like(row)) if zeros_outputs else state[count]
            row = chosen(row, before)
        return [*following, *([row] if extra else [])], [row] if whole else []

    length = node.size(prepared, 0)
    last, rows = counted(node, body, length, node.shape(prepared)[0], [*begin, *extra])
    return rows[0] if whole else last[count], last[:count]


def _zeros_like_output(node: Node, cell: Cell, prepared: Expr, begin: Sequence[Expr]) -> Expr:
    """Zeros of the shape of an output."""
    there = node.inside()
    output, _ = cell.step(there, _first(there, prepared), list(begin))
    ty = there.tensor_type(there.let(output))
    return node.zeros_along(begin[0], 0, _numbers(node, ty.shape[1:]), ty.dtype)


def _first(node: Builder, data: Expr) -> Expr:
    """The results of the first step."""
    return node.let(op.squeeze(op.strided_slice(data, (0,), (1,), axes=(0,)), (0,)))
