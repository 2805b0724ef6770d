"""Type relations that many operators share."""

from __future__ import annotations

from collections.abc import Iterable

from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.site import BOOLEAN, FLOATING, NUMERIC, Elements, Relation, Site


def size(shape: Iterable[Dim]) -> Dim:
    """The number of elements."""
    total: Dim = 1
    for extent in shape:
        total = dims.multiply(total, extent)
    return total


# --- one tensor --------------------------------------------------------------------------------


def same_type(site: Site) -> Type | None:
    """The type of the only argument; inferred in both directions."""
    if (data := site.tensor(0)) is not None:
        return data
    if (result := site.known_result) is not None:
        site.assign(0, result)
    return site.known_result


def same_type_of(kind: Elements) -> Relation:
    """`same_type`, restricted to a kind of elements."""

    def relation(site: Site) -> Type | None:
        site.require_elements(0, kind)
        return same_type(site)

    return relation


same_numeric_type = same_type_of(NUMERIC)
same_type_float = same_type_of(FLOATING)


def with_dtype(dtype: str) -> Relation:
    """The shape of the argument, with another element type."""

    def relation(site: Site) -> Type | None:
        data = site.tensor(0)
        return None if data is None else TensorType(data.shape, dtype)

    return relation


# --- several tensors ---------------------------------------------------------------------------


def broadcast(site: Site) -> Type | None:
    """The broadcast of two tensors; element types must agree."""
    if (operands := site.tensors()) is None:
        return None
    site.require_same_dtype(*operands)
    return broadcast_types(site, *operands)


def broadcast_of(kind: Elements) -> Relation:
    """`broadcast`, restricted to a kind of elements."""

    def relation(site: Site) -> Type | None:
        for index in range(len(site.args)):
            site.require_elements(index, kind)
        return broadcast(site)

    return relation


broadcast_bool = broadcast_of(BOOLEAN)


def comparison(site: Site) -> Type | None:
    """The broadcast of two tensors, with bool elements."""
    ty = broadcast(site)
    return TensorType(ty.shape, "bool") if isinstance(ty, TensorType) else None


def broadcast_types(site: Site, *operands: TensorType) -> TensorType:
    """The broadcast of several types, with the element type of the first."""
    rank = max(len(ty.shape) for ty in operands)
    padded = [(1,) * (rank - len(ty.shape)) + ty.shape for ty in operands]
    shape = list(padded[0])
    for other in padded[1:]:
        for axis in range(rank):
            extent = site.broadcast(shape[axis], other[axis])
            if extent is None:
                site.fail(
                    "operands do not broadcast",
                    f"axis {axis - rank} equal, or 1 on one side",
                    " and ".join(map(str, operands)),
                )
            shape[axis] = extent
    return TensorType(tuple(shape), operands[0].dtype)


def require_broadcasts_to(site: Site, source: TensorType, target: tuple[Dim, ...]) -> None:
    """`source` must broadcast to the shape `target`."""
    for extent in target:
        if isinstance(extent, int) and extent < 0:
            site.fail("an extent is negative", "0 or more", str(extent))
    fits = len(source.shape) <= len(target)
    for extent, wanted in zip(reversed(source.shape), reversed(target), strict=False):
        fits = fits and site.stretches(extent, wanted)
    if not fits:
        shown = ", ".join(map(str, target)) + ("," if len(target) == 1 else "")
        site.fail("the shape does not broadcast", f"something that fits ({shown})", str(source))
