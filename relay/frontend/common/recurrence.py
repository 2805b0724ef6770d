"""Recurrent layers: loops over the steps of sequences.

    for t: h = f(x[t] W' + h R' + b); y[t] = h

The products with the inputs of all steps are one product before the loop. A reverse layer reads its
sequences from the end; a sequence shorter than others keeps its state after its end, and gives
zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import op
from relay.frontend.common.builder import Builder
from relay.frontend.common.loops import counted
from relay.immutable import frozen
from relay.ir.expr import Expr

Activation = Callable[[Expr], Expr]


@frozen
class Layer:
    """One direction of a recurrent layer."""

    node: Builder
    place: int  # the number of the direction
    inputs: Expr  # (steps, batch, inputs)
    weight: Expr  # (gates * hidden, inputs)
    recurrence: Expr  # (gates * hidden, hidden)
    input_bias: Expr | None  # (gates * hidden)
    state_bias: Expr | None
    lengths: Expr | None  # (batch)
    backwards: bool
    activations: Sequence[Activation]
    hidden: int
    state: tuple[Expr, ...]  # (batch, hidden) each
    product: Product

    def run(self, step: Step) -> tuple[Expr, list[Expr]]:
        """The outputs (steps, batch, hidden), and the last state."""
        node = self.node
        data = self._in_direction(self.inputs)
        steps = node.shape(data)[0]
        prepared = self._prepared(data)
        length = node.size(data, 0)

        def body(
            there: Builder, number: Expr, state: Sequence[Expr]
        ) -> tuple[list[Expr], list[Expr]]:
            own = there.let(op.take(prepared, number, axis=0, mode="clip"))
            following = [there.let(one) for one in step(there, self, own, list(state))]
            row = following[0]
            if self.lengths is not None:
                inside = there.let(
                    op.expand_dims(op.cast(number, "int32") < op.cast(self.lengths, "int32"), 1)
                )
                row = there.let(op.where(inside, row, op.zeros_like(row)))
                following = [
                    there.let(op.where(inside, new, old))
                    for new, old in zip(following, state, strict=True)
                ]
            return following, [row]

        last, rows = counted(node, body, length, steps, self.state)
        return self._in_direction(rows[0]), last

    def _prepared(self, data: Expr) -> Expr:
        """The products of the inputs of all steps: (steps, batch, gates * hidden)."""
        node = self.node
        steps, batch, _ = node.shape(data)
        gates, _ = node.static_shape(self.weight, "the weights")
        rows = node.let(op.reshape(data, (-3, 0)))
        flat = self.product(node, self, rows, False)
        if isinstance(steps, int) or isinstance(batch, int):
            codes = (-1, batch) if isinstance(batch, int) else (steps, -1)
            product: Expr = op.reshape(flat, (*codes, gates))  # type: ignore[arg-type]
        else:
            apart = {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}
            product = op.reshape_like(node.let(flat), data, **apart)
        if self.input_bias is not None:
            product = product + self.input_bias
        return node.let(product)

    def _in_direction(self, data: Expr) -> Expr:
        """Sequences in the order of the direction."""
        if not self.backwards:
            return data
        if self.lengths is None:
            return self.node.let(op.reverse(data, axis=0))
        lengths = op.cast(self.lengths, "int32")
        return self.node.let(op.reverse_sequence(data, lengths, seq_axis=0, batch_axis=1))

    def gates(self, node: Builder, value: Expr, count: int) -> list[Expr]:
        """The parts of (batch, gates * hidden)."""
        return node.fields(op.split(value, count, axis=1).astuple(), count)

    def recurrent(self, node: Builder, state: Expr) -> Expr:
        product = self.product(node, self, state, True)
        return product if self.state_bias is None else product + self.state_bias


# (node, layer, rows, whether they are states) -> their products with the weights
Product = Callable[[Builder, Layer, Expr, bool], Expr]


def plain_product(node: Builder, layer: Layer, rows: Expr, is_state: bool) -> Expr:
    return op.nn.dense(rows, layer.recurrence if is_state else layer.weight)


# (node, layer, the inputs of the step, state) -> the next state; its first part is the output
Step = Callable[[Builder, Layer, Expr, list[Expr]], list[Expr]]
