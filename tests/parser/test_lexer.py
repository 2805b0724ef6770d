"""Tokens: what a character means, and where each token is."""

from __future__ import annotations

import pytest

from relay.errors import ParseError
from relay.parser.lexer import (
    END,
    GLOBAL,
    GRAPH,
    LOCAL,
    META,
    NAME,
    NUMERAL,
    PROJECTION,
    QUOTED,
    STRING,
    tokenize,
)


def tokens(text: str) -> list[tuple[str, str]]:
    found = tokenize(text, "test")
    assert found.kinds[-2:] == [END, END]
    return list(zip(found.kinds, found.texts, strict=True))[:-2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%x %_ %x1", [(LOCAL, "x"), (LOCAL, "_"), (LOCAL, "x1")]),
        ("%0 %12", [(GRAPH, "0"), (GRAPH, "12")]),
        ("@f @a.b @`a b`", [(GLOBAL, "f"), (GLOBAL, "a.b"), (GLOBAL, "`a b`")]),
        ("nn.relu größe", [(NAME, "nn.relu"), (NAME, "größe")]),
        ("`a\\` b`", [(QUOTED, "`a\\` b`")]),
        ("1 1.5 1e-5f 3i8", [(NUMERAL, t) for t in ("1", "1.5", "1e-5f", "3i8")]),
        ("1-2", [(NUMERAL, "1"), ("-", "-"), (NUMERAL, "2")]),
        ('"a \\" b"', [(STRING, '"a \\" b"')]),
        ("%t.0.1", [(LOCAL, "t"), (PROJECTION, ".0"), (PROJECTION, ".1")]),
        ("meta[relay.Constant][0]", [(META, "meta[relay.Constant][0]")]),
        ("match match? let", [("match", "match"), ("match?", "match?"), ("let", "let")]),
        ("letter lets True_", [(NAME, "letter"), (NAME, "lets"), (NAME, "True_")]),
        ("-> => == != <= >= < >", [(m, m) for m in ("->", "=>", "==", "!=", "<=", ">=", "<", ">")]),
        ("a // b\nc", [(NAME, "a"), (NAME, "c")]),
        ("a /* b /* c */ d */ e", [(NAME, "a"), (NAME, "e")]),
        ("a /* ** / * */ b", [(NAME, "a"), (NAME, "b")]),
        ("", []),
        (" \r\n\t\f ", []),
    ],
)
def test_text_is_cut_into_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert tokens(text) == expected


def test_in_a_shape_slashes_divide_and_percent_is_the_remainder() -> None:
    kinds = [kind for kind, _ in tokens("Tensor[(n // 2, n %3, (n)//m, n%m), int8] %x // end")]
    assert kinds.count("//") == 2 and kinds.count("%") == 2
    assert kinds[-1] == LOCAL


def test_a_comment_in_a_shape_stands_where_no_operand_does() -> None:
    assert [text for _, text in tokens("Tensor[(// the batch\n 1, // the rest\n 2), int8]")] == (
        ["Tensor", "[", "(", "1", ",", "2", ")", ",", "int8", "]"]
    )


def test_a_shape_ends_with_its_parenthesis_or_its_statement() -> None:
    assert (LOCAL, "x") in tokens("Tensor[((1), 2), int8] %x")
    assert (LOCAL, "x") in tokens("Tensor[((1 ; %x")


def test_every_token_knows_its_place() -> None:
    found = tokenize("ab\n  cd\r\n\u2028 %ef", "test")
    spans = [found.span(i, i) for i in range(3)]
    assert [(s.line, s.column, s.end_line, s.end_column) for s in spans] == [
        (1, 1, 1, 3),
        (2, 3, 2, 5),
        (4, 2, 4, 5),
    ]
    assert spans[2].source_name.line(4) == " %ef"


def test_the_end_is_behind_the_last_token() -> None:
    found = tokenize("a b  \n\n", "test")
    end = found.span(2, 2)
    assert (end.line, end.column) == (1, 4)


def test_metadata_is_kept_as_it_is() -> None:
    found = tokenize('a #[ metadata ] {"not": tokens § }', "test")
    assert found.metadata is not None and found.metadata[0] == ' {"not": tokens § }'
    assert found.texts[:1] == ["a"]


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a §", "unexpected character", 3),
        ("\x00", "unexpected character", 1),
        ("\ud800", "unexpected character", 1),
        ("a; .b", "unexpected character", 4),
        ("@ f", "unexpected character", 1),
        ('"abc', "the string is not closed", 1),
        ('"a\nb"', "the string is not closed", 1),
        ('"a\\', "the string is not closed", 1),
        ("`abc", "the quoted name is not closed", 1),
        ("a /* b /* c */", "the comment is not closed", 3),
    ],
)
def test_what_is_no_token_is_refused_where_it_is(text: str, message: str, column: int) -> None:
    with pytest.raises(ParseError) as error:
        tokenize(text, "test")
    found = error.value.diagnostics[0]
    assert found.message == message
    assert found.span is not None and found.span.column == column  # type: ignore[union-attr]


def test_a_long_text_takes_no_longer_than_it_is_long() -> None:
    many = 200_000
    assert len(tokens("/* " * many + "*/ " * many + "a")) == 1
    assert len(tokens("\n" * many + "- " * many)) == many
