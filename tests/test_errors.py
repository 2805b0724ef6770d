"""Errors say where, what was expected, what was found and what to try."""

import copy
import threading
from collections.abc import Iterator

import pytest

from relay.errors import (
    QUOTED_WIDTH,
    Diagnostic,
    DiagnosticContext,
    DiagnosticError,
    DiagnosticLevel,
    EvaluationError,
    IllFormed,
    KindError,
    OperatorError,
    ParseError,
    PassError,
    RelayError,
    SequentialSpan,
    SourceName,
    Span,
    TypeCheckError,
    did_you_mean,
    fail,
    get_renderer,
    override_renderer,
)


@pytest.fixture(autouse=True)
def no_renderer_stays() -> Iterator[None]:
    yield
    override_renderer(None)


def quoted(text: str, line: int, column: int, end_column: int = 0, end_line: int = 0) -> list[str]:
    """The lines a diagnostic shows under its message, for a span of `text`."""
    span = Span(SourceName("here", text), line, end_line, column, end_column)
    return str(Diagnostic("wrong", span)).split("\n")[1:]


def marked(text: str, line: int, column: int, end_column: int = 0, end_line: int = 0) -> str:
    """The part of the quoted line that has carets under it."""
    _, source, carets = quoted(text, line, column, end_column, end_line)
    assert source.index("|") == carets.index("|")
    start = carets.index("^")
    assert set(carets[start:]) == {"^"}
    return source[start : len(carets)]


# --- rendering


def test_a_diagnostic_shows_place_line_expected_found_and_hint():
    text = "fn (%x) {\n  add(%x)\n}"
    span = Span(SourceName("model.relay", text), 2, 2, 3, 10)
    shown = str(Diagnostic("too few arguments", span, "2 arguments", "1", "give another"))
    assert shown == (
        "too few arguments\n"
        "  --> model.relay:2:3\n"
        "   2 |   add(%x)\n"
        "     |   ^^^^^^^\n"
        "     expected: 2 arguments\n"
        "     found:    1\n"
        "     hint:     give another"
    )


def test_a_diagnostic_without_a_span_is_its_message():
    assert str(Diagnostic("it failed")) == "it failed"
    assert str(Diagnostic("it failed", expected="a", found="b")) == (
        "it failed\n     expected: a\n     found:    b"
    )


def test_a_span_without_text_shows_the_place_only():
    span = Span(SourceName("model.relay"), 7, 7, 8, 9)
    assert str(Diagnostic("wrong", span)) == "wrong\n  --> model.relay:7:8"


def test_a_span_without_a_line_shows_the_name_only():
    span = Span(SourceName("layer1.conv", "text that is not quoted"))
    assert str(Diagnostic("wrong", span)) == "wrong\n  --> layer1.conv"


@pytest.mark.parametrize("line", [-1, 4, 1000])
def test_a_line_that_the_text_does_not_have_is_not_quoted(line):
    assert len(quoted("a\nb\nc", line, 1)) == 1


def test_several_origins_are_all_named():
    spans = SequentialSpan((Span(SourceName("a"), 1, 1, 2, 3), Span(SourceName("b"))))
    assert str(Diagnostic("wrong", spans)) == "wrong\n  --> a:1:2 and b"


def test_carets_cover_the_span():
    assert marked("let %x = 1;\n%x + %y", 2, 6, 8, 2) == "%y"
    assert marked("abc", 1, 1, 4, 1) == "abc"


def test_a_span_without_an_end_gets_one_caret():
    assert marked("let %x = 1;", 1, 5) == "%"
    assert marked("let %x = 1;", 1, 0) == "l"


def test_an_empty_span_gets_one_caret():
    assert marked("abc", 1, 2, 2, 1) == "b"


def test_the_end_of_the_text_can_be_marked():
    assert quoted("abc", 1, 4, 4, 1)[1:] == ["   1 | abc", "     |    ^"]


def test_carets_never_run_past_the_line():
    assert quoted("abc", 1, 2, 50, 1)[1:] == ["   1 | abc", "     |  ^^"]
    assert quoted("abc", 1, 50, 60, 1)[1:] == ["   1 | abc", "     |    ^"]


def test_a_span_over_several_lines_marks_the_rest_of_the_first():
    assert marked("if (%c) {\n  1\n} else {\n  2\n}", 1, 4, 2, 5) == "(%c) {"


def test_a_tab_takes_one_column():
    assert quoted("\tadd(\t%x)", 1, 7, 9, 1)[1:] == ["   1 |  add( %x)", "     |       ^^"]


def test_wide_and_combining_characters_keep_the_carets_in_place():
    # two ideographs take four columns of a terminal, an accent of its own none
    assert quoted("/*重み*/ %x", 1, 8, 10, 1)[2] == "     | " + " " * 9 + "^^"
    assert quoted("e\u0301 %x", 1, 4, 6, 1)[2] == "     |   ^^"
    assert quoted("重み", 1, 1, 3, 1)[2] == "     | ^^^^"


@pytest.mark.parametrize("column", [1, 40, 119, 121, 500, 999, 1000, 1001])
def test_a_long_line_is_shown_around_the_span(column):
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    _, source, carets = quoted(text, 1, column, column + 3, 1)
    assert len(source) <= QUOTED_WIDTH + len("   1 | ")
    assert len(carets) <= len(source) + 1
    start = carets.index("^")
    assert source[start : len(carets)] == text[column - 1 : column + 2]


def test_a_span_longer_than_the_shown_part_is_marked_to_its_end():
    _, source, carets = quoted("x" * 1000, 1, 1, 1001, 1)
    assert carets.count("^") == QUOTED_WIDTH
    assert len(source) == len(carets)


def test_the_gutter_grows_with_the_line_number():
    _, source, carets = quoted("\n" * 123455 + "abc", 123456, 2, 3, 123456)
    assert source == "123456 | abc"
    assert carets == "       |  ^"


# --- the tree of errors


@pytest.mark.parametrize(
    "kind", [ParseError, TypeCheckError, KindError, IllFormed, EvaluationError]
)
def test_errors_with_a_place_are_diagnostic_errors(kind):
    assert issubclass(kind, DiagnosticError)
    assert issubclass(kind, RelayError)
    assert issubclass(kind, RuntimeError)


@pytest.mark.parametrize("kind", [PassError, OperatorError])
def test_other_errors_are_relay_errors(kind):
    assert issubclass(kind, RelayError)
    assert not issubclass(kind, DiagnosticError)


def test_a_kind_error_is_a_type_error():
    assert issubclass(KindError, TypeCheckError)


def test_an_error_carries_and_renders_all_its_diagnostics():
    error = TypeCheckError([Diagnostic("first"), Diagnostic("second", hint="try this")])
    assert [d.message for d in error.diagnostics] == ["first", "second"]
    assert str(error) == "first\n\nsecond\n     hint:     try this"
    assert TypeCheckError(Diagnostic("alone")).diagnostics == (Diagnostic("alone"),)


def test_a_copied_error_says_the_same():
    error = KindError([Diagnostic("first"), Diagnostic("second")])
    copied = copy.copy(error)
    assert type(copied) is KindError
    assert copied.diagnostics == error.diagnostics
    assert str(copied) == str(error)


# --- collecting


def test_a_context_raises_everything_it_collected_at_once():
    context = DiagnosticContext(TypeCheckError)
    context.emit(Diagnostic("first"))
    context.emit(Diagnostic("second"))
    with pytest.raises(TypeCheckError) as caught:
        context.render()
    assert [d.message for d in caught.value.diagnostics] == ["first", "second"]


def test_a_context_without_errors_raises_nothing():
    context = DiagnosticContext()
    context.render()
    for level in (DiagnosticLevel.WARNING, DiagnosticLevel.NOTE, DiagnosticLevel.HELP):
        context.emit(Diagnostic("by the way", level=level))
    context.render()


def test_a_note_goes_along_with_an_error():
    context = DiagnosticContext(ParseError)
    context.emit(Diagnostic("a note", level=DiagnosticLevel.NOTE))
    context.emit(Diagnostic("a bug", level=DiagnosticLevel.BUG))
    with pytest.raises(ParseError, match="a note"):
        context.render()


def test_fail_raises_one_diagnostic_or_several():
    with pytest.raises(IllFormed) as one:
        fail(IllFormed, Diagnostic("alone"))
    assert one.value.diagnostics == (Diagnostic("alone"),)
    with pytest.raises(IllFormed) as several:
        fail(IllFormed, (Diagnostic(m) for m in "ab"))
    assert str(several.value) == "a\n\nb"


# --- renderers


def test_a_renderer_sees_every_diagnostic_before_it_is_raised():
    seen: list[str] = []
    override_renderer(lambda context: seen.extend(d.message for d in context.diagnostics))
    assert get_renderer() is not None
    with pytest.raises(ParseError):
        fail(ParseError, [Diagnostic("first"), Diagnostic("second")])
    assert seen == ["first", "second"]


def test_a_renderer_sees_warnings_too():
    seen: list[str] = []
    override_renderer(lambda context: seen.extend(d.message for d in context.diagnostics))
    fail(ParseError, Diagnostic("odd", level=DiagnosticLevel.WARNING))
    assert seen == ["odd"]


def test_a_renderer_may_raise_an_error_of_its_own():
    def refuse(context: DiagnosticContext) -> None:
        raise KeyError(context.diagnostics[0].message)

    override_renderer(refuse)
    with pytest.raises(KeyError, match="first"):
        fail(ParseError, Diagnostic("first"))


def test_no_renderer_means_raising_only():
    seen: list[DiagnosticContext] = []
    override_renderer(seen.append)
    override_renderer(None)
    assert get_renderer() is None
    with pytest.raises(ParseError):
        fail(ParseError, Diagnostic("first"))
    assert not seen


def test_a_renderer_belongs_to_the_thread_that_set_it():
    override_renderer(lambda context: None)
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(get_renderer()))
    thread.start()
    thread.join()
    assert found == [None]


# --- names


def test_the_closest_names_are_offered():
    assert did_you_mean("nn.rleu", ["nn.relu", "nn.conv2d", "add"]) == "did you mean `nn.relu`?"
    assert did_you_mean("addd", ["add", "added"]) == "did you mean `added` or `add`?"


def test_nothing_is_offered_when_nothing_is_close():
    assert did_you_mean("quantize", ["add", "nn.relu"]) is None
    assert did_you_mean("x", []) is None
