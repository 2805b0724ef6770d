"""TIFF: a list of tags, anywhere in the file, says what the picture is and where its strips are."""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Filter, Method, Picture
from relay.op.image.pictures.problem import Problem

_LITTLE, _BIG = b"II*\0", b"MM\0*"
# tags of one number: (tag, what it is where there is none)
_NUMBERS = {
    "width": (256, 0),
    "height": (257, 0),
    "compression": (259, 1),
    "photometric": (262, -1),
    "samples": (277, 1),
    "rows": (278, 1 << 32),
    "planes": (284, 1),
    "predictor": (317, 1),
    "tiles": (322, 0),
}
# tags of several: where they are, of how many bytes each, and how many
_LISTS = {"bits": 258, "offsets": 273, "counts": 279, "colours": 320}
_METHODS = {1: Method.STORED, 5: Method.LZW, 8: Method.DEFLATE, 32946: Method.DEFLATE}
_METHODS |= {32773: Method.PACK_BITS}
_WHITE_IS_0, _BLACK_IS_0, _RGB, _INDEXED = range(4)
_ENTRY = 12  # bytes of a tag
_BYTE, _SHORT, _LONG = 1, 3, 4  # types of numbers


def is_tiff(known: Picture) -> te.Expr:
    return known.file.is_at(0, _LITTLE) | known.file.is_at(0, _BIG)


def read_tiff(known: Picture) -> None:
    b, outcome = known.b, known.outcome
    known.set(big_endian=te.cast(known.file.is_at(0, _BIG), "int64"))
    tags = _Tags(known)
    tags.read()
    bits = b.let(te.select(tags.count("bits") > 0, tags.element("bits", te.index(0)), 1))
    with b.loop(te.minimum(tags.count("bits"), 4)) as i:
        outcome.require(te.equal(tags.element("bits", i), bits), Problem.COLOURS)
    number, samples = tags.number, b.let(tags.number("samples"))
    kind = b.let(number("photometric"))
    method: te.Expr = te.index(-1)
    for code, one in _METHODS.items():
        method = te.select(te.equal(number("compression"), code), te.index(one), method)
    method = b.let(method)
    outcome.require(bits <= 8, Problem.DEEP)
    whole = te.some(*(te.equal(bits, n) for n in (1, 2, 4)))
    outcome.require(te.equal(bits, 8) | (whole & te.equal(samples, 1)), Problem.COLOURS)
    is_colour = te.equal(kind, _RGB)
    outcome.require((kind >= 0) & (kind <= _INDEXED), Problem.COLOURS)
    few = te.select(is_colour, te.index(3), te.index(1))
    outcome.require((samples >= few) & (samples <= few + 1), Problem.COLOURS)
    outcome.require(method >= 0, Problem.COMPRESSION)
    together = te.equal(number("planes"), 1) | te.equal(samples, 1)
    outcome.require(te.equal(number("tiles"), 0) & together, Problem.PARTS)
    predicted = b.let(te.equal(number("predictor"), 2))
    outcome.require(te.equal(number("predictor"), 1) | predicted, Problem.COMPRESSION)
    outcome.require(~predicted | te.equal(bits, 8), Problem.COMPRESSION)
    known.set(
        width=number("width"),
        height=number("height"),
        samples=samples,
        bits=bits,
        maximum=te.maximum((te.index(1) << te.minimum(bits, 8)) - 1, 1),
        inverted=te.cast(te.equal(kind, _WHITE_IS_0), "int64"),
        method=method,
        filter=te.select(predicted, te.index(Filter.LEFT), te.index(Filter.NONE)),
    )
    known.close_rows()
    _place_strips(known, tags)
    with b.if_(te.equal(kind, _INDEXED)):
        _read_palette(known, tags, b.let(te.index(1) << te.minimum(bits, 8)))


def _place_strips(known: Picture, tags: _Tags) -> None:
    rows = known.b.let(te.minimum(tags.number("rows"), known.height))
    known.outcome.require(rows > 0, Problem.DAMAGED)
    strips = known.b.let((known.height + rows - 1) // rows)
    for name in ("offsets", "counts"):
        known.outcome.require(tags.count(name) >= strips, Problem.DAMAGED)
        known.outcome.require(tags.size(name) >= 2, Problem.DAMAGED)
    known.set(
        rows=rows,
        offsets=tags.place("offsets"),
        offset_size=tags.size("offsets"),
        counts=tags.place("counts"),
        count_size=tags.size("counts"),
    )


def _read_palette(known: Picture, tags: _Tags, entries: te.Expr) -> None:
    """All reds, then all greens, then all blues, of 16 bits each."""
    known.outcome.require(tags.count("colours") >= entries * 3, Problem.DAMAGED)
    known.outcome.require(te.equal(tags.size("colours"), 2), Problem.DAMAGED)
    with known.b.if_(known.outcome.fine), known.b.loop(entries) as place:
        each = [tags.element("colours", place + entries * i) >> 8 for i in range(3)]
        known.colour(place, *each)
    known.set(has_palette=1)


class _Tags:
    """The tags that are looked at, as variables."""

    def __init__(self, known: Picture) -> None:
        b = known.b
        self.known = known
        self._numbers = {
            name: b.variable("int64", default, name) for name, (_, default) in _NUMBERS.items()
        }
        self._lists = {
            name: tuple(
                b.variable("int64", 0, f"{name}_{what}") for what in ("at", "size", "count")
            )
            for name in _LISTS
        }

    def number(self, name: str) -> te.Expr:
        return self._numbers[name][()]

    def place(self, name: str) -> te.Expr:
        return self._lists[name][0][()]

    def size(self, name: str) -> te.Expr:
        return self._lists[name][1][()]

    def count(self, name: str) -> te.Expr:
        return self._lists[name][2][()]

    def element(self, name: str, place: te.Expr) -> te.Expr:
        """One number of a list."""
        size = self.size(name)
        return self._number(self.known.b.let(self.place(name) + place * size), size)

    def _number(self, at: te.Expr, size: te.Expr) -> te.Expr:
        """A number of 1 or 2 bytes, or else of 4."""
        larger = te.select(te.equal(size, 2), self._value(at, 2), self._value(at, 4))
        return self.known.b.let(te.select(te.equal(size, 1), self.known.file[at], larger))

    def _value(self, at: te.Expr, size: int) -> te.Expr:
        file = self.known.file
        is_big = te.equal(self.known.big_endian, 1)
        return te.select(is_big, file.big(at, size), file.little(at, size))

    def read(self) -> None:
        """From the first list of tags that the file names."""
        known, b = self.known, self.known.b
        first = b.let(self._value(te.index(4), 4))
        count = b.let(self._value(first, 2))
        known.outcome.require(first + 2 + count * _ENTRY <= known.file.count, Problem.TRUNCATED)
        with b.if_(known.outcome.fine), b.loop(count) as i:
            self._enter(b.let(first + 2 + i * _ENTRY))

    def _enter(self, at: te.Expr) -> None:
        b = self.known.b
        tag, kind = b.let(self._value(at, 2)), b.let(self._value(at + 2, 2))
        count, last = b.let(self._value(at + 4, 4)), at + 8
        size: te.Expr = te.select(te.equal(kind, _LONG), te.index(4), te.index(0))
        for number, length in ((_BYTE, 1), (_SHORT, 2)):
            size = te.select(te.equal(kind, number), te.index(length), size)
        size = b.let(size)
        # few enough stand in the tag, others where it says
        place = b.let(te.select(count * size <= 4, last, self._value(last, 4)))
        single = self._number(place, size)
        for name, (number, _) in _NUMBERS.items():
            with b.if_(te.equal(tag, number)):
                b.store(self._numbers[name], (), single)
        for name, number in _LISTS.items():
            with b.if_(te.equal(tag, number)):
                for variable, found in zip(self._lists[name], (place, size, count), strict=True):
                    b.store(variable, (), found)
