"""Evaluation of operators by their NumPy references, on tensors and tuples of them.

A few operators are about memory, functions or devices. Their references get the values as they are
(`on_values` in the record).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import GeneratorType
from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.errors import AnySpan, EvaluationError
from relay.extents import has_room, too_large
from relay.interpreter.values import TupleValue, Value, describe, to_value
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.types import TensorType, TupleType, Type
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.op.shapes import output_type
from relay.tree import Steps, postorder, run

# Calls a function with arguments: a value, or steps that end with one.
Apply = Callable[[Value, list[Value]], Any]


def operate(
    op: OpDef,
    args: Sequence[Value],
    attrs: Attrs | DictAttrs | None,
    span: AnySpan | None,
    proven: bool = False,
) -> Value:
    """The result of an operator, with default attributes where none are given.

    `proven`: inference has shown that the arguments fit. Otherwise, and where values determine the
    shape, the type relation is evaluated.
    """
    reference = _reference(op, args, span)
    arrays = [
        arg.array if type(arg) is NDArray else run(_to_arrays(arg, op, index, span))
        for index, arg in enumerate(args)
    ]
    given = op.make_attrs({}) if attrs is None else attrs
    if op.relation is not None and (not proven or op.extents is not None):
        types = [run(_type_of(array)) for array in arrays]
        require_room(output_type(op, types, given, arrays, span), span)
    try:
        result = reference(*arrays, **_keywords(given))
    except Exception as error:  # an error of the reference is an error of the program
        raise _failure(op, error, span) from error
    return _from_arrays(result)


def require_room(ty: Type, span: AnySpan | None) -> None:
    """Raise if a result of that type is too large for memory; some NumPy functions would return an
    empty array, or write out of bounds."""
    for part in postorder(ty):
        if not isinstance(part, TensorType) or part.occurs:
            continue
        if not has_room(part.concrete_shape, part.dtype):
            raise EvaluationError(too_large(part.concrete_shape, part.dtype, span))


def act(
    op: OpDef,
    args: Sequence[Value],
    attrs: Attrs | DictAttrs | None,
    span: AnySpan | None,
    apply: Apply,
) -> Steps[Value]:
    """The result of an operator on values, which may call functions through `apply`."""
    reference = _reference(op, args, span)
    given = op.make_attrs({}) if attrs is None else attrs
    try:
        result = reference(*args, **_keywords(given))
    except Exception as error:
        raise _failure(op, error, span) from error
    if not isinstance(result, GeneratorType):
        return to_value(result)
    answer = None
    while True:
        try:
            function, passed = result.send(answer)
        except StopIteration as stop:
            return to_value(stop.value)
        except Exception as error:
            raise _failure(op, error, span) from error
        answer = apply(function, list(passed))
        if isinstance(answer, GeneratorType):
            answer = yield answer


def _reference(op: OpDef, args: Sequence[Value], span: AnySpan | None) -> Callable[..., Any]:
    """The reference of the operator; an error if there is none, or for another number of
    arguments."""
    if op.reference is None:
        message = f"operator `{op.name}` cannot be evaluated: it has no reference"
        hint = "give its `define` a NumPy function as `reference`"
        raise EvaluationError.of(message, span, hint=hint)
    if not op.variadic and len(args) != len(op.arguments):
        message = f"wrong number of arguments for `{op.name}`"
        raise EvaluationError.of(message, span, str(len(op.arguments)), str(len(args)))
    return op.reference


def _keywords(given: Attrs | DictAttrs | None) -> dict[str, Any]:
    return dict(given.items() if given is not None else ())


def _failure(op: OpDef, error: Exception, span: AnySpan | None) -> EvaluationError:
    """The error of a reference, with the span of the call."""
    if isinstance(error, EvaluationError):
        return EvaluationError([d if d.span else replace(d, span=span) for d in error.diagnostics])
    message = f"`{op.name}` failed: {str(error) or type(error).__name__}"
    return EvaluationError.of(message, span)


def _to_arrays(value: Value, op: OpDef, index: int, span: AnySpan | None) -> Steps[Any]:
    if isinstance(value, NDArray):
        return value.array
    if isinstance(value, TupleValue):
        parts = (_to_arrays(field, op, index, span) for field in value.fields)
        return tuple((yield tree.gather(parts)))
    name = op.arguments[index][0] if index < len(op.arguments) else str(index)
    message = f"operators compute with tensors; argument `{name}` of `{op.name}` is none"
    expected = "a tensor or a tuple of tensors"
    raise EvaluationError.of(message, span, expected, describe(value))


def _type_of(value: Any) -> Steps[Type]:
    """The concrete type of an array, or of a tuple of them."""
    if not isinstance(value, tuple):
        return TensorType(value.shape, dtypes.canonical(value.dtype))
    return TupleType(tuple((yield tree.gather(map(_type_of, value)))))


def _from_arrays(result: Any) -> Value:
    if isinstance(result, tuple):
        return TupleValue([NDArray(np.asarray(part)) for part in result])
    return NDArray(np.asarray(result))
