"""LZW as TIFF has it: codes of 9 to 12 bits, the high bit first.

A code beyond the single bytes stands for the bytes of the code before it, when it was made, and
the byte that followed. Those are together among the bytes that came out: a code is a place there,
and a length.
"""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Bytes
from relay.op.image.pictures.problem import Outcome, Problem
from relay.op.image.pictures.sink import Sink

_CLEAR, _END, _FIRST = 256, 257, 258
_CODES = 1 << 12


def unfold(
    b: te.Builder,
    file: Bytes,
    begin: te.Expr,
    end: te.Expr,
    sink: Sink,
    first: te.Expr,
    last: te.Expr,
    outcome: Outcome,
) -> None:
    """The bytes of the file from begin to end, into those of rows from first to last."""
    starts = b.local("int64", (_CODES,), "starts")
    lengths = b.local("int64", (_CODES,), "lengths")
    following = b.variable("int64", _FIRST, "following")  # the code to be made next
    width = b.variable("int64", 9, "width")
    before = b.variable("int64", 0, "before")  # how many bytes the last code gave; none at first
    at = b.variable("int64", begin, "at")
    hold = b.variable("int64", 0, "hold")
    count = b.variable("int64", 0, "count")
    place = b.variable("int64", first, "place")
    with b.while_(outcome.fine & (place[()] < last)):
        with b.while_(count[()] < width[()]):
            outcome.require(at[()] < end, Problem.TRUNCATED)
            b.store(hold, (), ((hold[()] << 8) | file[at[()]]) & 0xFFFFFF)
            b.store(at, (), at[()] + 1)
            b.store(count, (), count[()] + 8)
        b.store(count, (), count[()] - width[()])
        code = b.let((hold[()] >> count[()]) & ((te.index(1) << width[()]) - 1))
        with b.if_(te.equal(code, _CLEAR)):
            b.store(following, (), _FIRST)
            b.store(width, (), 9)
            b.store(before, (), 0)
        with b.else_():
            outcome.require(te.not_equal(code, _END), Problem.TRUNCATED)
            makes = b.let((before[()] > 0) & (following[()] < _CODES))
            is_new = b.let(te.equal(code, following[()]) & makes)
            is_byte = b.let(code < _CLEAR)
            outcome.require(is_byte | is_new | (code < following[()]), Problem.DAMAGED)
            with b.if_(outcome.fine):
                here = b.let(place[()])
                with b.if_(makes):
                    b.store(starts, following[()], here - before[()])
                    b.store(lengths, following[()], before[()] + 1)
                    b.store(following, (), following[()] + 1)
                    # one code early, as everybody does since the first one did
                    full = following[()] >= (te.index(1) << width[()]) - 1
                    b.store(width, (), te.select(full, te.minimum(width[()] + 1, 12), width[()]))
                with b.if_(is_byte):
                    sink.put(here, te.cast(code, "uint8"))
                    b.store(before, (), 1)
                with b.else_():
                    length = b.let(te.minimum(lengths[code], last - here))
                    sink.repeat(b, here, b.let(here - starts[code]), length)
                    b.store(before, (), length)
                b.store(place, (), here + before[()])
