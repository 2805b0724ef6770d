"""Deflate, undone: blocks of bytes, and of references to bytes that came before, in codes of 1 to
15 bits that each block brings along (RFC 1950 and 1951). Checksums are not looked at."""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.bits import Bits
from relay.op.image.pictures.huffman import Code
from relay.op.image.pictures.problem import Outcome, Problem
from relay.op.image.pictures.sink import Sink

_SYMBOLS, _DISTANCES = 288, 32
_END = 256
# in which order the lengths of the codes for lengths come
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)


def inflate(
    b: te.Builder,
    stream: te.Buffer,
    length: te.Expr,
    sink: Sink,
    first: te.Expr,
    last: te.Expr,
    outcome: Outcome,
) -> None:
    """The first bytes of a stream, so many, into those of rows from first to last."""
    bits = Bits(b, stream, length)
    symbols, distances = Code(b, _SYMBOLS, "symbols"), Code(b, _DISTANCES, "distances")
    lengths = b.local("int64", (_SYMBOLS + _DISTANCES,), "lengths")
    place = b.variable("int64", first, "place")
    is_last = b.variable("int64", 0, "is_last")
    outcome.require(length >= 2, Problem.TRUNCATED)
    bits.fill()
    head = b.let(bits.take(8))
    flags = b.let(bits.take(8))
    # the method, how far back references reach, a check, and no dictionary that is not here
    good = te.every(te.equal(head & 15, 8), head < 8 << 4, te.equal(flags & 32, 0))
    good = good & te.equal((head * 256 + flags) % 31, 0)
    outcome.require(good, Problem.DAMAGED)
    with b.while_(outcome.fine & (place[()] < last)):
        outcome.require(te.equal(is_last[()], 0), Problem.TRUNCATED)
        bits.fill()
        b.store(is_last, (), bits.take(1))
        kind = b.let(bits.take(2))
        outcome.require(kind < 3, Problem.DAMAGED)
        with b.if_(te.equal(kind, 0)):
            _copy(b, bits, sink, place, last, outcome)
        with b.if_(te.equal(kind, 1)):
            _usual_codes(b, lengths, symbols, distances, outcome)
        with b.if_(te.equal(kind, 2)):
            _own_codes(b, bits, lengths, symbols, distances, outcome)
        with b.if_(kind > 0):
            _symbols(b, bits, symbols, distances, sink, first, place, last, outcome)


def _copy(
    b: te.Builder, bits: Bits, sink: Sink, place: te.Buffer, last: te.Expr, outcome: Outcome
) -> None:
    """Bytes as they are."""
    at = b.let(bits.align())
    told = b.let(bits.byte(at) + bits.byte(at + 1) * 256)
    check = bits.byte(at + 2) + bits.byte(at + 3) * 256
    outcome.require(te.equal(told ^ check, 0xFFFF), Problem.DAMAGED)
    here = b.let(place[()])
    count = b.let(te.minimum(told, last - here))
    outcome.require(at + 4 + count <= bits.length, Problem.TRUNCATED)
    with b.if_(outcome.fine):
        with b.loop(count) as i:
            sink.put(b.let(here + i), bits.stream[at + 4 + i])
        b.store(place, (), here + count)
        bits.go_to(at + 4 + count)


def _usual_codes(
    b: te.Builder, lengths: te.Buffer, symbols: Code, distances: Code, outcome: Outcome
) -> None:
    with b.loop(_SYMBOLS) as i:
        length = te.select(i < 256, te.select(i < 144, te.index(8), te.index(9)), te.index(7))
        b.store(lengths, i, te.select(i < 280, length, te.index(8)))
    with b.loop(_DISTANCES) as i:
        b.store(lengths, _SYMBOLS + i, 5)
    symbols.build(lengths, te.index(0), te.index(_SYMBOLS), outcome)
    distances.build(lengths, te.index(_SYMBOLS), te.index(_DISTANCES), outcome)


def _own_codes(
    b: te.Builder,
    bits: Bits,
    lengths: te.Buffer,
    symbols: Code,
    distances: Code,
    outcome: Outcome,
) -> None:
    """The lengths of codes, which are themselves in codes."""
    order = b.local("int64", (len(_ORDER),), "order")
    for place, length in enumerate(_ORDER):
        b.store(order, place, length)
    bits.fill()
    many = b.let(bits.take(5) + 257)
    others = b.let(bits.take(5) + 1)
    given = b.let(bits.take(4) + 4)
    outcome.require((many <= 286) & (others <= 30), Problem.DAMAGED)
    with b.loop(len(_ORDER)) as i:
        b.store(lengths, i, 0)
    with b.loop(given) as i:
        bits.fill()
        b.store(lengths, order[i], bits.take(3))
    symbols.build(lengths, te.index(0), te.index(len(_ORDER)), outcome, whole=True)
    total = b.let(many + others)
    known = b.variable("int64", 0, "known")
    with b.while_(outcome.fine & (known[()] < total)):
        bits.fill()
        symbol = b.let(symbols.read(bits, outcome))
        with b.if_(symbol < 16):
            b.store(lengths, known[()], symbol)
            b.store(known, (), known[()] + 1)
        with b.else_():
            here = b.let(known[()])
            again = b.let(te.equal(symbol, 16))
            outcome.require(~again | (here > 0), Problem.DAMAGED)
            extra = te.select(again, te.index(2), te.select(te.equal(symbol, 17), 3, te.index(7)))
            least = te.select(te.equal(symbol, 18), te.index(11), te.index(3))
            count = b.let(bits.take(extra) + least)
            outcome.require(here + count <= total, Problem.DAMAGED)
            with b.if_(outcome.fine):
                value = b.let(te.select(again, lengths[te.maximum(here - 1, 0)], 0))
                with b.loop(count) as i:
                    b.store(lengths, here + i, value)
                b.store(known, (), here + count)
        outcome.require(bits.inside(), Problem.TRUNCATED)
    with b.if_(outcome.fine):
        outcome.require(lengths[_END] > 0, Problem.DAMAGED)
        symbols.build(lengths, te.index(0), many, outcome)
        distances.build(lengths, many, others, outcome)


def _symbols(
    b: te.Builder,
    bits: Bits,
    symbols: Code,
    distances: Code,
    sink: Sink,
    first: te.Expr,
    place: te.Buffer,
    last: te.Expr,
    outcome: Outcome,
) -> None:
    goes_on = b.variable("bool", True, "goes_on")
    with b.while_(outcome.fine & goes_on[()] & (place[()] < last)):
        bits.fill()  # enough for all that one step reads
        symbol = b.let(symbols.read(bits, outcome))
        here = b.let(place[()])
        with b.if_(symbol < _END):
            sink.put(here, te.cast(symbol, "uint8"))
            b.store(place, (), here + 1)
        with b.else_():
            b.store(goes_on, (), te.not_equal(symbol, _END))
            with b.if_(symbol > _END):
                length = b.let(_length(b, bits, b.let(symbol - (_END + 1)), outcome))
                code = b.let(distances.read(bits, outcome))
                distance = b.let(_distance(b, bits, code, outcome))
                outcome.require(distance <= here - first, Problem.DAMAGED)
                count = b.let(te.minimum(length, last - here))
                with b.if_(outcome.fine):
                    sink.repeat(b, here, distance, count)
                    b.store(place, (), here + count)
        outcome.require(bits.inside(), Problem.TRUNCATED)


def _length(b: te.Builder, bits: Bits, code: te.Expr, outcome: Outcome) -> te.Expr:
    """3 to 258: eight of them alone, then four codes for each further bit, and the last alone."""
    outcome.require(code < 29, Problem.DAMAGED)
    alone = b.let((code < 8) | (code >= 28))
    extra = b.let(te.select(alone, 0, (code >> 2) - 1))
    base = te.select(code < 8, code, te.select(code < 28, ((code & 3) + 4) << extra, 255))
    return base + 3 + bits.take(extra)


def _distance(b: te.Builder, bits: Bits, code: te.Expr, outcome: Outcome) -> te.Expr:
    """1 to 32768: four of them alone, then two codes for each further bit."""
    outcome.require(code < 30, Problem.DAMAGED)
    extra = b.let(te.select(code < 4, 0, (code >> 1) - 1))
    base = te.select(code < 4, code, ((code & 1) + 2) << extra)
    return base + 1 + bits.take(extra)
