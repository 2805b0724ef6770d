"""Patterns from text: `_`, `%x: T`, `Cons(%head, _)`, `(%a, %b)`."""

from __future__ import annotations

from relay import tree
from relay.ir import expr as ir
from relay.ir.metadata import MetadataReader
from relay.ir.types import Type
from relay.parser.bindings import Bindings
from relay.parser.lexer import LOCAL, NAME, QUOTED, Tokens
from relay.parser.types import TypeParser
from relay.tree import Steps


class PatternParser(TypeParser):
    """Reads patterns, and knows the variables and constructors in scope."""

    def __init__(self, tokens: Tokens, metadata: MetadataReader) -> None:
        super().__init__(tokens, metadata)
        self.locals: Bindings[ir.Var] = Bindings()
        self.constructors: dict[str, ir.Constructor] = {}

    def annotation(self) -> Steps[Type | None]:
        """`: T`, or nothing."""
        return (yield self.type_()) if self.accept(":") else None

    def pattern(self, bound: set[str]) -> Steps[ir.Pattern]:
        """A pattern; its variables, noted in `bound`, are in scope from here on."""
        first, kind = self.index, self.kinds[self.index]
        if kind == "_":
            self.index += 1
            return ir.PatternWildcard(span=self.span(first))
        if kind == LOCAL:
            self.index += 1
            name = self.texts[first]
            if name in bound:
                raise self.error(f"variable `%{name}` is bound twice in this pattern", first)
            bound.add(name)
            token_span = self.span(first)
            annotation = yield self.annotation()
            variable = ir.Var(name, annotation, span=token_span)
            self.locals.bind(name, variable)
            return ir.PatternVar(variable, span=self.span(first))
        if kind == "(":
            patterns = yield self._patterns(bound)
            if len(patterns) == 1 and self.kinds[self.index - 2] != ",":
                return patterns[0]  # type: ignore[no-any-return]
            return ir.PatternTuple(tuple(patterns), span=self.span(first))
        if kind in (NAME, QUOTED):
            name = self.name("")
            constructor = self.constructors.get(name)
            if constructor is None:
                hint = f"a variable is written `%{name}`"
                raise self.unknown("constructor", name, first, self.constructors, hint)
            patterns = (yield self._patterns(bound)) if self.kind == "(" else ()
            return ir.PatternConstructor(constructor, tuple(patterns), span=self.span(first))
        raise self.unexpected("a pattern: `_`, a variable, a constructor or a tuple")

    def _patterns(self, bound: set[str]) -> Steps[list[ir.Pattern]]:
        return tree.gather(self.pattern(bound) for _ in self.items(")"))
