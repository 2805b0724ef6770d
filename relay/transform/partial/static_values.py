"""Partially static values: what is known of a value, and how the residual program computes it.

    Tensor     NDArray, known completely
    Fields     a tuple, or data with its constructor, whose fields are values again
    Closure    a function with the values of its free variables
    Cell       a reference that this program creates

An operator or a constructor is known as itself. Of all other values only the type is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relay.ir import expr as ir
from relay.ir.dims import Dim
from relay.ir.types import UNIT, FuncType, Type, TypeVar, substitute
from relay.nd import NDArray
from relay.transform.partial.residual_blocks import Slot
from relay.tree import Steps

TypeValues = Mapping[TypeVar, Type | Dim]


class Environment:
    """The values of variables, and of type variables, in one evaluation of a function."""

    __slots__ = ("_parent", "_values", "types")

    def __init__(self, parent: Environment | None = None, types: TypeValues | None = None) -> None:
        self._parent = parent
        self._values: dict[ir.Var, Value] = {}
        around: TypeValues = {} if parent is None else parent.types
        self.types: TypeValues = {**around, **types} if types else around

    def __getitem__(self, variable: ir.Var) -> Value:
        place: Environment | None = self
        while place is not None:
            if (found := place._values.get(variable)) is not None:
                return found
            place = place._parent
        raise KeyError(variable)

    def __setitem__(self, variable: ir.Var, value: Value) -> None:
        self._values[variable] = value


@dataclass(eq=False, slots=True)
class Fields:
    """A tuple, or data if it has a constructor."""

    fields: tuple[Value, ...]
    constructor: ir.Constructor | None = None
    size: int = field(init=False)  # how many tuples and constructors are known

    def __post_init__(self) -> None:
        inside = (value.static for value in self.fields)
        self.size = 1 + sum(part.size for part in inside if isinstance(part, Fields))


@dataclass(eq=False, slots=True)
class Closure:
    """A function and the environment it was made in; `name` is that of a global function."""

    function: ir.Function
    environment: Environment
    maker: object = None  # the residual function that makes it; None for a global function
    name: str | None = None


@dataclass(eq=False, slots=True)
class Cell:
    """A reference that is created where it is known. While nothing residual has it, it is not in
    the residual program; its writes are kept in case it has to be."""

    home: Any  # the residual function that creates it
    content: Type
    writes: list[tuple[Slot, Value]] = field(default_factory=list)
    escaped: bool = False


Static = NDArray | Fields | Closure | Cell | ir.Op | ir.Constructor


@dataclass(eq=False, slots=True)
class Value:
    """A value of the program: its type there, what is known of it, and its residual code.

    Where it has no `atom` yet, `operation` computes it, to be bound in `slot`, or else it
    `stands_for` something that has a name; either is asked only when the value is needed.
    """

    ty: Type
    static: Static | None = None
    atom: ir.Expr | None = None
    slot: Slot | None = None
    operation: Callable[[], Steps[ir.Expr]] | None = None
    hint: str = "x"
    annotation: Type | None = None  # of the variable in the residual program
    exact: ir.Expr | None = None  # an atom whose type is inferred as `ty`
    stands_for: Callable[[], Steps[ir.Expr]] | None = None


ANY_FUNCTION = FuncType((), UNIT)  # of operators and copies, whose types nobody asks for


def result_type(function: ir.Function, environment: Environment) -> Type:
    """The type of the results of a function."""
    return substitute(function.ret_type or function.body.checked_type, environment.types)
