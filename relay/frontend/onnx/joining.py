"""The common supertype of values from several paths: branches of `If`, iterations of `Loop`.

Tensor[(2, 3), float32], Tensor[(5, 3), float32]      Tensor[(?, 3), float32]
List[_], List[int32]                                  List[int32]
Option[int32], int32                                  Option[int32]
List[int32], List[Tensor[(3), int32]]                 List[…], with tensors of unknown rank

An empty sequence or optional has a type with a hole, which any other type fills.
"""

from __future__ import annotations

from relay.frontend.common.joining import of_tensors
from relay.frontend.onnx.boxed import LIST, OPTION, boxed, dtype_of
from relay.ir.types import IncompleteType, Occurs, TensorType, TupleType, Type, TypeCall


def joined(one: Type, other: Type) -> Type | None:
    """The common supertype of two types; None when they differ in more than extents."""
    if one == other or isinstance(other, IncompleteType):
        return one
    if isinstance(one, IncompleteType):
        return other
    match one, other:
        case TensorType(), TensorType():
            return of_tensors(one, other)
        case TypeCall(), TypeCall() if one.func == other.func:
            how = of_elements if one.func == LIST else joined
            inside = how(one.args[0], other.args[0])
            return None if inside is None else TypeCall(one.func, (inside,))
        case (TypeCall(func=func, args=(inside,)), whole) | (
            whole,
            TypeCall(func=func, args=(inside,)),
        ) if func == OPTION:
            found = joined(inside, whole)
            return None if found is None else TypeCall(OPTION, (found,))
        case TupleType(), TupleType() if len(one.fields) == len(other.fields):
            parts = [joined(a, b) for a, b in zip(one.fields, other.fields, strict=True)]
            kept = [part for part in parts if part is not None]
            return TupleType(tuple(kept)) if len(kept) == len(parts) else None
    return None


def of_elements(one: Type, other: Type) -> Type | None:
    """The common element type of sequences with elements of two types."""
    if (found := joined(one, other)) is not None:
        return found
    dtype = dtype_of(one)
    return boxed(dtype) if dtype is not None and dtype == dtype_of(other) else None


def has_hole(ty: Type) -> bool:
    """Whether a type has a hole."""
    return bool(ty.occurs & Occurs.HOLE)
