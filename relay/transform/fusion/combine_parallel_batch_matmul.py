"""Combine batch_matmuls with the same first operand:

(nn.batch_matmul(%x, %y1), nn.batch_matmul(%x, %y2), nn.batch_matmul(%x, %y3))
->
%0 = nn.batch_matmul(%x, concatenate((%y1, %y2, %y3), axis=2));
(strided_slice(%0, …), strided_slice(%0, …), strided_slice(%0, …))

for %x: Tensor[(2, 4, 8), float32], weights %y1, %y2, %y3: Tensor[(2, 8, 16), float32]

The second operands are fixed, or parameters of the function, so nothing is computed earlier than
before. Operators that follow in all branches are combined as well (`parallel_branches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.immutable import frozen
from relay.ir.compare import data_key
from relay.ir.expr import Call, Expr, Var
from relay.op.opdef import OpDef
from relay.op.tensor.rearrange import concatenate
from relay.transform.fusion.parallel_branches import CombineParallel, Joining, SideBySide, same_data


@frozen
class CombineParallelBatchMatmul(CombineParallel):
    """Combines `min_num_branches` or more `nn.batch_matmul` with the same first operand."""

    def joining(self) -> Joining:
        return _Columns()


class _Columns(SideBySide):
    """Concatenates along the columns."""

    def key(self, call: Call, flow: Flow) -> Any:
        if not isinstance(call.op, OpDef) or call.op.name != "nn.batch_matmul":
            return None
        right, shape = call.args[1], static_shape(call.args[1])
        ty = tensor_type(right)
        settled = flow.is_fixed(right) or isinstance(flow.meant(right), Var)
        if ty is None or shape is None or not settled or right is call.args[0]:
            return None
        axis = _columns(call)
        return same_data(call), data_key(call.attrs), shape[0], shape[3 - axis], ty.dtype

    def join(self, products: Sequence[Call], weights: Sequence[Expr]) -> Expr:
        first = products[0]
        wide = concatenate(list(weights), axis=_columns(first))
        return tree.replace(first, args=(first.args[0], wide))

    def axis(self, products: Sequence[Call]) -> int:
        return 2

    def extents(self, products: Sequence[Call]) -> list[int]:
        shapes = [(static_shape(product.args[1]), _columns(product)) for product in products]
        return [shape[axis] for shape, axis in shapes if shape is not None]


def _columns(call: Call) -> int:
    """The axis of the second operand that has the columns of the result."""
    known: Any = call.attrs
    return 1 if known.transpose_b else 2
