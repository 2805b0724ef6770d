"""Combine matrix products of the same input:

(nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))
->
%0 = nn.batch_matmul(expand_dims(%x, axis=0), stack((%w1, %w2, %w3)), transpose_b=True);
(squeeze(strided_slice(%0, …), …), squeeze(strided_slice(%0, …), …), squeeze(…))

for %x: Tensor[(4, 8), float32], weights %w1, %w2, %w3: Tensor[(16, 8), float32]

With `to_batch=False` the weights are concatenated into one wide product, and may differ in width:

CombineParallelDense(to_batch=False):
(nn.dense(%x, %w1), nn.dense(%x, %w2), nn.dense(%x, %w3))
->
%0 = nn.dense(%x, concatenate((%w1, %w2, %w3)));
(strided_slice(%0, …), strided_slice(%0, …), strided_slice(%0, …))

for %x: Tensor[(4, 8), float32], weights %w1, %w2, %w3: Tensor[(16, 8), float32]

so that the projections of attention and the gates of a recurrent cell share one product. A cost
model decides:

    gain     one kernel launch per product saved; the lanes that narrow products leave idle; and
             reading the input once instead of once per product
    cost     a part is written and read once more, unless that was necessary before: its consumer
             moves elements anyway, or reads another part as well

The constants below were measured. Outputs are computed in lanes, several at a time for each element
of the input. The weights are fixed and have no other use. Operators that follow in all branches are
combined as well (`parallel_branches`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from relay import dtypes, tree
from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType
from relay.op.facts import Trait
from relay.op.linalg.matmul import batch_matmul
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.binary import add
from relay.op.tensor.rearrange import concatenate, stack
from relay.op.tensor.reshape import reshape
from relay.op.tensor.shape import expand_dims, squeeze
from relay.op.tensor.slicing import strided_slice
from relay.transform.fusion.parallel_branches import (
    Branch,
    CombineParallel,
    Joining,
    concatenated,
    same_data,
    sliced,
)
from relay.transform.scales.weight_axes import is_own_weight

# Costs in nanoseconds: of a kernel launch, of a scalar product, of a byte of memory traffic.
LAUNCH = 200.0
MULTIPLY = 0.01
BYTE = 0.05
# Outputs are computed in vectors of LANES, and PANEL of them per element of the input that is
# loaded; loading it costs as much as a vector of lanes.
LANES = 16
PANEL = 64
# The number of rows assumed where it is dynamic.
ROWS = 64
# The number of uses to follow from a product.
REACH = 16


@frozen
class CombineParallelDense(CombineParallel):
    """Combines `min_num_branches` or more `nn.dense` of one input: into a batch of products of
    equal shapes, or, without `to_batch`, into one wide product."""

    to_batch: bool = True

    def joining(self) -> Joining:
        return _Batch() if self.to_batch else _Wide()


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
    """The number of outputs of each product."""
    return [shape[0] for p in products if (shape := static_shape(p.args[1])) is not None]


# --- a batch --------------------------------------------------------------------------------------


class _Batch(Joining):
    """Stacks products along a new first axis."""

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
        # each with the rank of one result, and a new first axis
        aligned = (1,) * (2 - len(shape)) + shape
        return reshape(stack(list(parts)), (len(parts), *aligned))

    def again(self, call: Call, args: tuple[Expr, ...], products: Sequence[Call]) -> Expr:
        if isinstance(call.op, OpDef) and call.op.name == "nn.bias_add":
            return add(*args)
        return super().again(call, args, products)

    def part(self, joined: Expr, branches: Sequence[Branch], index: int) -> Expr:
        return squeeze(strided_slice(joined, [index], [index + 1], axes=[0]), axis=[0])


# --- one wide product -----------------------------------------------------------------------------


class _Wide(Joining):
    """Concatenates products along the outputs."""

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
        units = _units(products)
        joined = concatenated(parts, own, call, _last_axis(call), units)
        if joined is None or _last_axis(call) == _last_axis(products[0]):
            return joined
        # rows were reshaped, so the operand must be the same for all rows
        alike = all(prod(shape) == shape[-1] for e in own if (shape := static_shape(e)) is not None)
        is_prelu = isinstance(call.op, OpDef) and call.op.name == "nn.prelu"
        return reshape(joined, (sum(units),)) if alike and not is_prelu else None

    def part(self, joined: Expr, branches: Sequence[Branch], index: int) -> Expr:
        products = [branch.calls[0] for branch in branches]
        part = sliced(joined, _last_axis(products[0]), _units(products), index)
        return reshape(part, _shape(branches[index].last)) if _reshapes(branches[0]) else part

    def step_key(self, call: Call, value: TensorType, result: TensorType) -> Any:
        if not _keeps_outputs(call, value, result):
            return super().step_key(call, value, result)
        return "reshape", result.shape[:-1]

    def again(self, call: Call, args: tuple[Expr, ...], products: Sequence[Call]) -> Expr:
        name = call.op.name if isinstance(call.op, OpDef) else ""
        if name == "reshape":
            return args[0]  # the shape of the rows does not matter later
        if name == "nn.bias_add" and _last_axis(call) != _last_axis(products[0]):
            return add(*args)
        return super().again(call, args, products)

    def is_worthwhile(self, branches: Sequence[Branch], flow: Flow) -> bool:
        products = [branch.calls[0] for branch in branches]
        units, weight = _units(products), static_shape(products[0].args[1])
        ty = tensor_type(products[0])
        if weight is None or ty is None:
            return False
        rows = prod(extent if isinstance(extent, int) else ROWS for extent in ty.shape[:-1])
        steps = sum(map(_steps, units)) - _steps(sum(units))
        saved = (len(branches) - 1) * LAUNCH + rows * weight[1] * steps * MULTIPLY
        copied = sum(u for u, i in zip(units, _copied(branches, flow), strict=True) if i)
        width = dtypes.to_numpy(ty.dtype).itemsize
        return saved > 2 * rows * copied * width * BYTE


def _shape(call: Call) -> tuple[int, ...]:
    shape = static_shape(call)
    assert shape is not None
    return shape


def _reshapes(branch: Branch) -> bool:
    """Whether a branch reshapes the rows."""
    return any(isinstance(c.op, OpDef) and c.op.name == "reshape" for c in branch.calls)


def _keeps_outputs(call: Call, value: TensorType, result: TensorType) -> bool:
    """Whether a call only reshapes the rows."""
    if not isinstance(call.op, OpDef) or call.op.name != "reshape" or not result.shape:
        return False
    return static_shape(call) is not None and value.shape[-1] == result.shape[-1] != 0


def _last_axis(call: Call) -> int:
    ty = tensor_type(call)
    return 0 if ty is None else len(ty.shape) - 1


def _steps(units: int) -> int:
    """The products per element of the input that take the time of that many outputs."""
    return -(-units // LANES) * LANES + -(-units // PANEL) * LANES


def _copied(branches: Sequence[Branch], flow: Flow) -> list[bool]:
    """Which parts of a combined product need an additional copy."""
    behind = [list(_elementwise_behind(branch.last, flow)) for branch in branches]
    counts = Counter(call for calls in behind for call in calls)
    return [
        not _is_moved(branch, flow) and not any(counts[call] > 1 for call in calls)
        for branch, calls in zip(branches, behind, strict=True)
    ]


def _elementwise_behind(value: Call, flow: Flow) -> Iterator[Call]:
    """The chain of operators that could be fused with a product."""
    for _ in range(REACH):
        users = flow.users(value)
        if len(users) != 1:
            return
        user, _ = users[0]
        if not isinstance(user, Call) or not isinstance(user.op, OpDef):
            return
        if user.op.fusion > FusionKind.BROADCAST:
            return
        yield user
        value = user


def _is_moved(branch: Branch, flow: Flow) -> bool:
    """Whether all users of a branch read it from memory anyway."""
    # nothing is fused with the product after a view
    least = FusionKind.ELEMWISE if _reshapes(branch) else FusionKind.INJECTIVE
    pending = [(branch.last, least)]
    for _ in range(REACH):
        if not pending:
            break
        current, least = pending.pop()
        for user, _ in flow.users(current):
            if not isinstance(user, Call) or not isinstance(user.op, OpDef):
                return False
            if Trait.RESHAPES in user.op.traits:
                pending.append((user, FusionKind.ELEMWISE))
            elif not least <= user.op.fusion <= FusionKind.INJECTIVE:
                return False
    return not pending
