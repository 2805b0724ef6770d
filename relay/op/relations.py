"""Type relations that many operators share."""

from __future__ import annotations

from relay import dtypes
from relay.ir.types import TensorType, Type
from relay.op.site import Relation, Site


def same_type(site: Site) -> Type | None:
    """One tensor in, the same type out; known from either side."""
    if (data := site.tensor(0)) is not None:
        return data
    if (result := site.known_result) is not None:
        site.assign(0, result)
    return site.known_result


def same_type_float(site: Site) -> Type | None:
    """Like `same_type`, for floating-point elements only."""
    ty = same_type(site)
    if isinstance(ty, TensorType) and not dtypes.is_float(ty.dtype):
        site.fail(
            "needs floating-point elements",
            "float16, bfloat16, float32 or float64",
            str(ty),
            "convert it with `cast`",
        )
    return ty


def with_dtype(dtype: str) -> Relation:
    """One tensor in, the same shape with another element type out."""

    def relation(site: Site) -> Type | None:
        data = site.tensor(0)
        return None if data is None else TensorType(data.shape, dtype)

    return relation


def broadcast(site: Site) -> Type | None:
    """NumPy's broadcasting of two tensors; element types must agree."""
    if (operands := site.tensors()) is None:
        return None
    site.require_same_dtype(*operands)
    return broadcast_types(site, *operands)


def comparison(site: Site) -> Type | None:
    """Broadcasting, with bool elements out."""
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
