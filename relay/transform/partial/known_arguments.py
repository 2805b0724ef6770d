"""The known functions in the arguments of a residual call.

Calls with the same functions share one copy of the callee. What else the arguments hold, and what
the functions have captured, are the parameters of the copy:

    @map(fn (%y) { multiply(%y, %x) }, %list)  ->  @map_f(%x, %list)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from relay import tree
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.dims import Dim
from relay.ir.types import Occurs, Type, TypeVar
from relay.ir.variables import free_vars
from relay.transform.partial.static_values import Closure, Environment, Fields, Value
from relay.tree import Steps

MAX_DEPTH = 8  # of closures in what closures have captured


@frozen
class Leaf:
    """A value that is passed to the copy."""

    ty: Type


@frozen
class KnownAtom:
    """An operator or a constructor."""

    atom: ir.Op | ir.Constructor


@frozen
class KnownFields:
    """A tuple or data with a known function in it."""

    ty: Type
    constructor: ir.Constructor | None
    fields: tuple[Shape, ...]


@frozen
class KnownClosure:
    """A known function; `captured` are the values of its free variables."""

    ty: Type
    function: ir.Function  # compared by identity
    name: str | None
    types: tuple[tuple[TypeVar, Type | Dim], ...]  # the values of type variables around it
    captured: tuple[tuple[ir.Var, Shape], ...]


@frozen
class Enclosing:
    """A closure that refers to an enclosing one, `distance` closures further out."""

    distance: int


Shape = Leaf | KnownAtom | KnownFields | KnownClosure | Enclosing


@dataclass
class Arguments:
    """The shapes of the arguments of a call, and the values of their leaves, in order."""

    shapes: list[Shape] = field(default_factory=list)
    leaves: list[Value] = field(default_factory=list)
    has_function: bool = False


def arguments_of(values: Sequence[Value]) -> Arguments | None:
    """What is known of the arguments; None if no function is, or not so that it can be copied."""
    found = Arguments()
    for value in values:
        shape = tree.run(_shape(value, found, []))
        if shape is None:
            return None
        found.shapes.append(shape)
    return (
        found if found.has_function and all(is_closed(leaf.ty) for leaf in found.leaves) else None
    )


def is_closed(given: Type | Dim) -> bool:
    """Whether a type or a dimension is without variables."""
    return not given.occurs & Occurs.VARIABLE if isinstance(given, Type) else isinstance(given, int)


def _shape(value: Value, found: Arguments, around: list[Closure]) -> Steps[Any]:
    static = value.static
    if isinstance(static, Closure):
        return _closure(value, static, found, around)
    if isinstance(static, ir.Op | ir.Constructor):
        found.has_function = True
        return KnownAtom(static)
    if isinstance(static, Fields) and _holds_function(static):
        fields: list[Shape] = []
        for part in static.fields:
            shape = yield _shape(part, found, around)
            if shape is None:
                return None
            fields.append(shape)
        return KnownFields(value.ty, static.constructor, tuple(fields))
    found.leaves.append(value)
    return Leaf(value.ty)


def _closure(value: Value, closure: Closure, found: Arguments, around: list[Closure]) -> Steps[Any]:
    if closure in around:
        return Enclosing(len(around) - 1 - around.index(closure))
    function, environment = closure.function, closure.environment
    types = tuple(environment.types.items())
    if len(around) >= MAX_DEPTH or not all(map(is_closed, (value.ty, *environment.types.values()))):
        return None
    found.has_function = True
    captured: list[tuple[ir.Var, Shape]] = []
    around.append(closure)
    for variable in free_vars(function) if closure.name is None else ():
        shape = yield _shape(environment[variable], found, around)
        if shape is None:
            return None
        captured.append((variable, shape))
    around.pop()
    return KnownClosure(value.ty, function, closure.name, types, tuple(captured))


def _holds_function(fields: Fields) -> bool:
    pending: list[object] = [fields]
    while pending:
        part = pending.pop()
        if isinstance(part, Closure | ir.Op | ir.Constructor):
            return True
        if isinstance(part, Fields):
            pending.extend(value.static for value in part.fields)
    return False


class Maker(Protocol):
    """Makes the values of a copy."""

    def leaf(self, ty: Type) -> Value:
        """A parameter."""
        ...

    def atom(self, atom: ir.Op | ir.Constructor) -> Value:
        """An operator or a constructor."""
        ...

    def fields(self, shape: KnownFields, values: Sequence[Value]) -> Value:
        """A tuple or data."""
        ...

    def closure(self, shape: KnownClosure, environment: Environment) -> Value:
        """A closure, whose environment is filled later."""
        ...

    def placed(self, closure: Value) -> None:
        """What the closure has captured is made now."""
        ...


def rebuilt(shape: Shape, maker: Maker) -> Value:
    """A value of that shape, with new leaves."""
    made: Value = tree.run(_rebuilt(shape, maker, []))
    return made


def _rebuilt(shape: Shape, maker: Maker, around: list[Value]) -> Steps[Value]:
    match shape:
        case Leaf(ty=ty):
            return maker.leaf(ty)
        case KnownAtom(atom=atom):
            return maker.atom(atom)
        case Enclosing(distance=distance):
            return around[-1 - distance]
        case KnownFields(fields=shapes):
            values: list[Value] = []
            for part in shapes:
                values.append((yield _rebuilt(part, maker, around)))
            return maker.fields(shape, values)
    environment = Environment(None, dict(shape.types))
    value = maker.closure(shape, environment)
    around.append(value)
    for variable, part in shape.captured:
        environment[variable] = yield _rebuilt(part, maker, around)
    around.pop()
    maker.placed(value)
    return value
