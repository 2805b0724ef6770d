"""The bytes of all rows, one strip after the other, out of what they are stored as.

They go to a `Sink`: all of them into memory for the rows, or, when it is only to be seen whether
they are good, into a window as long as the furthest that a compressed picture looks back.
"""

from __future__ import annotations

from relay import te
from relay.immutable import frozen
from relay.op.image.pictures.header import Filter, Method, Picture
from relay.op.image.pictures.inflate import inflate
from relay.op.image.pictures.jpeg import read_scans
from relay.op.image.pictures.lzw import unfold
from relay.op.image.pictures.png import FILTERS, gather
from relay.op.image.pictures.pnm import read_number
from relay.op.image.pictures.problem import Problem
from relay.op.image.pictures.sink import WINDOW, Sink


@frozen
class Strip:
    """Where the bytes of some rows are stored, and where they belong."""

    begin: te.Expr  # in the file
    end: te.Expr
    first: te.Expr  # among all bytes of rows
    last: te.Expr  # behind them


def check(known: Picture) -> None:
    """Whether the bytes are good for all rows."""
    b = known.b
    window = b.local("uint8", (WINDOW,), "window")
    with b.loop(WINDOW) as i:
        b.store(window, i, 0)
    is_png = te.equal(known.filter, int(Filter.PNG))
    row = b.variable("int64", te.select(is_png, te.index(0), te.index(-1)), "row")

    def put(place: te.Expr, value: te.Expr) -> None:
        b.store(window, place & (WINDOW - 1), value)
        with b.if_(te.equal(place, row[()])):
            known.outcome.require(te.index(value) < FILTERS, Problem.DAMAGED)
            b.store(row, (), place + known.stride)

    with b.if_(_is(known, Method.JPEG)):
        read_scans(known, None, None)
    with b.else_():
        _expand(known, Sink(put, lambda place: window[place & (WINDOW - 1)]), keeps=False)


def expand(known: Picture, rows: te.Buffer, planes: te.Buffer) -> None:
    """The bytes of all rows into memory of one axis; that for planes is used on the way."""
    sink = Sink(lambda place, value: known.b.store(rows, place, value), lambda place: rows[place])
    with known.b.if_(_is(known, Method.JPEG)):
        read_scans(known, planes, rows)
    with known.b.else_():
        _expand(known, sink, keeps=True)


def _expand(known: Picture, sink: Sink, keeps: bool) -> None:
    b, file, outcome = known.b, known.file, known.outcome
    stream = b.local("uint8", (file.count,), "stream")
    row = b.variable("int64", 0, "row")
    number = b.variable("int64", 0, "number")
    seen = b.variable("int64", 0, "seen")
    with b.while_(outcome.fine & (row[()] < known.height)):
        rows = b.let(te.minimum(known.rows, known.height - row[()]))
        begin, end = _bounds(known, number[()])
        # strips that share bytes would make much out of little
        b.store(seen, (), seen[()] + (end - begin))
        outcome.require(seen[()] <= file.count, Problem.DAMAGED)
        first = b.let(row[()] * known.stride)
        strip = Strip(begin, end, first, b.let(first + rows * known.stride))
        with b.if_(_is(known, Method.STORED)):
            _stored(known, strip, sink, keeps)
        with b.if_(_is(known, Method.TEXT)):
            _text(known, strip, sink)
        with b.if_(_is(known, Method.DEFLATE)):
            length = gather(known, stream, begin, end)
            inflate(b, stream, length, sink, strip.first, strip.last, outcome)
        with b.if_(_is(known, Method.LZW)):
            unfold(b, file, begin, end, sink, strip.first, strip.last, outcome)
        with b.if_(_is(known, Method.PACK_BITS)):
            _pack_bits(known, strip, sink)
        b.store(row, (), row[()] + rows)
        b.store(number, (), number[()] + 1)


def _is(known: Picture, method: Method) -> te.Expr:
    return te.equal(known.method, int(method))


def _bounds(known: Picture, number: te.Expr) -> tuple[te.Expr, te.Expr]:
    """Where a strip begins in the file, and ends: no further than the file."""
    b, file = known.b, known.file

    def entry(place: te.Expr, size: te.Expr) -> te.Expr:
        at = b.let(place + number * size)
        short = te.select(te.equal(known.big_endian, 0), file.little(at, 2), file.big(at, 2))
        long = te.select(te.equal(known.big_endian, 0), file.little(at, 4), file.big(at, 4))
        return te.select(te.equal(size, 2), short, long)

    has_list = b.let(known.offsets > 0)
    begin = te.select(has_list, entry(known.offsets, known.offset_size), known.begin)
    begin = b.let(te.minimum(begin, file.count))
    rest = b.let(file.count - begin)
    length = te.select(has_list, te.minimum(entry(known.counts, known.count_size), rest), rest)
    return begin, b.let(begin + length)


def _stored(known: Picture, strip: Strip, sink: Sink, keeps: bool) -> None:
    b = known.b
    length = b.let(strip.last - strip.first)
    known.outcome.require(length <= strip.end - strip.begin, Problem.TRUNCATED)
    if keeps:
        with b.if_(known.outcome.fine), b.loop(length) as i:
            sink.put(strip.first + i, known.file.data[strip.begin + i])


def _text(known: Picture, strip: Strip, sink: Sink) -> None:
    b, outcome = known.b, known.outcome
    at = b.variable("int64", strip.begin, "at")
    place = b.variable("int64", strip.first, "place")
    with b.while_(outcome.fine & (place[()] < strip.last)):
        value = b.let(read_number(b, known.file, at, outcome))
        sink.put(place[()], te.cast(te.minimum(value, 255), "uint8"))
        b.store(place, (), place[()] + 1)


def _pack_bits(known: Picture, strip: Strip, sink: Sink) -> None:
    """A byte n below 128, then n + 1 bytes; one above, then the byte that comes 257 - n times."""
    b, outcome, file = known.b, known.outcome, known.file
    at = b.variable("int64", strip.begin, "at")
    place = b.variable("int64", strip.first, "place")
    with b.while_(outcome.fine & (place[()] < strip.last)):
        code = b.let(file[at[()]])
        repeats = b.let(code >= 128)
        told = te.select(repeats, te.select(te.equal(code, 128), 0, 257 - code), code + 1)
        count = b.let(te.minimum(told, strip.last - place[()]))
        source = b.let(at[()] + 1)
        used = b.let(te.select(repeats, te.cast(code > 128, "int64"), count))
        outcome.require(source + used <= strip.end, Problem.TRUNCATED)
        with b.if_(outcome.fine):
            start = b.let(place[()])
            with b.loop(count) as i:
                step = te.select(repeats, te.index(0), i)
                sink.put(start + i, file.data[source + step])
            b.store(place, (), start + count)
            b.store(at, (), source + used)
