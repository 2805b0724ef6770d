"""Python data as values of a program, and back.

    [a, b]                      a List              None                   the empty Option
    Node(Leaf(x), Leaf(y))      a `relay.data` object
    numbers, arrays, tuples     as everywhere (`relay.interpreter.values`)

The expected type decides: a list where a tuple is expected is a tuple. Lists may be a million
elements long, so there is no recursion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from relay import tree
from relay.errors import RelayError
from relay.frontend.python.declarations import declaration_of
from relay.frontend.python.definitions import constructor_of, definition_of
from relay.frontend.python.lifting import declared, is_instance
from relay.frontend.python.standard import Cons, List, Nil, Nothing, Option, Some
from relay.interpreter.values import ConstructorValue, TupleValue, Value, to_value
from relay.ir.types import TupleType, Type, TypeCall, substitute
from relay.tree import Steps, run


def from_python(data: Any, ty: Type | None) -> Value:
    """`data` as a value of type `ty`."""
    made: Value = run(_from_python(data, ty))
    return made


def _from_python(data: Any, ty: Type | None) -> Steps[Any]:
    if is_instance(data):
        return (yield _from_instance(data, ty))
    if isinstance(ty, TypeCall) and _is(ty, List) and isinstance(data, list | tuple):
        made: Value = _build(Nil, [])
        parts = yield tree.gather(_from_python(item, ty.args[0]) for item in data)
        for part in reversed(parts):
            made = _build(Cons, [part, made])
        return made
    if isinstance(ty, TypeCall) and _is(ty, Option) and not isinstance(data, ConstructorValue):
        if data is None:
            return _build(Nothing, [])
        return _build(Some, [(yield _from_python(data, ty.args[0]))])
    if isinstance(ty, TupleType) and isinstance(data, list | tuple):
        if len(data) != len(ty.fields):
            raise RelayError(f"expected a tuple of {len(ty.fields)}, found {len(data)} values")
        items = yield tree.gather(
            _from_python(item, field) for item, field in zip(data, ty.fields, strict=True)
        )
        return TupleValue(items)
    return to_value(data, ty)


def _from_instance(data: Any, ty: Type | None) -> Steps[Value]:
    declaration = declaration_of(data)
    assert declaration is not None
    constructor = constructor_of(type(data))
    wanted: Mapping[Any, Any] = {}
    if isinstance(ty, TypeCall) and ty.func == declaration.header:
        wanted = dict(zip(definition_of(declaration).type_vars, ty.args, strict=True))
    parts = []
    for field, field_type in zip(fields(data), constructor.inputs, strict=True):
        value = getattr(data, field.name)
        parts.append((yield _from_python(value, substitute(field_type, wanted))))
    return ConstructorValue(constructor.tag, parts, constructor)


def _build(cls: type, parts: list[Value]) -> Value:
    constructor = constructor_of(cls)
    return ConstructorValue(constructor.tag, parts, constructor)


def _is(ty: TypeCall, cls: type) -> bool:
    return bool(ty.func == declared(cls).header)


def to_python(value: Value, classes: Mapping[str, type]) -> Any:
    """A value as Python data; `classes` are those of the data types, by name."""
    return run(_to_python(value, classes))


def _to_python(value: Value, classes: Mapping[str, type]) -> Steps[Any]:
    if isinstance(value, TupleValue):
        items = yield tree.gather(_to_python(item, classes) for item in value)
        return tuple(items)
    if not isinstance(value, ConstructorValue):
        return value
    name, kind = value.constructor.name_hint, value.constructor.belong_to.name_hint
    declaration = declaration_of(classes[kind]) if kind in classes else None
    if declaration is None:
        return value
    if declaration.cls is List:
        elements = []
        while isinstance(value, ConstructorValue) and value.fields:
            elements.append((yield _to_python(value.fields[0], classes)))
            value = value.fields[1]
        return elements
    parts = yield tree.gather(_to_python(field, classes) for field in value.fields)
    if declaration.cls is Option:
        return parts[0] if parts else None
    return next(case.cls for case in declaration.cases if case.name == name)(*parts)
