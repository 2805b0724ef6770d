"""Types from text."""

from __future__ import annotations

from typing import Any

from relay import dtypes, tree
from relay.ir.dims import Dim
from relay.ir.metadata import MetadataReader
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.parser.dimensions import DimensionParser
from relay.parser.lexer import META, NAME, NUMERAL, QUOTED, Tokens
from relay.tree import Steps


class TypeParser(DimensionParser):
    """Reads types."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens, metadata)
        self.data_types: dict[str, GlobalTypeVar] = {}

    # --- types

    def type_(self) -> Steps[Type]:
        """A type."""
        if (simple := self.simple_type()) is not None:
            return simple
        first = self.index
        match self.kind:
            case "(":
                return self._tuple_type()  # type: ignore[return-value]
            case "fn":
                return self._function_type()  # type: ignore[return-value]
            case "ref":
                self.index += 1
                opened = self.index
                self.expect("(")
                value = yield self.type_()
                self.close(")", opened)
                return RefType(value, span=self.span(first))
            case kind if kind in (NAME, QUOTED):
                name = self._type_name()
                args = yield self.types_between("]")
                return TypeCall(name, tuple(args), span=self.span(first))
        raise self.unexpected("a type")

    def simple_type(self) -> Type | None:
        """A type that has no types inside; None for others, with nothing read."""
        first, kind = self.index, self.kinds[self.index]
        if kind == NAME:
            text, follower = self.texts[first], self.kinds[first + 1]
            if text == "Tensor" and follower == "[":
                return self._tensor_type()
            if text not in self.type_variables.current and dtypes.is_dtype(text):
                self.index += 1
                return TensorType((), text, span=self.span(first))
        elif kind == QUOTED:
            follower = self.kinds[first + 1]
        elif kind == "_":
            self.index += 1
            return IncompleteType(span=self.span(first))
        elif kind == META:
            found = self.meta()
            if not isinstance(found, Type):
                raise self.error("this metadata is not a type", first, found=type(found).__name__)
            return found
        else:
            return None
        if follower == "[":
            return None
        name = self._type_name()
        return name if isinstance(name, TypeVar) else TypeCall(name, (), span=self.span(first))

    def _type_name(self) -> TypeVar | GlobalTypeVar:
        """A type variable or the name of a data type."""
        first = self.index
        quoted = self.kind == QUOTED
        name = self.name("of a type")
        parameter = None if quoted else self.type_variables.current.get(name)
        if parameter is not None:
            return parameter.variable()
        if name in self.data_types:
            return self.data_types[name]
        known = (*self.data_types, *self.type_variables.current, "Tensor", *dtypes.NAMES)
        raise self.unknown("type", name, first, known, self.hint_for_type(name))

    def hint_for_type(self, name: str) -> str:
        """What to try when there is no type `name`, which was just read."""
        if self.kind == "[":
            return f"define it with `type {name}[…]`, or import the library that does"
        return f"define it with `type {name}`, or declare it as a type parameter: `fn [{name}](…)`"

    def types_between(self, closing: str) -> Steps[list[Type]]:
        """Types between the bracket that is next and `closing`."""
        return tree.gather(self.type_() for _ in self.items(closing))

    def _tuple_type(self) -> Steps[Type]:
        first = self.index
        fields = yield self.types_between(")")
        if len(fields) == 1 and self.kinds[self.index - 2] != ",":
            return fields[0]  # type: ignore[no-any-return]
        return TupleType(tuple(fields), span=self.span(first))

    def _function_type(self) -> Steps[Type]:
        first = self.index
        self.index += 1
        scope = self.type_variables.enter()
        params = self.type_parameters()
        if self.kind != "(":
            raise self.unexpected("`(` before the types of the arguments")
        args = yield self.types_between(")")
        self.expect("->", "before the type of the result")
        result = yield self.type_()
        if self.at_word("where"):
            raise self.error("type relations cannot be read from text", self.index)
        self.type_variables.leave(scope)
        variables = tuple(p.variable() for p in params)
        return FuncType(tuple(args), result, variables, span=self.span(first))

    def _tensor_type(self) -> Type:
        first = self.index
        self.index += 2
        if self.kind != "(":
            raise self.unexpected("`(` before the dimensions")
        shape = [self.dimension() for _ in self.items(")")]
        self.expect(",", "and the element type")
        dtype = self.expect(NAME, "of an element type")
        if not dtypes.is_dtype(dtype):
            raise self.unknown("element type", dtype, self.index - 1, dtypes.NAMES)
        self.close("]", first + 1)
        return TensorType(tuple(shape), dtype, span=self.span(first))

    # --- type arguments of calls

    def type_arguments(self) -> Steps[tuple[Any, ...]]:
        """`[A, 3, Shape(n + 1)]`: types, and dimensions for shape parameters."""
        found: list[Type | Dim] = []
        for _ in self.items("]"):
            if self.at_word("Shape") and self.following() == "(":
                self.index += 1
                found.append(self.dimension())
            elif self.kind in (NUMERAL, "?"):
                found.append(self.dimension())
            else:
                found.append((yield self.type_()))
        return tuple(found)
