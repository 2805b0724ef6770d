"""PNG: chunks, of which some hold the picture, compressed, and one its palette.

Every row is a byte that says how it is filtered, then the differences from what the filter
expects after the pixels to the left and above.
"""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Filter, Method, Picture
from relay.op.image.pictures.problem import Problem

FILTERS = 5  # how many there are
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FIRST = len(_SIGNATURE)  # where the first chunk is
_AROUND = 12  # bytes of a chunk besides what it holds: length, name, checksum
_PALETTE = 3  # a kind of colours
_SAMPLES = {0: 1, 2: 3, _PALETTE: 1, 4: 2, 6: 4}


def is_png(known: Picture) -> te.Expr:
    return known.file.is_at(0, _SIGNATURE)


def read_png(known: Picture) -> None:
    b, file, outcome = known.b, known.file, known.outcome
    starts = te.equal(file.big(_FIRST, 4), 13) & file.is_at(_FIRST + 4, b"IHDR")
    outcome.require(starts, Problem.DAMAGED)
    bits = b.let(file[_FIRST + 16])
    kind = b.let(file[_FIRST + 17])
    samples: te.Expr = te.index(0)
    for number, count in _SAMPLES.items():
        samples = te.select(te.equal(kind, number), te.index(count), samples)
    samples = b.let(samples)
    outcome.require(te.not_equal(bits, 16), Problem.DEEP)
    small = te.some(*(te.equal(bits, n) for n in (1, 2, 4))) & te.equal(samples, 1)
    outcome.require((samples > 0) & (small | te.equal(bits, 8)), Problem.DAMAGED)
    methods = te.equal(file[_FIRST + 18], 0) & te.equal(file[_FIRST + 19], 0)
    outcome.require(methods, Problem.COMPRESSION)
    outcome.require(te.equal(file[_FIRST + 20], 0), Problem.INTERLACED)
    known.set(
        width=file.big(_FIRST + 8, 4),
        height=file.big(_FIRST + 12, 4),
        samples=samples,
        bits=bits,
        maximum=te.maximum((te.index(1) << bits) - 1, 1),
        method=int(Method.DEFLATE),
        filter=int(Filter.PNG),
        is_png=1,
        begin=_FIRST,
    )
    known.close_rows(more=1)
    known.set(rows=known.height)
    with b.if_(te.equal(kind, _PALETTE)):
        _read_palette(known)


def _read_palette(known: Picture) -> None:
    b, file = known.b, known.file
    at = b.variable("int64", _FIRST, "at")
    with b.while_(at[()] < file.count):
        here = b.let(at[()])
        length = b.let(file.big(here, 4))
        with b.if_(file.is_at(here + 4, b"PLTE")):
            with b.loop(te.minimum(length // 3, 256)) as place:
                first = b.let(here + 8 + place * 3)
                known.colour(place, *(file[first + i] for i in range(3)))
            known.set(has_palette=1)
        b.store(at, (), here + length + _AROUND)
    known.outcome.require(te.equal(known.has_palette, 1), Problem.DAMAGED)


def gather(known: Picture, stream: te.Buffer, begin: te.Expr, end: te.Expr) -> te.Expr:
    """What is compressed, without the chunks around it, to the front of a stream; how long it is.

    In other formats there are no chunks: it is all from begin to end.
    """
    b, file = known.b, known.file
    at = b.variable("int64", begin, "at")
    length = b.variable("int64", 0, "length")
    chunks = b.let(te.equal(known.is_png, 1))
    with b.while_(at[()] < end):
        here = b.let(at[()])
        told = b.let(te.select(chunks, file.big(here, 4), end - here))
        holds = file.is_at(here + 4, b"IDAT")
        first = b.let(te.select(chunks, here + 8, here))
        count = b.let(te.maximum(te.minimum(told, end - first), 0))
        with b.if_(~chunks | holds):
            behind = b.let(length[()])
            with b.loop(count) as i:
                b.store(stream, behind + i, file.data[first + i])
            b.store(length, (), behind + count)
        b.store(at, (), first + told + te.select(chunks, te.index(_AROUND - 8), te.index(0)))
    return b.let(length[()])
