"""Types and dimensions from text.

A type parameter may leave out its kind, `fn [A, n](…)`: the first use decides, and what is used as
a dimension is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from relay import dtypes
from relay.ir import dims
from relay.ir.dims import Dim, Symbol
from relay.ir.metadata import MetadataReader
from relay.ir.type_text import KIND_NAMES
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeVar,
)
from relay.parser.bindings import Bindings
from relay.parser.lexer import META, NAME, NUMERAL, QUOTED, Tokens
from relay.parser.values import ValueParser
from relay.tree import Steps

KINDS: Final = {name: kind for kind, name in KIND_NAMES.items()} | {"ShapeVar": TypeKind.ShapeVar}

_LEVELS: Final = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_NEGATE: Final = 3
_OPERATORS: Final[dict[str, Callable[[Dim, Dim], Dim]]] = {
    "+": dims.add,
    "-": dims.subtract,
    "*": dims.multiply,
    "//": dims.floor_divide,
    "%": lambda a, b: dims.subtract(a, dims.multiply(b, dims.floor_divide(a, b))),
}
_EXTREMA: Final = {"min": dims.minimum, "max": dims.maximum}
_LARGEST: Final = 2**63


class TypeParameter:
    """A declared type parameter, which becomes a variable when its kind is known."""

    __slots__ = ("_variable", "kind", "name", "token")

    def __init__(self, name: str, kind: TypeKind | None, token: int) -> None:
        self.name = name
        self.kind = kind
        self.token = token
        self._variable: TypeVar | None = None

    def variable(self, kind: TypeKind = TypeKind.Type) -> TypeVar:
        """The variable; of `kind` where nothing decided before."""
        if self._variable is None:
            self.kind = kind if self.kind is None else self.kind
            self._variable = TypeVar(self.name, self.kind)
        return self._variable


class TypeParser(ValueParser):
    """Reads types."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens, metadata)
        self.type_variables: Bindings[TypeParameter] = Bindings()
        self.data_types: dict[str, GlobalTypeVar] = {}

    # --- type parameters

    def type_parameters(self) -> list[TypeParameter]:
        """`[A, n: Shape]`, in scope from here on; nothing is no parameters."""
        opened = self.index
        if not self.accept("["):
            return []
        found: dict[str, TypeParameter] = {}
        while self.kind != "]":
            parameter = self.type_parameter()
            if parameter.name in found:
                raise self.error(
                    f"type parameter `{parameter.name}` is declared twice", parameter.token
                )
            found[parameter.name] = parameter
            if not self.accept(","):
                break
        self.close("]", opened)
        return list(found.values())

    def type_parameter(self) -> TypeParameter:
        """`A`, or `n: Shape`."""
        first = self.index
        name = self.expect(NAME, "of a type parameter")
        kind = None
        if self.accept(":"):
            word = self.expect(NAME, "of a kind")
            if word not in KINDS:
                raise self.unknown(
                    "kind", word, self.index - 1, KINDS, f"there are {', '.join(KINDS)}"
                )
            kind = KINDS[word]
        parameter = TypeParameter(name, kind, first)
        self.type_variables.bind(name, parameter)
        return parameter

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
        opened = self.index
        self.index += 1
        found: list[Type] = []
        while self.kind != closing:
            found.append((yield self.type_()))
            if not self.accept(","):
                break
        self.close(closing, opened)
        return found

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
        opened = self.index
        self.expect("(", "before the dimensions")
        shape: list[Dim] = []
        while self.kind != ")":
            shape.append(self.dimension())
            if not self.accept(","):
                break
        self.close(")", opened)
        self.expect(",", "and the element type")
        dtype = self.expect(NAME, "of an element type")
        if not dtypes.is_dtype(dtype):
            raise self.unknown("element type", dtype, self.index - 1, dtypes.NAMES)
        self.close("]", first + 1)
        return TensorType(tuple(shape), dtype, span=self.span(first))

    # --- type arguments of calls

    def type_arguments(self) -> Steps[tuple[Any, ...]]:
        """`[A, 3, Shape(n + 1)]`: types, and dimensions for shape parameters."""
        opened = self.index
        self.index += 1
        found: list[Type | Dim] = []
        while self.kind != "]":
            if self.at_word("Shape") and self.following() == "(":
                self.index += 1
                found.append(self.dimension())
            elif self.kind in (NUMERAL, "?"):
                found.append(self.dimension())
            else:
                found.append((yield self.type_()))
            if not self.accept(","):
                break
        self.close("]", opened)
        return tuple(found)

    # --- dimensions

    def dimension(self) -> Dim:
        """Arithmetic over numbers and shape variables."""
        first = self.index
        if self.kinds[first] == NUMERAL and self.kinds[first + 1] in (",", ")"):
            found = self._dimension_atom()
        else:
            found = _Arithmetic(self).parse()
        if isinstance(found, int) and not 0 <= found < _LARGEST:
            last = self.index - 1
            what = "cannot be negative" if found < 0 else "is too large"
            raise self.error(f"a dimension {what}", first, last, expected=f"0 to {_LARGEST - 1}")
        return found

    def _dimension_atom(self) -> Dim:
        first = self.index
        self.index += 1
        match self.kinds[first]:
            case kind if kind == NUMERAL:
                text = self.texts[first]
                if not text.isascii() or not text.isdigit() or len(text) > 20:
                    raise self.error("bad dimension", first, expected="an integer without a suffix")
                return int(text)
            case "?":
                return dims.ANY
            case "_":
                return IncompleteType(TypeKind.ShapeVar, span=self.span(first))
            case kind if kind == NAME:
                return self._shape_variable(self.texts[first])
            case kind if kind == META:
                self.index = first
                found = self.meta()
                if not isinstance(found, int | Symbol):
                    raise self.error("this metadata is not a dimension", first)
                return found
        self.index = first
        raise self.unexpected("a dimension: a number, a shape variable or `?`")

    def _shape_variable(self, name: str) -> Dim:
        parameter = self.type_variables.current.get(name)
        if parameter is None:
            known = self.type_variables.current
            hint = f"declare it as a parameter: `fn [{name}: Shape](…)`; `?` is any dimension"
            raise self.unknown("dimension", name, self.index - 1, known, hint)
        variable = parameter.variable(TypeKind.ShapeVar)
        if variable.kind is not TypeKind.ShapeVar:
            raise self.error(
                f"`{name}` is used as a dimension and as a type",
                self.index - 1,
                expected="a parameter of kind Shape",
                found=f"one of kind {KIND_NAMES[variable.kind]}",
                hint=f"declare it as `{name}: Shape`",
            )
        return variable


class _Arithmetic:
    """Operator precedence with a stack of its own: parentheses nest without end."""

    def __init__(self, parser: TypeParser) -> None:
        self.parser = parser
        self.values: list[Dim] = []
        # operators, open brackets and functions: (what, level, token, how many values are below)
        self.pending: list[tuple[str, int, int, int]] = []
        self.open = 0

    def parse(self) -> Dim:
        parser = self.parser
        while True:
            if self._opens():
                continue
            self.values.append(parser._dimension_atom())
            while self._closes():
                pass
            if (level := _LEVELS.get(parser.kind)) is not None:
                self._reduce(level)
                self.pending.append((parser.kind, level, parser.index, 0))
            elif parser.kind == "," and self.open:
                self._reduce(1)
                if self.pending[-1][0] not in _EXTREMA:
                    raise parser.not_closed("`)`", self.pending[-1][2])
            else:
                self._reduce(1)
                if self.open:
                    raise parser.not_closed("an operator, `,` or `)`", self.pending[-1][2])
                return self.values[0]
            parser.index += 1

    def _opens(self) -> bool:
        """Go past what may come before an operand: a sign, a parenthesis, `min(`."""
        parser = self.parser
        token, kind = parser.index, parser.kind
        if kind == "-":
            self.pending.append((kind, _NEGATE, token, 0))
        elif kind == "(":
            self.pending.append((kind, 0, token, len(self.values)))
            self.open += 1
        elif kind == NAME and parser.texts[token] in _EXTREMA and parser.following() == "(":
            self.pending.append((parser.texts[token], 0, token + 1, len(self.values)))
            self.open += 1
            parser.index += 1
        else:
            return False
        parser.index += 1
        return True

    def _closes(self) -> bool:
        """Go past a parenthesis that was opened here."""
        parser = self.parser
        if parser.kind != ")" or not self.open:
            return False
        self._reduce(1)
        what, _, _, below = self.pending.pop()
        self.open -= 1
        parser.index += 1
        if what in _EXTREMA:
            result, *others = self.values[below:]
            for other in others:
                result = _EXTREMA[what](result, other)
            self.values[below:] = [result]
        return True

    def _reduce(self, level: int) -> None:
        """Apply the operators that bind at least as tightly as `level`."""
        while self.pending and self.pending[-1][1] >= level:
            operator, bound, token, _ = self.pending.pop()
            right = self.values.pop()
            if bound == _NEGATE:
                self.values.append(dims.multiply(right, -1))
                continue
            if operator in ("//", "%") and right == 0:
                raise self.parser.error("a dimension is divided by zero", token)
            self.values.append(_OPERATORS[operator](self.values.pop(), right))
