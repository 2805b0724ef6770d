"""Lifting: Python values as expressions.

A number takes the element type of the other operand. Where that is not known yet, a variable stands
for the number until it is, or until the end of the function, where it becomes int32, float32 or
bool.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from relay import dtypes, nd, tree
from relay.errors import RelayError, Span
from relay.frontend.python import statics
from relay.frontend.python.declarations import declaration_of, is_case
from relay.frontend.python.definitions import constructor_of
from relay.frontend.python.standard import Cons, Nil, Nothing
from relay.frontend.python.unit import Unassigned, Unit, Value
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Tuple,
    TupleWrapper,
    Var,
    find_op,
    op_names,
)
from relay.ir.types import (
    FuncType,
    IncompleteType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    scalar_type,
)
from relay.op.opdef import OpDef
from relay.tree import Steps


@dataclass
class PendingNumber:
    """A number whose element type is not known yet; it will be that of `partner`."""

    number: bool | int | float
    span: Span
    partner: Type | None


class Lifting(Unit):
    """Lifts Python values to expressions."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.literals: dict[Var, PendingNumber] = {}
        self._constants: dict[int, tuple[Any, Constant]] = {}

    # --- defined by subclasses

    @abstractmethod
    def function_value(self, value: Value, node: ast.AST, expected: FuncType | None) -> Steps[Any]:
        """A function as a value, at the expected types."""

    @abstractmethod
    def is_function(self, value: Value) -> bool:
        """Whether a value is a translated function."""

    # --- values

    def lift(
        self, value: Value, node: ast.AST, expected: Type | None = None, open_: bool = False
    ) -> Steps[Any]:
        """`value` as an expression, preferably of type `expected`. With `open_`, the element type
        of a number may be decided later."""
        expected = self.resolve(expected) if expected is not None else None
        if isinstance(value, Expr | TupleWrapper):
            return value if isinstance(value, Expr) else value.tuple_value
        if statics.is_number(value):
            return self.number(value, node, expected, open_)
        if isinstance(value, tuple):
            return (yield self._tuple(value, node, expected, open_))
        if isinstance(value, list):
            return (yield self.list_of(value, node, expected))
        if value is None:
            if isinstance(expected, TypeCall) and expected.func == declared(Nothing).header:
                return (yield self.construct(Nothing, (), node))
            return self.placed(Tuple(()), node)
        if self.is_function(value):
            wanted = expected if isinstance(expected, FuncType) else None
            return (yield self.function_value(value, node, wanted))
        if is_case(value):
            return self.constructor(value)
        if (operator := record_of(value)) is not None:
            return operator
        if is_instance(value):
            # data from outside the function is rebuilt in the program
            parts = tuple(getattr(value, f.name) for f in fields(value))
            return (yield self.construct(type(value), parts, node))
        if statics.is_array(value):
            return self.constant(value, node)
        if isinstance(value, Unassigned):
            raise self.error(node, value.why, hint=value.hint)
        text = isinstance(value, str)
        hint = "there is no text in a program; numbers can stand for it" if text else None
        raise self.error(
            node, "this is not a value of a Relay program", found=_described(value), hint=hint
        )

    def number(
        self, number: bool | int | float, node: ast.AST, expected: Type | None, open_: bool
    ) -> Expr:
        """A number as a constant, with the element type of `expected`."""
        if isinstance(expected, TensorType):
            return self._literal(number, element_type(number, expected.dtype), self.span(node))
        if open_ and (expected is None or isinstance(expected, IncompleteType)):
            stand_in: Var = self.typed(Var("number", span=self.span(node)), IncompleteType())
            self.literals[stand_in] = PendingNumber(number, self.span(node), expected)
            return stand_in
        return self._literal(number, element_type(number, None), self.span(node))

    def _literal(self, number: bool | int | float, dtype: str, span: Span) -> Constant:
        try:
            array = np.array(number, dtypes.to_numpy(dtype))
        except OverflowError:
            raise self.error(span, f"{number} does not fit into {dtype}") from None
        if not isinstance(number, float) and int(array) != number and dtypes.is_integer(dtype):
            raise self.error(span, f"{number} does not fit into {dtype}")
        made: Constant = self.typed(Constant(nd.NDArray(array), span=span), scalar_type(dtype))
        return made

    def constant(self, value: Any, node: ast.AST) -> Constant:
        """Data from outside the function; the same object is the same constant."""
        if id(value) not in self._constants:
            try:
                made = Constant(nd.array(value), span=self.span(node))
            except RelayError as error:
                raise self.error(node, str(error)) from None
            self._constants[id(value)] = value, made
            self.typed(made, made.tensor_type)
        return self._constants[id(value)][1]

    def _tuple(
        self, values: tuple[Value, ...], node: ast.AST, expected: Type | None, open_: bool
    ) -> Steps[Expr]:
        wanted: Sequence[Type | None] = [None] * len(values)
        if isinstance(expected, TupleType) and len(expected.fields) == len(values):
            wanted = expected.fields
        parts = yield tree.gather(
            self.lift(value, node, ty, open_) for value, ty in zip(values, wanted, strict=True)
        )
        return self.placed(Tuple(tuple(parts)), node, *parts)

    def list_of(
        self, values: Sequence[Value], node: ast.AST, expected: Type | None, end: Expr | None = None
    ) -> Steps[Expr]:
        """`[a, b, …]` as a list of the prelude, in front of `end`."""
        made = end if end is not None else (yield self.construct(Nil, (), node))
        wanted: Type = IncompleteType()
        if isinstance(expected, TypeCall) and len(expected.args) == 1:
            wanted = expected.args[0]
        if isinstance(found := self.type_of(made), TypeCall) and len(found.args) == 1:
            self.unify(found.args[0], wanted, node, "the list does not fit")
        parts = []
        for value in values:
            part = yield self.lift(value, node, wanted)
            self.unify(self.type_of(part), wanted, node, "the elements of a list differ")
            parts.append(part)
        for part in reversed(parts):
            made = yield self.construct(Cons, (part, made), node)
        return made

    def construct(self, cls: type, values: Sequence[Value], node: ast.AST) -> Steps[Expr]:
        """A call of the constructor for `cls`, with a value for every field."""
        constructor = self.constructor(cls)
        signature = self.type_of(constructor)
        assert isinstance(signature, FuncType)
        signature = self.generator.solver.unifier.instantiate(signature)
        parts: list[Expr] = []
        for value, wanted in zip(values, signature.arg_types, strict=True):
            part = yield self.lift(value, node, wanted)
            self.fits(self.type_of(part), wanted)  # the call says where it does not
            parts.append(part)
        return self.placed(Call(constructor, tuple(parts)), node, *parts)

    def constructor(self, cls: type) -> Constructor:
        """The constructor for `cls`; its data type is added to the program."""
        self.program.use_data(cls)
        return constructor_of(cls)

    # --- numbers at the end of a function

    def settle(self, body: Expr) -> Expr:
        """`body` with the variables that stood for numbers replaced."""
        solver = self.generator.solver
        solver.solve()
        waiting = list(self.literals)
        while waiting:
            undecided = []
            for variable in waiting:
                literal, ty = self.literals[variable], self.type_of(variable)
                partner = None if literal.partner is None else self.resolve(literal.partner)
                if isinstance(ty, IncompleteType) and isinstance(partner, TensorType):
                    self._decide(variable, element_type(literal.number, partner.dtype))
                elif isinstance(ty, IncompleteType):
                    undecided.append(variable)
            if len(undecided) == len(waiting):
                first = undecided.pop(0)
                self._decide(first, element_type(self.literals[first].number, None))
            waiting = undecided
        numbers: dict[Var, Constant] = {}
        for variable, literal in self.literals.items():
            ty = self.type_of(variable)
            wanted = ty.dtype if isinstance(ty, TensorType) else None
            constant = self._literal(
                literal.number, element_type(literal.number, wanted), literal.span
            )
            self.unify(constant.tensor_type, ty, literal.span, "the number does not fit")
            numbers[variable] = constant
        return tree.transform(body, lambda _, after: after, numbers) if numbers else body

    def _decide(self, variable: Var, dtype: str) -> None:
        span = self.literals[variable].span
        self.unify(scalar_type(dtype), self.generator.types[id(variable)], span, "")
        self.generator.solver.solve()


def element_type(number: bool | int | float, wanted: str | None) -> str:
    """The element type of a number where `wanted` is expected; a float never becomes an integer."""
    if isinstance(number, bool):
        return "bool"
    if wanted is None or wanted == "bool" or (isinstance(number, float) and not _real(wanted)):
        if isinstance(number, float):
            return "float32"
        return "int32" if -(2**31) <= number < 2**31 else "int64"
    return wanted


def _real(dtype: str) -> bool:
    return dtypes.is_float(dtype) or dtype in dtypes.FLOAT8


def as_floats(values: Sequence[Value]) -> Sequence[Value]:
    """Alternative numbers: all floats if some are."""
    if all(map(statics.is_number, values)) and float in map(type, values):
        return [float(v) if type(v) is int else v for v in values]
    return values


def is_instance(value: Value) -> bool:
    """Whether it is an instance of a `relay.data` class."""
    return not isinstance(value, type) and is_dataclass(value) and declaration_of(value) is not None


def declared(cls: type) -> Any:
    """The declaration of a class that is known to have one."""
    return declaration_of(cls)


def record_of(value: Value) -> OpDef | None:
    """The operator that a Python function builds calls of."""
    if isinstance(value, OpDef):
        return value
    if not is_builder(value):
        return None
    for name in op_names():
        found = find_op(name)
        if isinstance(found, OpDef) and found.helper is value:
            return found
    return None


def is_builder(value: Value) -> bool:
    """Whether it is a Python function of `relay.op`, which only builds expressions."""
    home = getattr(value, "__module__", None) or ""
    return (
        callable(value)
        and not isinstance(value, type)
        and (home == "relay.op" or home.startswith("relay.op."))
    )


def _described(value: Value) -> str:
    name = getattr(value, "__name__", None)
    kind = type(value).__name__
    return f"the {kind} `{name}`" if isinstance(name, str) else f"{kind} {value!r}"
