"""PNM: a letter and a digit, the sizes and the brightest sample in decimal, then the samples.

P4 black and white, P5 greys, P6 colours; P2 and P3 are P5 and P6 with samples in decimal.
"""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Bytes, Method, Picture
from relay.op.image.pictures.problem import Outcome, Problem

_KINDS = (2, 3, 4, 5, 6)
_LARGEST = 1 << 31


def is_pnm(known: Picture) -> te.Expr:
    second = known.file[1]
    kinds = te.some(*(te.equal(second, ord(str(kind))) for kind in _KINDS))
    return te.equal(known.file[0], ord("P")) & kinds


def read_pnm(known: Picture) -> None:
    b, file, outcome = known.b, known.file, known.outcome
    kind = b.let(file[1] - ord("0"))
    numbers = b.local("int64", (3,), "numbers")
    b.store(numbers, 2, 1)
    at = b.variable("int64", 2, "at")
    is_bits = b.let(te.equal(kind, 4))
    with b.loop(te.select(is_bits, te.index(2), te.index(3))) as place:
        b.store(numbers, place, read_number(b, file, at, outcome))
    outcome.require(_is_space(file[at[()]]) & (at[()] < file.count), Problem.TRUNCATED)
    outcome.require(numbers[2] > 0, Problem.DAMAGED)
    outcome.require(numbers[2] <= 255, Problem.DEEP)
    is_colour = te.equal(kind, 3) | te.equal(kind, 6)
    known.set(
        width=numbers[0],
        height=numbers[1],
        maximum=te.maximum(numbers[2], 1),
        inverted=te.cast(is_bits, "int64"),
        samples=te.select(is_colour, te.index(3), te.index(1)),
        bits=te.select(is_bits, te.index(1), te.index(8)),
        method=te.select(kind < 4, te.index(Method.TEXT), te.index(Method.STORED)),
        begin=at[()] + 1,
    )
    known.close_rows()
    known.set(rows=known.height)


def read_number(b: te.Builder, file: Bytes, at: te.Buffer, outcome: Outcome) -> te.Expr:
    """The number that comes next, after spaces and comments; `at` is then behind it."""
    found = b.variable("int64", 0, "found")
    in_comment = b.variable("bool", False, "in_comment")
    here = file[at[()]]
    there = at[()] < file.count
    with b.while_(there & (_is_space(here) | te.equal(here, ord("#")) | in_comment[()])):
        ends = te.equal(here, 10) | te.equal(here, 13)
        b.store(in_comment, (), (in_comment[()] | te.equal(here, ord("#"))) & ~ends)
        b.store(at, (), at[()] + 1)
    outcome.require(there, Problem.TRUNCATED)
    is_digit = te.every(here >= ord("0"), here <= ord("9"))
    outcome.require(is_digit, Problem.DAMAGED)
    with b.while_(there & is_digit):
        b.store(found, (), te.minimum(found[()] * 10 + (here - ord("0")), _LARGEST))
        b.store(at, (), at[()] + 1)
    return found[()]


def _is_space(byte: te.Expr) -> te.Expr:
    return te.equal(byte, 32) | te.every(byte >= 9, byte <= 13)
