"""Make one product of several matrix products of the same input:

(nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))
->
%0 = nn.batch_matmul(expand_dims(%x, 0), stack((%w1, %w2, %w3)), transpose_b=True);
(squeeze(strided_slice(%0, …)), squeeze(strided_slice(%0, …)), squeeze(strided_slice(%0, …)))

for matrices %x and weights of one shape. With `to_batch=False` the weights lie side by side in one
wide product, and may have different widths:

%0 = nn.dense(%x, concatenate((%w1, %w2, %w3)));
(strided_slice(%0, …), strided_slice(%0, …), strided_slice(%0, …))

so that the projections of attention share one. That is done where it is worth its while:

    saved    a launch for every product but one, and the lanes that narrow products leave idle
    spent    a part that is not read by what moves elements anyway has to be copied, or is written
             and read once more because what follows it was computed with the product before

The weights are fixed and used by nobody else. What follows in all branches joins as well
(`parallel_branches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay import dtypes, tree
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.op.binary import add
from relay.op.matmul import batch_matmul
from relay.op.opdef import FusionKind, OpDef
from relay.op.rearrange import concatenate, stack
from relay.op.reshape import reshape
from relay.op.shape import expand_dims, squeeze
from relay.op.slicing import strided_slice
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
from relay.transform.weight_axes import is_own_weight

# What things cost, in nanoseconds: a kernel more, a product of two numbers, a byte of memory.
LAUNCH = 1000.0
MULTIPLY = 0.02
BYTE = 0.1
# Outputs of a product are computed in groups of so many.
LANES = 16
# Where extents are named or unknown, so many rows are assumed.
ROWS = 64

# Operators that leave a tensor where it is.
VIEWS = frozenset({"reshape", "expand_dims", "squeeze", "nn.batch_flatten"})


@dataclass(frozen=True)
class CombineParallelDense(FunctionPass):
    """Joins `min_num_branches` or more `nn.dense` of one input: into a batch of products of equal
    shapes, or, without `to_batch`, into one wide product."""

    opt_level = 4
    required = ("InferType",)
    min_num_branches: int = 3
    to_batch: bool = True

    def __post_init__(self) -> None:
        check_branches(self.name, self.min_num_branches)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        joining = _Batch() if self.to_batch else _SideBySide()
        return join_branches(function, joining, self.min_num_branches)


def _is_candidate(call: Call, flow: Flow) -> bool:
    return (
        isinstance(call.op, OpDef)
        and call.op.name == "nn.dense"
        and static_shape(call.args[1]) is not None
        and is_own_weight(call.args[1], flow)
    )


def _elements(call: Call) -> tuple[Any, ...]:
    """The element types of the weight and of the result."""
    weight, result = tensor_type(call.args[1]), tensor_type(call)
    return (weight and weight.dtype, result and result.dtype)


def _units(products: Sequence[Call]) -> list[int]:
    """How many outputs the products have."""
    return [shape[0] for p in products if (shape := static_shape(p.args[1])) is not None]


# --- a batch --------------------------------------------------------------------------------------


class _Batch(Joining):
    """One behind the other, along a new first axis."""

    def key(self, call: Call, flow: Flow) -> Any:
        ty = tensor_type(call)
        if ty is None or len(ty.shape) != 2 or not _is_candidate(call, flow):
            return None
        return same_data(call), static_shape(call.args[1]), _elements(call)

    def join(self, products: Sequence[Call], weights: Sequence[Expr]) -> Expr:
        first = products[0]
        known: Any = first.attrs
        data = expand_dims(first.args[0], axis=0)
        return batch_matmul(
            data, stack(list(weights)), out_dtype=known.out_dtype or "", transpose_b=True
        )

    def operand(
        self, parts: Sequence[Expr], own: Sequence[Expr], call: Call, products: Sequence[Call]
    ) -> Expr | None:
        shapes = {static_shape(e) for e in own}
        (shape, *others) = shapes
        known: Any = call.attrs
        name = call.op.name if isinstance(call.op, OpDef) else ""
        if others or shape is None or len(shape) > 2 or name == "nn.prelu":
            return None
        if name == "nn.bias_add" and known.axis % 2 != 1:
            return None
        # each of the rank of one result, and a new axis in front
        aligned = (1,) * (2 - len(shape)) + shape
        return reshape(stack(list(parts)), (len(parts), *aligned))

    def again(self, call: Call, args: tuple[Expr, ...]) -> Expr:
        if isinstance(call.op, OpDef) and call.op.name == "nn.bias_add":
            return add(*args)
        return super().again(call, args)

    def part(self, joined: Expr, products: Sequence[Call], index: int) -> Expr:
        return squeeze(strided_slice(joined, [index], [index + 1], axes=[0]), axis=[0])


# --- side by side ---------------------------------------------------------------------------------


class _SideBySide(Joining):
    """Along the outputs."""

    def key(self, call: Call, flow: Flow) -> Any:
        return (same_data(call), _elements(call)) if _is_candidate(call, flow) else None

    def join(self, products: Sequence[Call], weights: Sequence[Expr]) -> Expr:
        first = products[0]
        known: Any = first.attrs
        units = None if known.units is None else sum(_units(products))
        attrs = type(known)(**{**dict(known.items()), "units": units})
        return tree.replace(first, args=(first.args[0], concatenate(list(weights))), attrs=attrs)

    def operand(
        self, parts: Sequence[Expr], own: Sequence[Expr], call: Call, products: Sequence[Call]
    ) -> Expr | None:
        return concatenated(parts, own, call, _last_axis(products), _units(products))

    def part(self, joined: Expr, products: Sequence[Call], index: int) -> Expr:
        return sliced(joined, _last_axis(products), _units(products), index)

    def is_worthwhile(self, branches: Sequence[Branch], flow: Flow) -> bool:
        products = [branch.calls[0] for branch in branches]
        units, depth = _units(products), static_shape(products[0].args[1])
        ty = tensor_type(products[0])
        if depth is None or ty is None:
            return False
        rows = prod(extent if isinstance(extent, int) else ROWS for extent in ty.shape[:-1])
        idle = sum(map(_in_groups, units)) - _in_groups(sum(units))
        saved = (len(branches) - 1) * LAUNCH + rows * depth[1] * idle * MULTIPLY
        copied = sum(u for u, b in zip(units, branches, strict=True) if _is_copied(b.last, flow))
        width = dtypes.to_numpy(ty.dtype).itemsize
        return saved > 2 * rows * copied * width * BYTE


def _last_axis(products: Sequence[Call]) -> int:
    ty = tensor_type(products[0])
    return 0 if ty is None else len(ty.shape) - 1


def _in_groups(units: int) -> int:
    return -(-units // LANES) * LANES


def _is_copied(value: Call, flow: Flow) -> bool:
    """Whether a part of a product costs a copy: unless all who use it move its elements."""
    pending: list[Call] = [value]
    while pending:
        users = flow.users(pending.pop())
        for user, _ in users:
            if not isinstance(user, Call) or not isinstance(user.op, OpDef):
                return True
            if user.op.name in VIEWS:
                pending.append(user)
            elif user.op.fusion is not FusionKind.INJECTIVE:
                return True
    return False
