"""Explicit memory: storage, and tensors in it.

    let %storage = memory.alloc_storage(64, [16], 64);
    let %out: Tensor[(16), float32] = memory.alloc_tensor(%storage, 0, [16], const_shape=[16]);
    let %done = vm.invoke_tvm_op(%f, (%x,), (%out,));

The type `Storage` comes from `core.rly` of the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from relay import tree
from relay.errors import RelayError
from relay.ir import dims, types
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem, const
from relay.nd import Device, NDArray, Storage
from relay.op.annotation import device_name, require_cpu
from relay.op.gradient_rules import LOWERED
from relay.op.opdef import DType, define
from relay.op.site import INTEGER, Site
from relay.tree import Steps

STORAGE: Final = types.TypeCall(types.GlobalTypeVar("Storage"), ())

# --- storage -----------------------------------------------------------------------------------


@attrs
class AllocStorageAttrs(Attrs):
    """dtype: the main element type of the contents
    virtual_device: the device, as in "cuda(0)"; "" is any
    """

    dtype: DType = DType("float32")
    virtual_device: str = ""


def _require_integers(site: Site, index: int, rank: int) -> bool:
    """Argument `index` must be integers of that rank; False while it is unknown."""
    site.require_elements(index, INTEGER)
    return site.tensor(index, rank) is not None


def _alloc_storage_type(site: Site) -> types.Type | None:
    """A storage."""
    known = [_require_integers(site, index, rank) for index, rank in enumerate((0, 1, 0))]
    return STORAGE if all(known) else None


def _alloc_storage(
    size: NDArray, shape: NDArray, alignment: NDArray, dtype: str, virtual_device: str
) -> Storage:
    require_cpu(virtual_device)
    return Storage(int(size))


def alloc_storage(
    size: Expr | int,
    alignment: Expr | int,
    device: Device | str | None = None,
    dtype_hint: str = "float32",
    shape: Expr | Sequence[int] = (),
) -> Call:
    """A block of `size` bytes; shape and dtype_hint describe its contents."""
    return ALLOC_STORAGE(
        _integers(size),
        _integers(shape),
        _integers(alignment),
        dtype=dtype_hint,
        virtual_device=device_name(device),
    )


def _integers(values: Any) -> Expr:
    if isinstance(values, Expr):
        return values
    return const(np.asarray(values, np.int64), "int64")


ALLOC_STORAGE = define(
    "memory.alloc_storage",
    doc="A block of memory, new in every evaluation.",
    arguments=[
        ("size", "the number of bytes"),
        ("shape", "the extents of the contents; empty if unknown"),
        ("alignment", "the alignment of the address"),
    ],
    attrs=AllocStorageAttrs,
    relation=_alloc_storage_type,
    reference=_alloc_storage,
    helper=alloc_storage,
    stateful=True,
    on_values=True,
    gradient=LOWERED,
)

# --- tensors -----------------------------------------------------------------------------------


@attrs
class AllocTensorAttrs(Attrs):
    """dtype: the element type
    const_shape: the static shape; None takes it from the argument
    assert_shape: the shape with None for dynamic dimensions
    """

    dtype: DType = DType("float32")
    const_shape: tuple[int, ...] | None = None
    assert_shape: tuple[int | None, ...] | None = None


def _alloc_tensor_type(site: Site) -> types.Type | None:
    """A tensor of the known shape, or with a dynamic dimension for each element of shape."""
    storage = site.args[0]
    if isinstance(storage, types.IncompleteType):
        site.assign(0, STORAGE)
    elif storage != STORAGE:
        site.fail(f"{site.argument(0)} is no storage", str(STORAGE), str(storage))
    known = [_require_integers(site, 1, 0), _require_integers(site, 2, 1)]
    shape = site.tensor(2)
    if shape is None or not all(known):
        return None
    (rank,) = shape.shape
    extents = site.attrs.assert_shape or site.attrs.const_shape
    if extents is not None:
        site.require_equal(rank, len(extents), "the ranks of `shape` and of the attributes")
    elif isinstance(rank, int):
        extents = (None,) * rank
    else:
        site.fail(
            "the rank of the tensor is not known",
            "an extent of `shape` that is a number, or one of the attributes",
            str(shape),
        )
    dimensions: list[Dim] = [dims.ANY if extent is None else extent for extent in extents]
    return types.TensorType(tuple(dimensions), site.attrs.dtype)


def _alloc_tensor(
    storage: Storage,
    offset: NDArray,
    shape: NDArray,
    dtype: str,
    const_shape: Sequence[int] | None,
    assert_shape: Sequence[int | None] | None,
) -> NDArray:
    extents = tuple(int(extent) for extent in (const_shape or shape))
    return storage.tensor(int(offset), extents, dtype)


def alloc_tensor(
    storage: Expr,
    offset: Expr | int,
    shape: Expr | Sequence[int],
    dtype: str = "float32",
    assert_shape: Sequence[Any] | None = None,
) -> Call:
    """A tensor in a storage; `assert_shape` has the static extents of a computed shape, and None or
    `relay.Any()` for the others."""
    known = None if isinstance(shape, Expr) else tuple(shape)
    if assert_shape is not None:
        assert_shape = [None if isinstance(d, dims.Any) else d for d in assert_shape]
    return ALLOC_TENSOR(
        storage,
        _integers(offset),
        _integers(shape),
        dtype=dtype,
        const_shape=known,
        assert_shape=assert_shape,
    )


ALLOC_TENSOR = define(
    "memory.alloc_tensor",
    doc="A tensor in a storage. It aliases other tensors in the same memory.",
    arguments=[
        ("storage", "the storage"),
        ("offset", "the offset in bytes"),
        ("shape", "its extents"),
    ],
    attrs=AllocTensorAttrs,
    relation=_alloc_tensor_type,
    reference=_alloc_tensor,
    runtime_shape=lambda storage, offset, shape, **_: tuple(shape),
    helper=alloc_tensor,
    on_values=True,
    gradient=LOWERED,
)


def _kill_type(site: Site) -> types.Type | None:
    """Anything in, nothing out."""
    return types.UNIT


def _kill(to_free: Any) -> tuple[()]:
    if isinstance(to_free, Storage):
        to_free.free()
    return ()


kill = define(
    "memory.kill",
    doc="End the lifetime of the argument; a storage is freed.",
    arguments=[("to_free", "anything")],
    relation=_kill_type,
    reference=_kill,
    stateful=True,
    on_values=True,
    gradient=LOWERED,
)

# --- flattening of tuples ----------------------------------------------------------------------


def flatten_tuple_type(ty: types.Type) -> list[types.TensorType]:
    """The tensor types in a type of tensors and tuples, from left to right."""
    found: list[types.TensorType] = []
    pending = [ty]
    while pending:
        match pending.pop():
            case types.TensorType() as tensor:
                found.append(tensor)
            case types.TupleType(fields=fields):
                pending.extend(reversed(fields))
            case other:
                raise RelayError(f"only tensors and tuples can be flattened, found {other}")
    return found


def from_tuple_type(ty: types.Type, expr: Expr) -> list[Expr]:
    """The tensors in an expression of that type, from left to right."""
    found: list[Expr] = []
    pending: list[tuple[types.Type, Expr]] = [(ty, expr)]
    while pending:
        match pending.pop():
            case types.TensorType(), part:
                found.append(part)
            case types.TupleType(fields=fields), part:
                parts = [(field, TupleGetItem(part, i)) for i, field in enumerate(fields)]
                pending.extend(reversed(parts))
            case other, _:
                raise RelayError(f"only tensors and tuples can be flattened, found {other}")
    return found


def to_tuple_type(ty: types.Type, exprs: Sequence[Expr]) -> Expr:
    """An expression of that type from its tensors, from left to right."""
    wanted = len(flatten_tuple_type(ty))
    if wanted != len(exprs):
        raise RelayError(f"{ty} is made of {wanted} tensors, found {len(exprs)}")
    rest = iter(exprs)

    def build(ty: types.Type) -> Steps[Expr]:
        if not isinstance(ty, types.TupleType):
            return next(rest)
        fields = []
        for field in ty.fields:
            fields.append((yield build(field)))
        return Tuple(tuple(fields))

    return tree.run(build(ty))


__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "flatten_tuple_type",
    "from_tuple_type",
    "kill",
    "to_tuple_type",
]
