"""Untyped modules and single expressions from text.

Data types are read before functions, so that everything may be used before it is defined. A
definition with an error is skipped and the rest is still parsed: one run shows the first error of
every definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from relay import tree
from relay.errors import Diagnostic, ParseError, did_you_mean, fail
from relay.ir.adt import TypeData
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Constructor, Expr, GlobalVar, Var
from relay.ir.metadata import MetadataReader
from relay.ir.module import IRModule
from relay.ir.printer import VERSION
from relay.ir.types import GlobalTypeVar
from relay.parser.expressions import ExpressionParser
from relay.parser.lexer import END, LOCAL, NAME, QUOTED, Tokens, tokenize
from relay.tree import Steps

MAX_ERRORS: Final = 20
T = TypeVar("T")
_DEFINITIONS: Final = frozenset(("def", "type", "extern"))

MetaTable = Mapping[str, Sequence[Any]]


def parse_module(
    source: str,
    source_name: str,
    init_module: IRModule | None = None,
    init_meta_table: MetaTable | None = None,
) -> IRModule:
    """The untyped module that `source` defines, together with `init_module`."""
    return _parsed(_ModuleParser.module, source, source_name, init_module, init_meta_table)


def parse_expression(
    source: str,
    source_name: str,
    init_module: IRModule | None = None,
    init_meta_table: MetaTable | None = None,
) -> Expr:
    """The untyped expression that `source` is."""
    read = _ModuleParser.single_expression
    return _parsed(read, source, source_name, init_module, init_meta_table)


def _parsed(
    read: Callable[[_ModuleParser], T],
    source: str,
    source_name: str,
    init_module: IRModule | None,
    meta_table: MetaTable | None,
) -> T:
    if not isinstance(source, str):
        hint = "; decode it first" if isinstance(source, bytes | bytearray) else ""
        raise TypeError(f"Relay text is a str, found {type(source).__name__}{hint}")
    try:
        tokens = tokenize(source, source_name)
        return read(_ModuleParser(tokens, MetadataReader(meta_table), init_module))
    except ParseError as error:
        refused = error
    # raised here, without the frames of the parser, which are as many as the text is deep
    fail(ParseError, refused.diagnostics)
    raise refused


class _ModuleParser(ExpressionParser):
    """Reads a module, or a single expression with its declarations."""

    def __init__(
        self, tokens: Tokens, metadata: MetadataReader, init_module: IRModule | None
    ) -> None:
        super().__init__(tokens, metadata)
        self.within = init_module
        self.is_single = False  # one expression, not a module
        self.result = init_module.copy() if init_module is not None else IRModule()
        for header, definition in self.result.type_definitions.items():
            self.data_types[header.name_hint] = header
            self.constructors.update({c.name_hint: c for c in definition.constructors})
        self.errors: list[Diagnostic] = []
        self.unreadable: set[str] = set()  # functions whose definitions have errors
        self.type_ends: dict[int, int] = {}  # first and last token of each type definition
        self._read_metadata()

    def _read_metadata(self) -> None:
        if self.tokens.metadata is None:
            return
        text, start = self.tokens.metadata
        try:
            self.metadata.add_text(text)
        except ValueError as error:
            span = self.tokens.span_between(start, start + len("#[metadata]"))
            raise ParseError.of(
                f"bad metadata section: {error}",
                span,
                "a JSON table, as `astext()` writes it, up to the end of the text",
            ) from None

    # --- modules and single expressions

    def module(self) -> IRModule:
        """Definitions up to the end."""
        self._version()
        if self.kind == "#[":
            self.result.attrs = DictAttrs({**self.result.attrs, **self._attributes()})
        self._read_types()
        while self.kind != END:
            self._collect(self._definition)
        self._check_globals()
        if self.errors:
            raise ParseError(self.errors[:MAX_ERRORS])
        self.result.source_map[self.tokens.source.name] = self.tokens.source
        return self.result

    def single_expression(self) -> Expr:
        """Declarations of free variables, and an expression."""
        self.is_single = True
        self._version()
        while self.kind in ("free_var", "free_type_var"):
            self.index += 1
            if self.kinds[self.index - 1] == "free_type_var":
                self.type_parameter()
            else:
                tree.run(self._free_variable())
            self.expect(";", "behind the declaration")
        if self.kind == "def":
            raise self.unexpected("an expression", "`relay.parse` reads a module")
        expr: Expr = tree.run(self.sequence())
        if self.kind != END:
            raise self.unexpected("an operator or the end of the text")
        if self.within is not None:
            self._check_globals()
        if self.errors:
            raise ParseError(self.errors[:MAX_ERRORS])
        return expr

    def hint_for_variable(self, name: str) -> str:
        if not self.is_single:
            return super().hint_for_variable(name)
        return f"bind it, or declare it before the expression: `free_var %{name};`"

    def hint_for_type(self, name: str) -> str:
        if not self.is_single:
            return super().hint_for_type(name)
        return (
            f"declare a type variable with `free_type_var {name};`, "
            "or give the module of a data type: relay.parse_expr(text, init_module=module)"
        )

    def hint_for_name(self, name: str) -> str | None:
        if self.is_single and name[:1].isupper():
            return "give the module of a constructor: relay.parse_expr(text, init_module=module)"
        return super().hint_for_name(name)

    def _free_variable(self) -> Steps[None]:
        token = self.index
        name = self.expect(LOCAL)
        annotation = yield self.annotation()
        self.locals.bind(name, Var(name, annotation, span=self.tokens.span(token, token)))

    # --- headers

    def _version(self) -> None:
        """`#[version = "0.0.5"]`; without it, the text is of the current version."""
        if self.kind != "#[":
            return
        opened = self.index
        self.index += 1
        if self.at_word("attributes") and not self.is_single:
            self.index = opened
            return
        if not self.at_word("version"):
            raise self.unexpected(f'#[version = "{VERSION}"]')
        self.index += 1
        self.expect("=")
        token = self.index
        version = self.string("with the version")
        self.close("]", opened)
        if version != VERSION:
            raise self._wrong_version(version, token)

    def _wrong_version(self, version: str, token: int) -> ParseError:
        parts = version.split(".")
        hint = "a version is three numbers"
        if len(parts) == 3 and all(p.isascii() and p.isdigit() and len(p) < 9 for p in parts):
            newer = tuple(map(int, parts)) > tuple(map(int, VERSION.split(".")))
            hint = f"write `{VERSION}` if the text uses nothing that has changed since"
            if newer:
                hint = "a newer Relay wrote this text; update to read it"
        return self.error(
            "this version of the text form cannot be read",
            token,
            expected=f'"{VERSION}"',
            found=self.texts[token],
            hint=hint,
        )

    def _attributes(self) -> dict[str, Any]:
        """`#[attributes = {"name": value}]`"""
        opened = self.index
        self.index += 1
        if not self.at_word("attributes"):
            raise self.unexpected("`attributes` or a definition")
        self.index += 1
        self.expect("=")
        if self.kind != "{":
            raise self.unexpected('`{"name": value}`')
        found: dict[str, Any] = self.value()
        self.close("]", opened)
        return found

    # --- definitions

    def _collect(self, read: Any, *args: Any) -> None:
        """Run a reader; note its error and go on with the next definition."""
        start = self.index
        try:
            read(*args)
        except ParseError as error:
            self.errors.extend(error.diagnostics)
            if len(self.errors) >= MAX_ERRORS:
                raise ParseError(self.errors[:MAX_ERRORS]) from None
            self.locals.leave(0)
            self.graph.leave(0)
            self.declared.leave(0)
            self.type_variables.leave(0)
            if self.index == start and self.kind != END:
                self.index += 1
            while self.kind not in _DEFINITIONS and self.kind != END:
                self.index += 1

    def _definition(self) -> None:
        first = self.index
        match self.kind:
            case "def":
                self.index += 1
                name = self.global_name("of the function")
                try:
                    self._function(name, first)
                except ParseError:
                    self.unreadable.add(name)
                    raise
            case "type" | "extern":
                if first not in self.type_ends:
                    raise self.unexpected("a definition")
                self.index = self.type_ends[first]
            case _:
                hint = "`relay.parse_expr` reads a single expression"
                raise self.unexpected(
                    "`def`, `type` or `extern type`", None if self.result.functions else hint
                )

    def _function(self, name: str, first: int) -> None:
        if name in self.result or name in self.unreadable:
            raise self.error(f"function `@{name}` is defined twice", self.index - 1)
        function = tree.run(self.function(first))
        token = first + 1
        self.result[GlobalVar(name, span=self.tokens.span(token, token))] = function

    def _check_globals(self) -> None:
        names = [var.name_hint for var in self.result.functions]
        known = [f"@{name}" for name in names]
        defined = {*names, *self.unreadable}
        for name, token in self.global_uses:
            if name not in defined:
                hint = did_you_mean(f"@{name}", known) or f"define it: `def @{name}(…) {{ … }}`"
                span = self.tokens.span(token, token)
                self.errors.append(Diagnostic(f"unknown function `@{name}`", span, hint=hint))

    # --- data types

    def _read_types(self) -> None:
        """Every type definition of the text: names first, then constructors."""
        start = self.index
        headers: list[tuple[int, GlobalTypeVar]] = []
        for token, kind in enumerate(self.kinds):
            if kind == "type" and self.kinds[token + 1] in (NAME, QUOTED):
                first = token - 1 if token and self.kinds[token - 1] == "extern" else token
                self.index = token + 1
                self._collect(self._header, first, headers)
                self.type_ends[first] = self.index
        for first, header in headers:
            self.index = self.type_ends[first]
            self._collect(self._type_definition, first, header)
            self.type_ends[first] = self.index
        self.index = start

    def _header(self, first: int, headers: list[tuple[int, GlobalTypeVar]]) -> None:
        token = self.index
        name = self.name("of the type")
        if name in self.data_types:
            raise self.error(f"type `{name}` is defined twice", token)
        header = GlobalTypeVar(name, span=self.tokens.span(token, token))
        self.data_types[name] = header
        headers.append((first, header))

    def _type_definition(self, first: int, header: GlobalTypeVar) -> None:
        """What follows the name of a data type."""
        scope = self.type_variables.enter()
        params = self.type_parameters()
        constructors: list[Constructor] = []
        if self.kind == "{":
            for _ in self.items("}"):
                constructors.append(tree.run(self._constructor(header)))
        self.type_variables.leave(scope)
        self.result[header] = TypeData(
            header,
            tuple(p.variable() for p in params),
            tuple(constructors),
            extern=self.kinds[first] == "extern",
            span=self.span(first),
        )

    def _constructor(self, header: GlobalTypeVar) -> Steps[Constructor]:
        token = self.index
        name = self.name("of a constructor")
        if name in self.constructors:
            owner = self.constructors[name].belong_to.name_hint
            raise self.error(
                f"constructor `{name}` is defined twice",
                token,
                found=f"a constructor `{name}` of type `{owner}`",
                hint="constructors share one namespace",
            )
        fields = (yield self.types_between(")")) if self.kind == "(" else ()
        made = Constructor(name, tuple(fields), header, span=self.span(token))
        self.constructors[name] = made
        return made
