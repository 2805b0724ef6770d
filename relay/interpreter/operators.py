"""Operators on values: the NumPy reference of an operator applied to tensors and tuples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import AnySpan, Diagnostic, EvaluationError
from relay.interpreter.values import TupleValue, Value, describe
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.types import TensorType, TupleType, Type
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.op.shapes import output_type
from relay.tree import Steps, run


def operate(
    op: OpDef,
    args: Sequence[Value],
    attrs: Attrs | DictAttrs | None,
    span: AnySpan | None,
    proven: bool = False,
) -> Value:
    """The result of an operator. Called without attributes, as a value may be, it has defaults.

    `proven`: inference has shown that the arguments fit. Otherwise the type relation is asked.
    """
    if op.reference is None:
        raise EvaluationError(
            Diagnostic(
                f"operator `{op.name}` cannot be evaluated: it has no reference",
                span,
                hint="give its `define` a NumPy function as `reference`",
            )
        )
    if not op.variadic and len(args) != len(op.arguments):
        raise EvaluationError(
            Diagnostic(
                f"wrong number of arguments for `{op.name}`",
                span,
                str(len(op.arguments)),
                str(len(args)),
            )
        )
    arrays = [
        arg.array if type(arg) is NDArray else run(_to_arrays(arg, op, index, span))
        for index, arg in enumerate(args)
    ]
    given = op.make_attrs({}) if attrs is None else attrs
    if not proven and op.relation is not None:
        output_type(op, [_type_of(array) for array in arrays], given, arrays, span)
    try:
        result = op.reference(*arrays, **dict(given.items() if given is not None else ()))
    except EvaluationError as error:
        placed = [d if d.span else replace(d, span=span) for d in error.diagnostics]
        raise EvaluationError(placed) from error
    except Exception as error:  # whatever the reference says is wrong is wrong with the program
        message = f"`{op.name}` failed: {error or type(error).__name__}"
        raise EvaluationError(Diagnostic(message, span)) from error
    return _from_arrays(result)


def _to_arrays(value: Value, op: OpDef, index: int, span: AnySpan | None) -> Steps[Any]:
    if isinstance(value, NDArray):
        return value.array
    if isinstance(value, TupleValue):
        fields = []
        for field in value.fields:
            fields.append((yield _to_arrays(field, op, index, span)))
        return tuple(fields)
    name = op.arguments[index][0] if index < len(op.arguments) else str(index)
    raise EvaluationError(
        Diagnostic(
            f"operators compute with tensors; argument `{name}` of `{op.name}` is none",
            span,
            "a tensor or a tuple of tensors",
            describe(value),
        )
    )


def _type_of(value: Any) -> Type:
    """The concrete type of an array, or of a tuple of them."""
    if isinstance(value, tuple):
        return TupleType(tuple(map(_type_of, value)))
    return TensorType(value.shape, dtypes.canonical(value.dtype))


def _from_arrays(result: Any) -> Value:
    if isinstance(result, tuple):
        return TupleValue([NDArray(np.asarray(part)) for part in result])
    return NDArray(np.asarray(result))
