"""What can go wrong, where it went wrong, and how it is shown.

    RelayError (RuntimeError)
    ├── DiagnosticError          carries one or more `Diagnostic`s; its text is their rendering
    │   ├── ParseError           the text is not Relay
    │   ├── TypeCheckError       the program has no type
    │   │   └── KindError        a type is not well formed
    │   ├── IllFormed            a structural invariant is broken (often: by a pass, which is named)
    │   ├── EvaluationError      the program failed while it ran
    │   ├── FrontendError        a model or a Python function has no translation into Relay
    │   ├── ExportError          a program has no form in another format
    │   ├── LowerError           a program cannot become kernels
    │   ├── TargetError          a target is not understood, or no code can be made for it
    │   ├── GradientError        a program cannot be differentiated
    │   └── SettingError         an environment variable holds what it should not
    ├── PassError                a pass was used in a way it cannot serve
    └── OperatorError            an operator is unknown, or registered twice

Every error a user can cause says where, what was expected, what was found and what to try.
Messages are lower case and have no final period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from struct import pack, unpack
from typing import Self
from unicodedata import combining, east_asian_width

from relay.immutable import frozen


@frozen
class SourceName:
    """A named text; with its text, errors can quote the line they speak of."""

    name: str
    text: str | None = field(default=None, repr=False, compare=False)

    def line(self, number: int) -> str | None:
        """Line `number`, counted from 1."""
        if self.text is None:
            return None
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else None


@frozen
class Span:
    """A stretch of source; lines and columns count from 1, the end column is exclusive."""

    source_name: SourceName
    line: int = 0
    end_line: int = 0
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        position = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.source_name.name}{position}"


@frozen
class SequentialSpan:
    """The origins of a node that a pass made out of several."""

    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.spans))


AnySpan = Span | SequentialSpan


class DiagnosticLevel(IntEnum):
    """The severity of a diagnostic."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@frozen
class Diagnostic:
    """One error or warning: what, where, what was expected, what was found, what to try."""

    message: str
    span: AnySpan | None = None
    expected: str | None = None
    found: str | None = None
    hint: str | None = None
    level: DiagnosticLevel = DiagnosticLevel.ERROR

    def __str__(self) -> str:
        lines = [self.message]
        if self.span is not None:
            lines.append(f"  --> {self.span}")
        if isinstance(self.span, Span):
            lines.extend(_quote(self.span))
        labels = {"expected:": self.expected, "found:": self.found, "hint:": self.hint}
        lines += [f"     {label:<10}{text}" for label, text in labels.items() if text is not None]
        return "\n".join(lines)


# Placeholders for numbers in the messages of run-time checks; {:g} is for floats.
VALUE = "{}"
REAL_VALUE = "{:g}"


def with_value(text: str, value: float) -> str | None:
    """The message of a run-time check with a number filled in; None if it is empty. A float may be
    given as the integer of its bits."""
    if REAL_VALUE not in text:
        return text.replace(VALUE, f"{value}") or None
    if not isinstance(value, float):
        (value,) = unpack("<d", pack("<q", int(value)))
    return text.replace(REAL_VALUE, f"{value:g}")


# Marks of checks in kernels: an index that may be negative, a number that has one valid value, and
# one that is not 0.
FROM_BACK = "from either end"
MATCHING = "which must match,"
NONZERO = "which must not be 0,"


def allowed_indices(what: str, extent: int) -> str:
    """The valid indices of an axis of that extent; `what` is the name of the index in the check."""
    if MATCHING in what:
        return str(extent)
    if NONZERO in what:
        return "a number other than 0"
    if extent == 0:
        return "no index: the axis has no elements"
    return f"{-extent if FROM_BACK in what else 0} to {extent - 1}"


QUOTED_WIDTH = 120


def _quote(span: Span) -> list[str]:
    """The source line with a caret under the span; a very long line is shown around the caret."""
    if not span.line or (line := span.source_name.line(span.line)) is None:
        return []
    column = max(span.column, 1)
    end = span.end_column if span.end_line in (0, span.line) else len(line) + 1
    cut = 0
    if len(line) > QUOTED_WIDTH:
        cut = max(0, min(column - 1 - QUOTED_WIDTH // 3, len(line) - QUOTED_WIDTH))
        line = line[cut : cut + QUOTED_WIDTH]
    shown = "".join(" " if not character.isprintable() else character for character in line)
    start, stop = column - 1 - cut, max(column, end) - 1 - cut
    carets = " " * _cells(shown[:start]) + "^" * max(1, _cells(shown[start:stop]))
    gutter = f"{span.line:>4}"
    return [f"{gutter} | {shown}", f"{' ' * len(gutter)} | {carets}"]


def _cells(text: str) -> int:
    """The width of `text` in columns of a terminal."""
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


class RelayError(RuntimeError):
    """The root of everything Relay raises on purpose."""


class DiagnosticError(RelayError):
    """One or more diagnostics; `str` renders them all."""

    def __init__(self, diagnostics: Diagnostic | Sequence[Diagnostic]) -> None:
        found = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = found
        RuntimeError.__init__(self, "\n\n".join(map(str, found)))

    @classmethod
    def of(
        cls,
        message: str,
        span: AnySpan | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> Self:
        """An error with one diagnostic."""
        return cls(Diagnostic(message, span, expected, found, hint))

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[tuple[Diagnostic, ...]]]:
        # a copy is made from the diagnostics; `args` holds their rendering
        return type(self), (self.diagnostics,)


class ParseError(DiagnosticError):
    """The text is not Relay."""


class TypeCheckError(DiagnosticError):
    """The program has no type."""


class KindError(TypeCheckError):
    """A type is ill-kinded: a shape where a type belongs, a missing argument…"""


class IllFormed(DiagnosticError):
    """A structural invariant of the program does not hold."""


class PassError(RelayError):
    """A pass was used in a way it cannot serve, or failed inside."""


class OperatorError(RelayError):
    """An operator is unknown, or registered twice."""


class GradientError(DiagnosticError):
    """A program, or a part of it, cannot be differentiated."""


class EvaluationError(DiagnosticError):
    """The program failed while it ran."""


class FrontendError(DiagnosticError):
    """A model, or a function of Python, that has no translation into Relay."""


class ExportError(DiagnosticError):
    """A program that cannot be written in another format."""


class LowerError(DiagnosticError):
    """A program that cannot become kernels."""


class TargetError(DiagnosticError):
    """A target is not understood, or no code can be made for it."""


class SettingError(DiagnosticError):
    """An environment variable holds something that is not its kind of value."""


@dataclass
class DiagnosticContext:
    """Collects diagnostics, and raises them together, so one run shows every independent error."""

    error: type[DiagnosticError] = DiagnosticError
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def emit(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show what was collected; raise it if an error is among it."""
        if renderer := _renderer.get():
            renderer(self)
        if any(d.level <= DiagnosticLevel.ERROR for d in self.diagnostics):
            raise self.error(self.diagnostics)


def fail(error: type[DiagnosticError], diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
    """Show and raise `diagnostics` as `error`."""
    found = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
    DiagnosticContext(error, found).render()


Renderer = Callable[[DiagnosticContext], None]
_renderer: ContextVar[Renderer | None] = ContextVar("relay diagnostic renderer", default=None)


def get_renderer() -> Renderer | None:
    """The function that is shown every diagnostic before it is raised, if one is set."""
    return _renderer.get()


def override_renderer(renderer: Renderer | None) -> None:
    """Show every diagnostic to `renderer` before it is raised; None goes back to raising only."""
    _renderer.set(renderer)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known names, or None when nothing is close."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=3, cutoff=0.6)
    return "did you mean " + " or ".join(f"`{c}`" for c in close) + "?" if close else None
