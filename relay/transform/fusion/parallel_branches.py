"""Combine parallel products of one value, with the operators that follow, into one product:

(nn.relu(add(nn.dense(%x, %w1), %b1)), nn.relu(add(nn.dense(%x, %w2), %b2)))
->
%0 = nn.relu(add(nn.dense(%x, concatenate((%w1, %w2))), concatenate((%b1, %b2))));
(strided_slice(%0, …), strided_slice(%0, …))

A branch is a product and the chain of elementwise and broadcast operators that follow it. Branches
are combined as far as their operators are the same. Other operands must be fixed
(`relay.analysis.value_flow`), so that they are combined once; they lie along the channels, or are
the same for all branches.

Combined branches are in one block, so that nothing is computed unnecessarily.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from relay import tree
from relay.analysis.normal_forms import Blocks
from relay.analysis.purity import manages_memory
from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.compare import data_key
from relay.ir.expr import Call, Constant, Expr, Function, Let, Syntax
from relay.ir.redirect import redirect
from relay.ir.scopes import Scope
from relay.ir.types import TensorType
from relay.nd import Weight
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.rearrange import concatenate
from relay.op.tensor.reshape import reshape
from relay.op.tensor.slicing import strided_slice
from relay.transform.base import FunctionPass


@frozen
class Branch:
    """A product and the operators that follow it; the last one is used elsewhere."""

    calls: tuple[Call, ...]

    @property
    def last(self) -> Call:
        return self.calls[-1]


class Joining(ABC):
    """How products of one kind are combined; the result of a branch is a part of that."""

    @abstractmethod
    def key(self, call: Call, flow: Flow) -> Any:
        """A key that is equal for products that can be combined; None for other calls."""

    @abstractmethod
    def join(self, products: Sequence[Call], weights: Sequence[Expr]) -> Expr:
        """The combined product."""

    @abstractmethod
    def operand(
        self, parts: Sequence[Expr], own: Sequence[Expr], call: Call, products: Sequence[Call]
    ) -> Expr | None:
        """Fixed operands of a call after the products as one operand; None if they cannot be
        combined. `own` are typed and in the program, `parts` can be used anywhere."""

    @abstractmethod
    def part(self, joined: Expr, branches: Sequence[Branch], index: int) -> Expr:
        """The result of one branch."""

    def step_key(self, call: Call, value: TensorType, result: TensorType) -> Any:
        """A key that is equal for calls after products that can be combined; None if `call`, from
        `value` to `result`, ends its branch."""
        assert isinstance(call.op, OpDef)
        if call.op.fusion > FusionKind.BROADCAST or result.shape != value.shape:
            return None
        return id(call.op), data_key(call.attrs), len(call.args), result.dtype

    def again(self, call: Call, args: tuple[Expr, ...], products: Sequence[Call]) -> Expr:
        """A call after a product, over the combined one."""
        return tree.replace(call, args=args)

    def is_worthwhile(self, branches: Sequence[Branch], flow: Flow) -> bool:
        """Whether combining these branches is profitable."""
        return True


class SideBySide(Joining):
    """Products that are concatenated along one axis of the result."""

    @abstractmethod
    def axis(self, products: Sequence[Call]) -> int:
        """That axis."""

    @abstractmethod
    def extents(self, products: Sequence[Call]) -> list[int]:
        """The extent of each product along it."""

    def operand(
        self, parts: Sequence[Expr], own: Sequence[Expr], call: Call, products: Sequence[Call]
    ) -> Expr | None:
        return concatenated(parts, own, call, self.axis(products), self.extents(products))

    def part(self, joined: Expr, branches: Sequence[Branch], index: int) -> Expr:
        products = [branch.calls[0] for branch in branches]
        return sliced(joined, self.axis(products), self.extents(products), index)


@frozen
class CombineParallel(FunctionPass, ABC):
    """A pass that combines `min_num_branches` or more products."""

    opt_level = 4
    required = ("InferType",)
    min_num_branches: int = 3

    def __post_init__(self) -> None:
        check_branches(self.name, self.min_num_branches)

    @abstractmethod
    def joining(self) -> Joining:
        """Which products are combined, and how."""

    def rewrite(self, function: Function) -> Function:
        return join_branches(function, self.joining(), self.min_num_branches)


def join_branches(function: Function, joining: Joining, min_num_branches: int) -> Function:
    """`function` with groups of at least `min_num_branches` branches combined."""
    if manages_memory(function):
        return function
    flow = Flow(function)
    groups = _siblings(flow, joining, min_num_branches)
    if not groups:
        return function
    blocks = Blocks(function)
    replacements: dict[Syntax, Syntax] = {}
    gone: set[Call] = set()
    for group in groups:
        for products in _by_block(group, blocks):
            if len(products) < min_num_branches:
                continue
            for branch, part in _joined(products, flow, blocks, joining):
                replacements[branch.last] = part
                gone.update(branch.calls[:-1])
    if not replacements:
        return function
    root: Syntax = function
    for let in tree.postorder(root):
        if isinstance(let, Let) and flow.meant(let.variable) in gone:
            replacements[let] = let.body
    result = redirect(root, replacements)
    assert isinstance(result, Function)
    return result


def check_branches(name: str, count: object) -> None:
    """The least number of branches must be 2 or more."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise PassError(
            f"`{name}` joins two branches or more: min_num_branches cannot be {count!r}; "
            "3 is what it is by default"
        )


def _siblings(flow: Flow, joining: Joining, least: int) -> list[list[Call]]:
    groups: dict[Any, list[Call]] = {}
    for call in flow.calls:
        if not flow.is_fixed(call) and (key := joining.key(call, flow)) is not None:
            groups.setdefault(key, []).append(call)
    return [group for group in groups.values() if len(group) >= least]


def _by_block(group: Sequence[Call], blocks: Blocks) -> Iterator[list[Call]]:
    found: dict[Scope, list[Call]] = {}
    for call in group:
        found.setdefault(blocks.home(call), []).append(call)
    yield from found.values()


def _joined(
    products: Sequence[Call], flow: Flow, blocks: Blocks, joining: Joining
) -> list[tuple[Branch, Expr]]:
    """The combined branches with their results; none if that is not profitable."""
    chains = [_chain(product, flow, blocks, joining) for product in products]
    steps: list[_Step] = []
    while True:
        following = [next(chain, None) for chain in chains]
        if (step := _common_step(following, products, flow, joining)) is None:
            break
        steps.append(step)
    branches = [Branch((p, *(s.calls[i] for s in steps))) for i, p in enumerate(products)]
    if not joining.is_worthwhile(branches, flow):
        return []
    joined: Expr = joining.join(products, [flow.anywhere(p.args[1]) for p in products])
    for step in steps:
        args = tuple(joined if e is None else e for e in step.operands)
        joined = joining.again(step.calls[0], args, products)
    return [(b, joining.part(joined, branches, index)) for index, b in enumerate(branches)]


# --- chains ---------------------------------------------------------------------------------------


# A call after a product, the argument that is the product, and the key of the call.
Following = tuple[Call, int, Any]


def _chain(product: Call, flow: Flow, blocks: Blocks, joining: Joining) -> Iterator[Following]:
    """The calls after a product that can be combined."""
    value = product
    while True:
        users = flow.users(value)
        if len(users) != 1:
            return
        user, index = users[0]
        if not isinstance(user, Call) or index < 0 or flow.call(user) is None:
            return
        before, after = tensor_type(value), tensor_type(user)
        if before is None or after is None or blocks.home(user) is not blocks.home(product):
            return
        if not all(flow.is_fixed(arg) for i, arg in enumerate(user.args) if i != index):
            return
        if (key := joining.step_key(user, before, after)) is None:
            return
        yield user, index, key
        value = user


@frozen
class _Step:
    """The same operator after all products."""

    calls: tuple[Call, ...]
    operands: tuple[Expr | None, ...]  # None where the products are


def _common_step(
    found: Sequence[Following | None],
    products: Sequence[Call],
    flow: Flow,
    joining: Joining,
) -> _Step | None:
    following = [each for each in found if each is not None]
    if len(following) < len(found) or len({each[1:] for each in following}) > 1:
        return None
    calls = [call for call, _, _ in following]
    first, index, _ = following[0]
    operands: list[Expr | None] = []
    for i in range(len(first.args)):
        if i == index:
            operands.append(None)
            continue
        own = [call.args[i] for call in calls]
        parts = [flow.anywhere(arg) for arg in own]
        if _is_one_number(own, flow):
            operand: Expr | None = parts[0] if static_shape(own[0]) == () else reshape(parts[0], ())
        else:
            operand = joining.operand(parts, own, first, products)
        if operand is None:
            return None
        operands.append(operand)
    return _Step(tuple(calls), tuple(operands))


def _is_one_number(operands: Sequence[Expr], flow: Flow) -> bool:
    """Whether all operands are the same single element."""
    meant = [flow.meant(e) for e in operands]
    if any((shape := static_shape(e)) is None or prod(shape) != 1 for e in operands):
        return False
    if len({tensor_type(e) for e in operands}) > 1:
        return False
    if len(set(map(id, meant))) == 1:
        return True
    if not all(isinstance(e, Constant) and not isinstance(e.data, Weight) for e in meant):
        return False
    return len({data_key(e.data) for e in meant if isinstance(e, Constant)}) == 1


# --- along an axis --------------------------------------------------------------------------------


def concatenated(
    parts: Sequence[Expr], own: Sequence[Expr], call: Call, axis: int, extents: Sequence[int]
) -> Expr | None:
    """Operands of branches concatenated for a result whose axis `axis` has these extents in the
    branches; None unless each has that axis."""
    ty = tensor_type(call)
    shapes = [static_shape(e) for e in own]
    if ty is None or any(shape is None for shape in shapes):
        return None
    known: Any = call.attrs
    if isinstance(call.op, OpDef) and call.op.name in ("nn.bias_add", "nn.prelu"):
        if known.axis % len(ty.shape) != axis:
            return None
        place = 0
    else:
        ranks = {len(shape) for shape in shapes if shape is not None}
        place = axis - len(ty.shape) + min(ranks)
        if len(ranks) > 1 or place < 0:
            return None
    others = {(*shape[:place], *shape[place + 1 :]) for shape in shapes if shape is not None}
    lengths = [shape[place] for shape in shapes if shape is not None]
    if len(others) > 1 or lengths != list(extents):
        return None
    return concatenate(list(parts), axis=place)


def sliced(joined: Expr, axis: int, extents: Sequence[int], index: int) -> Expr:
    """One part of a value that was concatenated along an axis."""
    begin = sum(extents[:index])
    return strided_slice(joined, [begin], [begin + extents[index]], axes=[axis])


def same_data(call: Call) -> int:
    """The key of the first argument."""
    return id(call.args[0])
