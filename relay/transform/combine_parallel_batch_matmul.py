"""Make one batch of products of several with the same first matrices:

(nn.batch_matmul(%x, %y1), nn.batch_matmul(%x, %y2), nn.batch_matmul(%x, %y3))
->
%0 = nn.batch_matmul(%x, concatenate((%y1, %y2, %y3), axis=2));
(strided_slice(%0, …), strided_slice(%0, …), strided_slice(%0, …))

The second matrices are fixed, or parameters of the function: then nothing has to be computed sooner
than it was. What follows in all branches joins as well (`parallel_branches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay import tree
from relay.ir.compare import data_key
from relay.ir.expr import Call, Expr, Function, Var
from relay.ir.module import IRModule
from relay.op.opdef import OpDef
from relay.op.rearrange import concatenate
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.parallel_branches import (
    Branch,
    Joining,
    check_branches,
    concatenated,
    join_branches,
    same_data,
    sliced,
)
from relay.transform.value_flow import Flow, static_shape, tensor_type


@dataclass(frozen=True)
class CombineParallelBatchMatmul(FunctionPass):
    """Joins `min_num_branches` or more `nn.batch_matmul` with one first argument."""

    opt_level = 4
    required = ("InferType",)
    min_num_branches: int = 3

    def __post_init__(self) -> None:
        check_branches(self.name, self.min_num_branches)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        return join_branches(function, _Columns(), self.min_num_branches)


class _Columns(Joining):
    """Side by side along the columns."""

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

    def operand(
        self, parts: Sequence[Expr], own: Sequence[Expr], call: Call, products: Sequence[Call]
    ) -> Expr | None:
        return concatenated(parts, own, call, 2, _extents(products))

    def part(self, joined: Expr, branches: Sequence[Branch], index: int) -> Expr:
        products = [branch.calls[0] for branch in branches]
        return sliced(joined, 2, _extents(products), index)


def _columns(call: Call) -> int:
    """The axis of the second matrices that the columns of the result come from."""
    known: Any = call.attrs
    return 1 if known.transpose_b else 2


def _extents(products: Sequence[Call]) -> list[int]:
    """How many columns the products have."""
    shapes = [(static_shape(product.args[1]), _columns(product)) for product in products]
    return [shape[axis] for shape, axis in shapes if shape is not None]
