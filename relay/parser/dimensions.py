"""Dimensions and type parameters from text: `2 * n + 1`, `min(n, m) // 2`, `[A, n: Shape]`.

A type parameter may omit its kind, `fn [A, n](…)`: its first use decides whether it is a dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from relay.errors import Span
from relay.ir import dims
from relay.ir.dims import Dim, Symbol
from relay.ir.metadata import MetadataReader
from relay.ir.type_text import KIND_NAMES
from relay.ir.types import IncompleteType, TypeKind, TypeVar
from relay.parser.bindings import Bindings
from relay.parser.lexer import META, NAME, NUMERAL, Tokens
from relay.parser.values import ValueParser

KINDS: Final = {name: kind for kind, name in KIND_NAMES.items()} | {"ShapeVar": TypeKind.ShapeVar}
_LARGEST: Final = 2**63

_LEVELS: Final = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_NEGATE: Final = 3
_OPERATORS: Final[dict[str, Callable[[Dim, Dim], Dim]]] = {
    "+": dims.add,
    "-": dims.subtract,
    "*": dims.multiply,
    "//": dims.floor_divide,
    "%": dims.remainder,
}
_EXTREMA: Final = {"min": dims.minimum, "max": dims.maximum}


class TypeParameter:
    """A declared type parameter, which becomes a variable when its kind is known."""

    __slots__ = ("_variable", "kind", "name", "span")

    def __init__(self, name: str, kind: TypeKind | None, span: Span) -> None:
        self.name = name
        self.kind = kind
        self.span = span
        self._variable: TypeVar | None = None

    def variable(self, kind: TypeKind = TypeKind.Type) -> TypeVar:
        """The variable; of `kind` if its kind is not known yet."""
        if self._variable is None:
            self.kind = kind if self.kind is None else self.kind
            self._variable = TypeVar(self.name, self.kind, span=self.span)
        return self._variable


class DimensionParser(ValueParser):
    """Reads dimensions, and knows the type variables in scope."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens, metadata)
        self.type_variables: Bindings[TypeParameter] = Bindings()

    # --- type parameters

    def type_parameters(self) -> list[TypeParameter]:
        """`[A, n: Shape]`, in scope from here on; nothing is no parameters."""
        if self.kind != "[":
            return []
        found: dict[str, TypeParameter] = {}
        for token in self.items("]"):
            parameter = self.type_parameter()
            if parameter.name in found:
                raise self.error(f"type parameter `{parameter.name}` is declared twice", token)
            found[parameter.name] = parameter
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
        parameter = TypeParameter(name, kind, self.tokens.span(first, first))
        self.type_variables.bind(name, parameter)
        return parameter

    # --- dimensions

    def dimension(self) -> Dim:
        """Arithmetic over numbers and shape variables."""
        first = self.index
        if self.kinds[first] == NUMERAL and self.kinds[first + 1] in (",", ")"):
            found = self.dimension_atom()
        else:
            found = _Arithmetic(self).parse()
        if isinstance(found, int) and not 0 <= found < _LARGEST:
            last = self.index - 1
            what = "cannot be negative" if found < 0 else "is too large"
            raise self.error(f"a dimension {what}", first, last, expected=f"0 to {_LARGEST - 1}")
        return found

    def dimension_atom(self) -> Dim:
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
    """Operator-precedence parsing with an explicit stack, so parentheses may nest to any depth."""

    def __init__(self, parser: DimensionParser) -> None:
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
            self.values.append(parser.dimension_atom())
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
