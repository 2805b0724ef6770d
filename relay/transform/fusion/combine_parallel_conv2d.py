"""Combine convolutions of the same input:

(nn.relu(nn.conv2d(%x, %w1)), nn.relu(nn.conv2d(%x, %w2)), nn.relu(nn.conv2d(%x, %w3)))
->
%0 = nn.relu(nn.conv2d(%x, concatenate((%w1, %w2, %w3))));
(strided_slice(%0, …), strided_slice(%0, …), strided_slice(%0, …))

for %x: Tensor[(1, 4, 5, 5), float32], weights %w1, %w2, %w3: Tensor[(8, 4, 1, 1), float32]

Attributes are the same except for the channels, there is one group, and the weights are fixed and
have no other use. Operators that follow in all branches are combined as well (`parallel_branches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay import tree
from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.immutable import frozen
from relay.ir.compare import data_key
from relay.ir.expr import Call, Expr
from relay.op.building.layouts import parse_layout
from relay.op.opdef import OpDef
from relay.op.tensor.rearrange import concatenate
from relay.transform.fusion.parallel_branches import CombineParallel, Joining, SideBySide, same_data
from relay.transform.scales.weight_axes import is_own_weight


@frozen
class CombineParallelConv2D(CombineParallel):
    """Combines `min_num_branches` or more convolutions of one input."""

    def joining(self) -> Joining:
        return _Convolutions()


class _Convolutions(SideBySide):
    """Concatenates along the channels."""

    def key(self, call: Call, flow: Flow) -> Any:
        if not isinstance(call.op, OpDef) or call.op.name != "nn.conv2d":
            return None
        known: Any = call.attrs
        weight, shape = tensor_type(call.args[1]), static_shape(call.args[1])
        rows = _only_place(known.kernel_layout, "O")
        channels = _only_place(known.out_layout or known.data_layout, "C")
        if weight is None or shape is None or rows is None or channels is None:
            return None
        if known.groups != 1 or not is_own_weight(call.args[1], flow):
            return None
        window = (*shape[:rows], *shape[rows + 1 :])
        alike = data_key(replace(known, channels=None, kernel_size=None))
        return same_data(call), alike, window, weight.dtype

    def join(self, products: Sequence[Call], weights: Sequence[Expr]) -> Expr:
        first = products[0]
        known: Any = first.attrs
        rows = _only_place(known.kernel_layout, "O")
        total = None if known.channels is None else sum(self.extents(products))
        args = first.args[0], concatenate(list(weights), axis=rows)
        return tree.replace(first, args=args, attrs=replace(known, channels=total))

    def axis(self, products: Sequence[Call]) -> int:
        known: Any = products[0].attrs
        axis = _only_place(known.out_layout or known.data_layout, "C")
        assert axis is not None
        return axis

    def extents(self, products: Sequence[Call]) -> list[int]:
        known: Any = products[0].attrs
        rows = _only_place(known.kernel_layout, "O")
        shapes = [static_shape(product.args[1]) for product in products]
        return [shape[rows] for shape in shapes if shape is not None and rows is not None]


def _only_place(layout: str, letter: str) -> int | None:
    """The position of an axis in a layout; None if it is blocked."""
    found = parse_layout(layout)
    places = [] if found is None else found.places(letter)
    return places[0] if len(places) == 1 else None
