"""Shape functions: the concrete result type of an operator at run time.

For nearly every operator the type relation gives a concrete result type for concrete argument
types. Where it leaves `?`, because extents depend on values (`argwhere`, `arange`), the record's
`runtime_shape` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import dtypes
from relay.errors import AnySpan, EvaluationError, RelayError
from relay.ir.dims import Dim
from relay.ir.types import IncompleteType, TensorType, TupleType, Type, is_dynamic
from relay.op.opdef import OpDef
from relay.op.site import Site


def output_type(
    op: OpDef,
    types: Sequence[Type],
    attrs: Any = None,
    values: Sequence[Any] | None = None,
    span: AnySpan | None = None,
) -> Type:
    """The concrete type of `op` for concrete argument `types`, and `values` if it depends on them.

    Mismatched arguments are an EvaluationError at `span`.
    """
    if op.relation is None:
        raise RelayError(f"operator `{op.name}` has no type relation")
    site = Site(
        op.name,
        [name for name, _ in op.arguments],
        tuple(types),
        IncompleteType(),
        attrs,
        span,
        lambda index, ty: None,
        _same_extent,
        EvaluationError,
    )
    found = op.relation(site)
    if found is None:
        raise RelayError(f"the types of the arguments do not determine the result of `{op.name}`")
    if not is_dynamic(found):
        return found
    if op.runtime_shape is None:
        raise RelayError(f"operator `{op.name}` does not say how its shape depends on values")
    if values is None:
        raise RelayError(f"the shape of `{op.name}` depends on the values of its arguments")
    try:
        shapes = op.runtime_shape(*values, **(dict(attrs.items()) if attrs is not None else {}))
    except RelayError:
        raise
    except Exception as error:  # an error in the values
        message = f"the shape of `{op.name}` is not found: {error or type(error).__name__}"
        raise EvaluationError.of(message, span) from error
    return _with_shapes(op, found, shapes)


def value_type(value: Any) -> Type:
    """The type of an array, or of a tuple of arrays."""
    if isinstance(value, tuple):
        return TupleType(tuple(map(value_type, value)))
    return TensorType(value.shape, dtypes.canonical(value.dtype))


def _same_extent(a: Dim, b: Dim) -> bool:
    return a == b


def _with_shapes(op: OpDef, ty: Type, shapes: Any) -> Type:
    if isinstance(ty, TensorType):
        return TensorType(tuple(int(extent) for extent in shapes), ty.dtype)
    if isinstance(ty, TupleType):
        return TupleType(
            tuple(_with_shapes(op, f, s) for f, s in zip(ty.fields, shapes, strict=True))
        )
    raise RelayError(f"operator `{op.name}` has a result that is neither tensor nor tuple: {ty}")
