"""Sizes of tensors, their single elements, and what a program asserts about them."""

from __future__ import annotations

from typing import Any

from relay import dtypes, op
from relay.frontend.common.reshaping import product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number, Size
from relay.frontend.pytorch.promotion import category
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()


@table("sym_size.int", "size.int")
def size(node: Node, self: Expr, dim: int) -> Size:
    return node.dimension(self, node.axis_of(dim, node.rank(self), "`dim`"))


@table("sym_size.default", "size.default")
def sizes(node: Node, self: Expr) -> list[Size]:
    return node.extents_of(self)


@table("sym_numel", "numel")
def numel(node: Node, self: Expr) -> Size:
    whole = product(node.shape(self))
    if isinstance(whole, dims.Any):
        return node.let(op.ndarray_size(self, dtype="int64"))
    return whole


@table("sym_stride.int", "stride.int")
def stride(node: Node, self: Expr, dim: int) -> Size:
    return strides(node, self)[node.axis_of(dim, node.rank(self), "`dim`")]


@table("sym_stride.default", "stride.default")
def strides(node: Node, self: Expr) -> list[Size]:
    """The strides of a contiguous tensor."""
    extents = node.extents_of(self)
    found: list[Size] = []
    for axis in range(len(extents)):
        total: Size = 1
        for one in extents[axis + 1 :]:
            if isinstance(one, Expr) or isinstance(total, Expr):
                left, right = (node.scalar(each, "int64") for each in (total, one))
                total = node.let(left * right)
            else:
                total = dims.multiply(total, one)
        found.append(total)
    return found


@table("sym_storage_offset", "storage_offset")
def storage_offset(node: Node, self: Expr) -> int:
    return 0


@table("dim")
def dim(node: Node, self: Expr) -> int:
    return node.rank(self)


@table("len.Tensor")
def length(node: Node, self: Expr) -> Size:
    return node.dimension(self, 0)


@table("is_floating_point")
def is_floating_point(node: Node, self: Expr) -> bool:
    return category(node.dtype(self)) == 2


@table("is_complex", "is_conj", "is_neg", "_is_zerotensor")
def is_never(node: Node, self: Expr) -> bool:
    return False


@table("is_signed")
def is_signed(node: Node, self: Expr) -> bool:
    return node.dtype(self) not in dtypes.UNSIGNED and node.dtype(self) != "bool"


@table("is_same_size")
def is_same_size(node: Node, self: Expr, other: Expr) -> bool | Expr:
    if node.rank(self) != node.rank(other):
        return False
    found: bool | Expr = True
    for one, wanted in zip(node.extents_of(self), node.extents_of(other), strict=True):
        known: bool | None = None
        if not isinstance(one, Expr) and not isinstance(wanted, Expr):
            known = dims.equal(one, wanted)
        if known is False:
            return False
        if known is None:
            same = op.equal(node.scalar(one, "int64"), node.scalar(wanted, "int64"))
            found = node.let(same if found is True else op.logical_and(found, same))
    return found


@table("item", "_local_scalar_dense", "IntImplicit", "FloatImplicit", "ScalarImplicit")
def item(node: Node, self: Expr) -> Number:
    """The only element as a number: one that is known as Python's, or a scalar."""
    known = node.constant(self)
    if known is not None:
        return known.item()  # type: ignore[no-any-return]
    found = node.let(op.reshape(self, ()))
    kind = category(node.dtype(found))
    return found if kind == 0 else node.as_dtype(found, "int64" if kind == 1 else "float64")


# --- assertions --------------------------------------------------------------------------------


@table("_assert_scalar", "_assert_async", "_functional_assert_scalar", "_functional_assert_async")
def assertion(
    node: Node, self: Number, assert_msg: str = "an assertion of the model", dep_token: Any = None
) -> Any:
    """A condition that is checked when the results of the model are there."""
    test = node.tensor(self)
    if node.dtype(test) != "bool":
        test = node.let(op.not_equal(test, node.number(0, test)))
    node.scope.require(node, node.let(op.reshape(test, ())), assert_msg)
    return dep_token


@table(
    "_assert_tensor_metadata",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "_functional_sym_constrain_range",
    "_functional_sym_constrain_range_for_size",
    "_print",
    "_make_dep_token",
    "_check_is_size",
)
def known_before(node: Node, *_: Any, **__: Any) -> None:
    """What torch found when it exported the model; types and checks of ours say it again."""
