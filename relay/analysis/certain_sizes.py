"""Whether the sizes that an operator requires to be equal are equal in every run:

nn.bias_add(%x, %b)   %x: Tensor[(n, c), float32]    %b: Tensor[(c), float32]     certain
                      %x: Tensor[(n, ?), float32]    %b: Tensor[(8), float32]     checked in a run

A pass that replaces an operator by others which check less, since they broadcast, asks first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.errors import RelayError
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import IncompleteType, ShapeVar, TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.site import Site


def sizes_are_certain(op: OpDef, args: Sequence[Type], attrs: Any) -> bool:
    """Whether the types of the arguments prove what the operator demands of their sizes."""
    return proven_type(op, args, attrs) is not None


def proven_type(op: OpDef, args: Sequence[Type], attrs: Any) -> Type | None:
    """The type of the result, with names for unknown extents, if the sizes are certain."""
    if op.relation is None or op.extents is not None or op.capacity is not None:
        return None
    site = _Proof(
        op.name,
        [name for name, _ in op.arguments],
        tuple(map(_named, args)),
        IncompleteType(),
        attrs,
        None,
        assign_argument=lambda index, ty: None,
        unify_dims=lambda a, b: dims.equal(a, b) is True,
    )
    try:
        return op.relation(site)
    except RelayError:
        return None


def _named(ty: Type) -> Type:
    """The type with a name of its own for every unknown extent, so that there is arithmetic."""
    if isinstance(ty, TupleType):
        return TupleType(tuple(_tensor(part) for part in ty.fields))
    return _tensor(ty)


def _tensor(ty: Type) -> Type:
    if not isinstance(ty, TensorType):
        return ty
    extents = (ShapeVar("size") if isinstance(one, dims.Any) else one for one in ty.shape)
    return TensorType(tuple(extents), ty.dtype)


class _Proof(Site):
    """A use of an operator that fails where something would be left to a run."""

    __slots__ = ()

    def require_multiple(self, dim: Dim, of: Dim, message: str, expected: str, found: str) -> None:
        whole = dims.multiply(dims.floor_divide(dim, of), of) if of != 0 else 0
        self.require(dims.equal(whole, dim) is True, message, expected, found)

    def require_natural(self, dim: Dim, message: str, expected: str, found: str) -> None:
        self.require(dims.sign_of(dim) in (0, 1), message, expected, found)

    def require_some(
        self, extent: Dim, wanted: Sequence[Dim], message: str, expected: str, found: str
    ) -> None:
        if isinstance(extent, int):
            Site.require_some(self, extent, wanted, message, expected, found)
        else:
            self.fail(message, expected, found)
