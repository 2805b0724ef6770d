"""What a person sees who wrote something else than Relay."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import relay
from relay.errors import Diagnostic, ParseError, RelayError, override_renderer

HEADER = '#[version = "0.0.5"]\n'


def refused(text: str, single: bool = False, **options: Any) -> Diagnostic:
    """The one diagnostic about a module (or a single expression)."""
    with pytest.raises(ParseError) as error:
        relay.parse_expr(text, **options) if single else relay.parse(text, **options)
    assert len(error.value.diagnostics) == 1
    return error.value.diagnostics[0]


def place(found: Diagnostic) -> tuple[int, int]:
    assert isinstance(found.span, relay.Span)
    return found.span.line, found.span.column


# --- the header --------------------------------------------------------------------------------


def test_the_version_may_be_left_out() -> None:
    text = "def @main() { 1 }"
    assert relay.parse(text).astext() == relay.parse(HEADER + text).astext()
    assert relay.parse(f'#[attributes = {{"a": 1}}]\n{text}').attrs["a"] == 1
    assert not relay.parse("").functions
    assert refused("1 + 2").message.startswith("unexpected")


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("0.0.6", "a newer Relay wrote this text; update to read it"),
        ("1.0.0", "a newer Relay wrote this text; update to read it"),
        ("0.0.4", "write `0.0.5` if the text uses nothing that has changed since"),
        ("5.A.0", "a version is three numbers"),
        ("", "a version is three numbers"),
    ],
)
def test_versions_that_cannot_be_read_are_explained(version: str, hint: str) -> None:
    for single in (False, True):
        found = refused(f'#[version = "{version}"]\n', single)
        assert found.message == "this version of the text form cannot be read"
        assert (found.expected, found.found, found.hint) == ('"0.0.5"', f'"{version}"', hint)


@pytest.mark.parametrize(
    "text", ["#[", "#[version", "#[version = 5]", '#[version = "0.0.5"', "#[x]"]
)
def test_a_broken_header_is_refused(text: str) -> None:
    assert refused(text).message.startswith("unexpected")


# --- words and places --------------------------------------------------------------------------


def test_the_line_is_shown_with_a_caret() -> None:
    with pytest.raises(ParseError) as error:
        relay.parse(HEADER + "def @main(%x: float32) {\n  nn.relu(%x, %y)\n}", "model.relay")
    assert str(error.value) == "\n".join(
        [
            "unknown variable `%y`",
            "  --> model.relay:3:15",
            "   3 |   nn.relu(%x, %y)",
            "     |               ^^",
            "     hint:     bind it with `let %y = …;` or as a parameter",
        ]
    )


@pytest.mark.parametrize(
    ("body", "expected", "found", "column"),
    [
        ("%x %x", "`}`", "`%x`", 4),
        ("add(%x %x)", "an operator, `,` or `)`", "`%x`", 8),
        ("(%x; %x", "an operator, `,` or `)`", "`}`", 9),
        ("let %y 1; %y", "`=`", "`1`", 8),
        ("let %y = 1 %y", "`;` behind the binding", "`%y`", 12),
        ("if %x { 1 } else { 2 }", "`(` before the condition", "`%x`", 4),
        ("if (%x) { 1 }; 2", "`else` and the other branch", "`;`", 14),
        ("fn { 1 }", "`(` before the parameters", "`{`", 4),
        ("fn (x) { 1 }", "a local variable as a parameter", "`x`", 5),
        (
            "match (%x) { 1 => 2 }",
            "a pattern: `_`, a variable, a constructor or a tuple",
            "`1`",
            14,
        ),
        ("match (%x) { _ 1 }", "`=>` and what the pattern leads to", "`1`", 16),
        ("match %x", "`{` before the clauses", "`}`", 10),
        ("1 +", "an expression", "`}`", 5),
        ("%x(a=)", "a value: a number, a string, True, False, None, […] or {…}", "`)`", 6),
        ("%x(a={1: 2})", "a string as a key", "`1`", 7),
        ("%x(a=1, %x)", "an attribute", "`%x`", 9),
        ("fn (a=1, %y) { 1 }", "an attribute", "`%y`", 10),
        ("%x[int32]", "`(`", "`}`", 11),
        ("fn (%y: 1) { 1 }", "a type", "`1`", 9),
        ("fn (%y: fn (int8)) { 1 }", "`->` before the type of the result", "`)`", 18),
        ("fn (%y: Tensor[3, int8]) { 1 }", "`(` before the dimensions", "`3`", 16),
        ("fn (%y: Tensor[(3)]) { 1 }", "`,` and the element type", "`]`", 19),
        (
            "fn (%y: Tensor[(3 +), int8]) { 1 }",
            "a dimension: a number, a shape variable or `?`",
            "`)`",
            20,
        ),
        ("fn (%y: Tensor[((1 * 2, 3), int8]) { 1 }", "`)`", "`,`", 23),
        ("fn (%y: Tensor[(min(1 2)), int8]) { 1 }", "an operator, `,` or `)`", "`2`", 23),
        ("fn [1]() { 1 }", "a name of a type parameter", "`1`", 5),
    ],
)
def test_unexpected_tokens(body: str, expected: str, found: str, column: int) -> None:
    diagnostic = refused(HEADER + f"def @main(%x: float32) {{\n{body} }}")
    assert (diagnostic.message, diagnostic.expected, diagnostic.found) == (
        "unexpected token",
        expected,
        found,
    )
    assert place(diagnostic) == (3, column)


def test_truncated_text_says_what_is_missing() -> None:
    words = HEADER + "def @main ( %x : ( int8 , fn ( ) -> int8 ) ) { add ( %x .0 , 1 ) }"
    while words := words.rpartition(" ")[0]:
        if words == HEADER.rpartition(" ")[0]:
            break
        found = refused(words)
        assert found.message == "unexpected end of text" and found.expected


def test_what_is_not_closed_is_named() -> None:
    found = refused(HEADER + "def @main() {\n  (1, (2, 3)\n")
    assert found.message == "unexpected end of text"
    assert found.hint == "`(` at line 3, column 3 is not closed"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{ }", "a block has a value; the empty one is `()`"),
        ("{ let %x = 1; }", "a sequence ends with an expression, its value, without `;` behind it"),
        ("1;", "a sequence ends with an expression, its value, without `;` behind it"),
        ("-(1)", "write `negative(…)` to negate an expression"),
        ("let %0 = 1; 2", "a name that is a number is a graph variable"),
        ("let %x = let %y = 1; 2; 3", "put a `let` inside an expression between braces"),
        ("1 && 2", "write `logical_and(…)`"),
        ("'a'", 'strings stand between double quotes: "…"'),
        ("% x", "a variable is `%` and a name: `%x`"),
        ("def @f() { 1 }", "`relay.parse` reads a module"),
        ("fn () { free_var %x; %x }", "free variables are declared before the expression"),
        ("meta[0]", "a reference to the metadata is `meta[relay.Constant][0]`"),
        ("Tensor[(1), int8]", "this is a type; types stand behind `:` and `->`"),
        ("%x", "bind it, or declare it before the expression: `free_var %x;`"),
        ("let %f = 1; f(2)", "the variable is written `%f`"),
        ("Cons(1, 2)", "give the module of a constructor"),
        (r'fn (a="\q") { 1 }', r"write `\\` for a backslash"),
    ],
)
def test_common_slips_get_a_hint(text: str, hint: str) -> None:
    assert (refused(text, single=True).hint or "").startswith(hint)


def test_an_expression_is_not_a_module() -> None:
    found = refused(HEADER + "fn () { 1 }")
    assert found.expected == "`def`, `type` or `extern type`"
    assert found.hint == "`relay.parse_expr` reads a single expression"


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("def @main() { nn.rellu(1f) }", "unknown operator or constructor `nn.rellu`", "`nn.relu`"),
        ("type L { Cons } def @main() { Con }", "unknown operator or constructor `Con`", "`Cons`"),
        ("def @main(%input: int8) { %inputs }", "unknown variable `%inputs`", "`%input`"),
        ("def @main() { @mian() }", "unknown function `@mian`", "`@main`"),
        ("def @main() { %0 }", "unknown graph variable `%0`", "bind it before"),
        (
            "type L { Cons } def @main(%x: L) { match (%x) { Con => 1 } }",
            "unknown constructor `Con`",
            "`Cons`",
        ),
        ("def @main(%x: int8) { match (%x) { y => 1 } }", "unknown constructor `y`", "`%y`"),
        ("def @main(%x: Lst) { 1 } type List {}", "unknown type `Lst`", "`List`"),
        (
            "def @main(%x: Thing[int8]) { 1 }",
            "unknown type `Thing`",
            "define it with `type Thing[…]`",
        ),
        ("type L { C(Q) }", "unknown type `Q`", "`type Q`"),
        ("def @main(%x: Tensor[(n), int8]) { 1 }", "unknown dimension `n`", "`fn [n: Shape](…)`"),
        ("def @main(%x: Tensor[(1), flat32]) { 1 }", "unknown element type `flat32`", "`float32`"),
        ("def @main[n: Shap]() { 1 }", "unknown kind `Shap`", "`Shape`"),
        ("def @main() { operator(ad) }", "unknown operator `ad`", "`add`"),
        ("def @main() { constructor(Nil) }", "unknown constructor `Nil`", None),
    ],
)
def test_unknown_names_suggest_known_ones(text: str, message: str, hint: str | None) -> None:
    found = refused(HEADER + text)
    assert found.message == message
    assert found.hint is None if hint is None else hint in (found.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f() { 1 } def @f() { 2 }", "function `@f` is defined twice"),
        ("type A { B } type A { C }", "type `A` is defined twice"),
        ("type A { B } type C { B }", "constructor `B` is defined twice"),
        ("type A { B, B }", "constructor `B` is defined twice"),
        ("def @f(%x: int8, %x: int8) { 1 }", "parameter `%x` is declared twice"),
        ("def @f[A, A]() { 1 }", "type parameter `A` is declared twice"),
        ("def @f(a=1, a=2) { 1 }", "attribute `a` is given twice"),
        ("def @f() { %0 = 1; %0 = 2; %0 }", "graph variable `%0` is bound twice in this block"),
        (
            "def @f() { match (1) { (%x, %x) => 1 } }",
            "variable `%x` is bound twice in this pattern",
        ),
    ],
)
def test_nothing_is_defined_twice(text: str, message: str) -> None:
    assert refused(HEADER + text).message == message


def test_what_is_declared_ahead_is_bound_once() -> None:
    found = refused(HEADER + "def @f() { let %x; 1 }")
    assert found.message == "`%x` is declared here and never bound" and place(found) == (2, 16)
    found = refused(HEADER + "def @f() { let %x: int8; let %x: int8 = 1; %x }")
    assert found.message == "the type of `%x` belongs where it is declared"


def test_a_parameter_is_a_type_or_a_dimension() -> None:
    found = refused(HEADER + "def @f[n](%x: n, %y: Tensor[(n), int8]) { 1 }")
    assert found.message == "`n` is used as a dimension and as a type"
    assert found.hint == "declare it as `n: Shape`"


# --- attributes, literals, dimensions, metadata ------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        ("nn.softmax(%x, axs=1)", "`nn.softmax` has no attribute `axs`", "did you mean `axis`?"),
        ("nn.softmax(%x, zzz=1)", "`nn.softmax` has no attribute `zzz`", "it has axis"),
        ("nn.relu(%x, axis=1)", "`nn.relu` has no attribute `axis`", "it takes no attributes"),
        ("cast(%x)", "`cast` needs the attribute `dtype`", None),
        ('%x(attrs_type_key="NoAttrs")', "no operator has attributes of class 'NoAttrs'", None),
    ],
)
def test_attributes_are_those_of_the_operator(call: str, message: str, hint: str | None) -> None:
    found = refused(HEADER + f"def @main(%x: Tensor[(2), float32]) {{ {call} }}")
    assert found.message == message and found.hint == hint


def test_values_of_attributes_fit_their_declaration() -> None:
    found = refused(HEADER + 'def @main(%x: Tensor[(2), float32]) { nn.softmax(%x, axis="a") }')
    assert found.message.startswith("attribute `axis` of `nn.softmax` must be")


@pytest.mark.parametrize(
    "literal",
    [
        "300i8",
        "-1u8",
        "1q",
        "1.5i8",
        "1e9i32",
        "1e99f",
        "9" * 20,
        "9" * 5000,
        "70000f16",
        "2f8",
        "٣",
    ],
)
def test_bad_literals_are_refused(literal: str) -> None:
    assert refused(literal, single=True).message.startswith("bad literal: ")


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        ("-1", "a dimension cannot be negative"),
        ("2 - 3", "a dimension cannot be negative"),
        ("9223372036854775808", "a dimension is too large"),
        ("1 // 0", "a dimension is divided by zero"),
        ("1 % (2 - 2)", "a dimension is divided by zero"),
        ("3i8", "bad dimension"),
        ("1.5", "bad dimension"),
        ("9" * 5000, "bad dimension"),
    ],
)
def test_bad_dimensions_are_refused(dim: str, message: str) -> None:
    text = f"free_var %x: Tensor[({dim}), int8]; %x"
    assert refused(text, single=True).message == message


def entry(dtype: str, shape: str, data: str) -> str:
    return f'{{"relay.Constant": [{{"dtype": "{dtype}", "shape": {shape}, "data": "{data}"}}]}}'


METADATA = "def @main() { meta[relay.Constant][0] }\n#[metadata]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def @main() { meta[relay.Constant][0] }",
            "the text has no metadata for `relay.Constant`",
        ),
        (METADATA + '{"relay.Constant": []}', "has 0 entries in the metadata, so there is no [0]"),
        (METADATA + "", "bad metadata section"),
        (METADATA + "{", "bad metadata section"),
        (METADATA + "[]", "bad metadata section"),
        (METADATA + '{"relay.Constant": 1}', "bad metadata section"),
        (METADATA + "[" * 100_000, "bad metadata section"),
        (METADATA + '{"relay.Constant": [1]}', "is not a JSON object"),
        (METADATA + '{"relay.Constant": [{}]}', "needs `dtype`, `shape` and `data`"),
        (METADATA + entry("x", "[]", ""), "unknown element type"),
        (METADATA + entry("int8", "[-1]", ""), "not the shape"),
        (METADATA + entry("int8", "[9]", "AA=="), "takes 9 bytes"),
        (METADATA + entry("int8", "[1]", "§"), "is not base64"),
        ("def @main() { meta[a][b] }", "bad metadata reference"),
        ("def @main() { meta[a][99999999999] }", "the index is too large"),
        ('def @main() { meta[x][0] }\n#[metadata]\n{"x": [{}]}', "metadata of kind `x` cannot be"),
        ("def @main(%x: meta[a][0]) { 1 }", "the text has no metadata for `a`"),
    ],
)
def test_bad_metadata_is_refused(text: str, message: str) -> None:
    assert message in refused(HEADER + text).message


def test_metadata_of_the_wrong_kind_is_refused() -> None:
    table = {"a": [7]}
    for text in ("meta[a][0]", "free_var %x: meta[a][0]; %x"):
        assert "this metadata is not" in refused(text, True, init_meta_table=table).message
    found = refused(
        "free_var %x: Tensor[(meta[a][0]), int8]; %x", True, init_meta_table={"a": [""]}
    )
    assert found.message == "this metadata is not a dimension"


def test_nesting_in_attributes_is_bounded() -> None:
    found = refused("fn (a=" + "[" * 100 + "]" * 100 + ") { 1 }", single=True)
    assert found.message == "the value is nested too deeply"


def test_blocks_that_are_never_closed_are_refused_however_many_there_are() -> None:
    assert refused("{" * 20_000, single=True).message == "unexpected end of text"
    assert gc.isenabled()


# --- the whole ---------------------------------------------------------------------------------


def test_one_run_shows_the_first_error_of_every_definition() -> None:
    with pytest.raises(ParseError) as error:
        relay.parse(
            HEADER + "type A { B(Q) }\n"
            "def @a() { nn.rellu(1) }\n"
            "def @b() { 1 + \n"
            "def @c() { @a() + @b() + @missing() }\n"
        )
    assert [d.message for d in error.value.diagnostics] == [
        "unknown type `Q`",
        "unknown operator or constructor `nn.rellu`",
        "unexpected token",
        "unknown function `@missing`",
    ]


def test_errors_go_to_the_renderer_first() -> None:
    shown = []
    override_renderer(lambda context: shown.extend(context.diagnostics))
    try:
        with pytest.raises(ParseError):
            relay.parse("}")
    finally:
        override_renderer(None)
    assert [d.message for d in shown] == ["unexpected token"]


@pytest.mark.parametrize("text", [b"def", None, 3, ["def"]])
def test_only_text_is_parsed(text: Any) -> None:
    for parse in (relay.parse, relay.parse_expr, relay.fromtext):
        with pytest.raises(TypeError, match="Relay text is a str, found"):
            parse(text)


def test_type_errors_are_not_parse_errors() -> None:
    with pytest.raises(RelayError) as error:
        relay.parse(HEADER + "def @main(%x: int32) { if (%x) { 1 } else { 2 } }")
    assert not isinstance(error.value, ParseError)
