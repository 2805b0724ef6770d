"""Why bytes are not decoded: in loops a number that is looked at before memory is asked for."""

from __future__ import annotations

from enum import IntEnum

from relay import te
from relay.errors import Diagnostic, EvaluationError
from relay.immutable import frozen

READ = "BMP, JPEG, PNM, PNG and TIFF are read"


class Problem(IntEnum):
    """What is wrong with bytes; 0 is for none."""

    UNKNOWN = 1
    GIF = 2
    PROGRESSIVE = 3
    JPEG_2000 = 4
    WEBP = 5
    TRUNCATED = 6
    DAMAGED = 7
    SIZE = 8
    DEEP = 9
    COLOURS = 10
    COMPRESSION = 11
    INTERLACED = 12
    PARTS = 13


MESSAGES = {
    Problem.UNKNOWN: f"the bytes are no picture of a known format; {READ}",
    Problem.GIF: f"the bytes are a GIF picture; {READ}",
    Problem.PROGRESSIVE: "the bytes are a progressive JPEG picture; sequential ones are read",
    Problem.JPEG_2000: f"the bytes are a JPEG 2000 picture; {READ}",
    Problem.WEBP: f"the bytes are a WebP picture; {READ}",
    Problem.TRUNCATED: "the bytes end before the picture does",
    Problem.DAMAGED: "the bytes of the picture are damaged",
    Problem.SIZE: "the picture has no pixels, or too many",
    Problem.DEEP: "the picture has samples of more than 8 bits",
    Problem.COLOURS: "the colours of the picture are stored in a way that is not read",
    Problem.COMPRESSION: "the picture is compressed in a way that is not read",
    Problem.INTERLACED: "the picture is interlaced, which is not read",
    Problem.PARTS: "the picture is stored in tiles or planes, which are not read",
}


@frozen
class Outcome:
    """A variable that holds the first problem there was."""

    b: te.Builder
    problem: te.Buffer

    @property
    def fine(self) -> te.Expr:
        return te.equal(self.problem[()], 0)

    def fail(self, problem: Problem) -> None:
        """There is a problem here."""
        with self.b.if_(self.fine):
            self.b.store(self.problem, (), int(problem))

    def require(self, condition: te.Expr, problem: Problem) -> None:
        """There is a problem unless the condition holds."""
        with self.b.if_(self.fine & ~condition):
            self.b.store(self.problem, (), int(problem))


def outcome(b: te.Builder) -> Outcome:
    """No problem so far."""
    return Outcome(b, b.variable("int64", 0, "problem"))


def refused(problem: Problem) -> EvaluationError:
    """How the reference says it."""
    return EvaluationError(
        Diagnostic(
            f"`image.decode`: {MESSAGES[problem]}",
            expected="the bytes of a BMP, JPEG, PNM, PNG or TIFF picture",
            found="others",
        )
    )


def require(condition: bool, problem: Problem) -> None:
    """End the run of the reference unless the condition holds."""
    if not condition:
        raise refused(problem)
