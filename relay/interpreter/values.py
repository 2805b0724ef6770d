"""The values of Relay programs, and conversion of Python data to values.

Python data is accepted where a value is expected; results are values.

    NDArray             a tensor (`relay.nd`)        42, np.ones(3), torch.ones(3), relay.const(1)
    TupleValue          (a, b)                       (a, b), [a, b]
    ConstructorValue    Cons(1, Nil)
    RefValue            a mutable cell
    Storage             memory that tensors are laid out in (`relay.nd`)
    Closure             a function and the activation it was made in (`relay.interpreter.evaluate`)
    Op, Constructor     operators and constructors are values themselves
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relay import dtypes, nd, tree
from relay.errors import RelayError
from relay.ir.expr import Constant, Constructor, Expr, Op
from relay.ir.type_text import delimited
from relay.ir.types import TensorType, TupleType, Type
from relay.nd import NDArray, Storage
from relay.tree import Steps, run

# Parts of a value that are shown: lists are long, and cells may form cycles.
SHOWN_PARTS = 1000


class ObjectValue:
    """The base of values that are not tensors, operators or constructors."""

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return show(self)


Value = NDArray | Storage | ObjectValue | Op | Constructor


class TupleValue(ObjectValue):
    """`(a, b, …)`; indexes and iterates like a Python tuple."""

    __slots__ = ("fields",)

    def __init__(self, fields: Sequence[Value]) -> None:
        self.fields: tuple[Value, ...] = tuple(fields)

    def __getitem__(self, index: int) -> Value:
        return self.fields[index]

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


class ConstructorValue(ObjectValue):
    """A value of a data type: the tag of its constructor and its fields, which it indexes and
    iterates over."""

    __slots__ = ("constructor", "fields", "tag")

    def __init__(self, tag: int, fields: Sequence[Value], constructor: Constructor) -> None:
        self.tag = tag
        self.fields: tuple[Value, ...] = tuple(fields)
        self.constructor = constructor

    __getitem__ = TupleValue.__getitem__
    __iter__ = TupleValue.__iter__
    __len__ = TupleValue.__len__

    def __bool__(self) -> bool:
        return True  # a constructor without fields is a value like any other

    def is_built_by(self, constructor: Constructor) -> bool:
        """Whether that constructor made this value; data types are known by name."""
        mine = self.constructor
        return mine is constructor or (
            mine.name_hint == constructor.name_hint and mine.belong_to == constructor.belong_to
        )


class RefValue(ObjectValue):
    """A mutable cell, compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


UNIT = TupleValue(())


def constructor_name(cls: type) -> str:
    """The name of the constructor that instances of a Python class stand for: that of the class,
    or the declared one."""
    declared = vars(cls).get("__relay_data__")
    case = declared.case(cls) if declared is not None else None
    return cls.__name__ if case is None else str(case.name)


# --- from Python ---------------------------------------------------------------------------------


def to_value(data: Any, ty: Type | None = None) -> Value:
    """`data` as a value. Arrays are copied.

    A Python number takes the element type of `ty`, the expected type, or else that of a literal in
    a program. Where a tensor is expected, so does a list of numbers.
    """
    return run(_to_value(data, ty))


def _to_value(data: Any, ty: Type | None) -> Steps[Value]:
    if isinstance(data, ObjectValue | NDArray | Storage | Op | Constructor):
        return data
    if isinstance(data, Constant):
        return data.data
    if isinstance(ty, TensorType) and isinstance(data, nd.PYTHON):
        return NDArray(nd.as_tensor(data, dtypes.to_numpy(ty.dtype)))
    if isinstance(data, tuple | list):
        expected: Sequence[Type | None] = [None] * len(data)
        if isinstance(ty, TupleType) and len(ty.fields) == len(data):
            expected = ty.fields
        return TupleValue((yield tree.gather(map(_to_value, data, expected))))
    if isinstance(data, Expr):
        raise RelayError(
            f"a {type(data).__name__} is an expression, not a value; evaluate it first"
        )
    if isinstance(data, bool | int | float) and not isinstance(data, np.generic):
        return _from_number(data)
    return nd.array(data)


def _from_number(number: bool | int | float) -> NDArray:
    if isinstance(number, bool):
        dtype = "bool"
    elif isinstance(number, float):
        dtype = "float32"
    else:
        dtype = "int32" if -(2**31) <= number < 2**31 else "int64"
    try:
        return NDArray(np.array(number, dtypes.to_numpy(dtype)))
    except OverflowError as error:
        raise RelayError(f"{number} does not fit into {dtype}") from error


# --- looking at values ---------------------------------------------------------------------------


def type_of(value: Value) -> Type | None:
    """The type of a value made of tensors and tuples; None for others."""
    return run(_type_of(value))


def _type_of(value: Value) -> Steps[Type | None]:
    if isinstance(value, NDArray):
        return TensorType(value.shape, value.dtype)
    if not isinstance(value, TupleValue):
        return None
    fields = yield tree.gather(map(_type_of, value.fields))
    return None if None in fields else TupleType(tuple(fields))


def describe(value: Value) -> str:
    """The type or kind of a value, for messages."""
    match value:
        case NDArray():
            return str(TensorType(value.shape, value.dtype))
        case TupleValue():
            return f"a tuple of {len(value)}"
        case ConstructorValue():
            made = value.constructor
            return f"a {made.belong_to.name_hint} made by `{made.name_hint}`"
        case RefValue():
            return "a reference"
        case Storage():
            return f"a storage of {value.size} bytes"
        case Op():
            return f"the operator `{value.name}`"
        case Constructor():
            return f"the constructor `{value.name_hint}`"
    return "a function"


def show(value: Value) -> str:
    """The text of a value, in the notation of programs; long values end in `…`."""
    pieces: list[str] = []
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        match current:
            case _ if len(pieces) > SHOWN_PARTS:
                return "".join(pieces) + "…"
            case str():
                pieces.append(current)
            case NDArray():
                pieces.append(_show_tensor(current))
            case TupleValue():
                pending += delimited("(", current.fields, ",)" if len(current) == 1 else ")")
            case ConstructorValue():
                pieces.append(current.constructor.name_hint)
                if current.fields:
                    pending += delimited("(", current.fields, ")")
            case RefValue():
                pending += [")", current.value, "ref("]
            case _:
                pieces.append(f"<{describe(current)}>")
    return "".join(pieces)


def _show_tensor(tensor: NDArray) -> str:
    if tensor.shape == ():
        return str(tensor.item())
    return np.array2string(tensor.array, separator=", ", threshold=20)
