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
from relay.ir.types import IncompleteType, Type
from relay.op.opdef import OpDef
from relay.op.site import Site


def sizes_are_certain(op: OpDef, args: Sequence[Type], attrs: Any) -> bool:
    """Whether the types of the arguments prove what the type relation demands of their sizes."""
    names = [name for name, _ in op.arguments]
    site = Site(
        op.name,
        names,
        tuple(args),
        IncompleteType(),
        attrs,
        None,
        assign_argument=lambda index, ty: None,
        unify_dims=lambda a, b: dims.equal(a, b) is True,
    )
    assert op.relation is not None
    try:
        return op.relation(site) is not None
    except RelayError:
        return False
