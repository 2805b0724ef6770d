"""JPEG: segments with tables, then blocks of coefficients in codes, for each component a plane.

Sequential ones of 8 bits are read, with one component or three, in one scan or in several.
"""

from __future__ import annotations

from relay import te
from relay.immutable import frozen
from relay.op.image.pictures.header import Method, Picture
from relay.op.image.pictures.jpeg_bits import Bits, Codes
from relay.op.image.pictures.jpeg_colours import Plane, spread_plane, to_colours
from relay.op.image.pictures.jpeg_transform import fill, transform
from relay.op.image.pictures.problem import Problem

COMPONENTS = 3  # the most
LARGEST_UNIT = 32  # pixels, down and across, that blocks of all components are grouped for
_BASELINE, _EXTENDED, _PROGRESSIVE = 0xC0, 0xC1, 0xC2
_CODES, _RESTART, _END, _SCAN, _DIVISORS, _INTERVAL = 0xC4, 0xD0, 0xD9, 0xDA, 0xDB, 0xDD
_ADOBE = 0xEE
_OTHER_FRAMES = (0xC3, *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0))
# Where the coefficients of a block belong that come one after the other.
_ORDER = (
    *(0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5),
    *(12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28),
    *(35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51),
    *(58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63),
)


def is_jpeg(known: Picture) -> te.Expr:
    return known.file.is_at(0, b"\xff\xd8\xff")


def _next_marker(known: Picture, at: te.Buffer) -> te.Expr:
    """Go on to the next marker, and behind it; 0 at the end of the file."""
    b, file = known.b, known.file
    marker = b.variable("int64", 0, "marker")
    with b.while_(te.equal(marker[()], 0) & (at[()] < file.count)):
        here, following = file[at[()]], file[at[()] + 1]
        is_marker = te.equal(here, 255) & (following > 0) & (following < 255)
        found = b.let(te.select(is_marker, following, 0))
        b.store(marker, (), found)
        b.store(at, (), at[()] + te.select(found > 0, te.index(2), te.index(1)))
    return b.let(marker[()])


def _is_one_of(marker: te.Expr, *wanted: int) -> te.Expr:
    return te.some(*(te.equal(marker, one) for one in wanted))


def read_jpeg(known: Picture) -> None:
    """The sizes, from the segment that has them."""
    b, file, outcome = known.b, known.file, known.outcome
    at = b.variable("int64", 2, "at")
    searches = b.variable("bool", True, "searches")
    with b.while_(searches[()] & outcome.fine):
        marker = _next_marker(known, at)
        here = b.let(at[()])
        outcome.require((marker > 0) & (here + 8 <= file.count), Problem.TRUNCATED)
        outcome.require(~_is_one_of(marker, _END, _SCAN), Problem.DAMAGED)
        outcome.require(te.not_equal(marker, _PROGRESSIVE), Problem.PROGRESSIVE)
        outcome.require(~_is_one_of(marker, *_OTHER_FRAMES), Problem.COMPRESSION)
        with b.if_(_is_one_of(marker, _BASELINE, _EXTENDED)):
            count = b.let(file[here + 7])
            outcome.require(te.equal(file[here + 2], 8), Problem.DEEP)
            outcome.require(te.equal(count, 1) | te.equal(count, COMPONENTS), Problem.COLOURS)
            outcome.require(file.big(here, 2) >= 8 + 3 * count, Problem.DAMAGED)
            known.set(
                height=file.big(here + 3, 2),
                width=file.big(here + 5, 2),
                samples=count,
                bits=8,
                maximum=255,
                method=int(Method.JPEG),
                begin=here + 8,
            )
            b.store(searches, (), False)
        b.store(at, (), here + file.big(here, 2))
    known.close_rows()
    known.set(rows=known.height)


class _Components:
    """What is known of each component."""

    def __init__(self, known: Picture) -> None:
        b, file, outcome = known.b, known.file, known.outcome
        names = ("across", "down", "divisors", "begin", "stride", "table", "other", "last", "done")
        self.across, self.down, self.divisors, self.begin, self.stride, *rest = (
            b.local("int64", (COMPONENTS,), name) for name in names
        )
        # tables of codes for the first coefficient and the others, the last first coefficient, and
        # whether a scan had the component
        self.table, self.other, self.last, self.done = rest
        self.seen = b.variable("int64", 0, "seen")  # how many had their scan
        most_across = b.variable("int64", 1, "most_across")
        most_down = b.variable("int64", 1, "most_down")
        with b.loop(known.samples) as i:
            at = b.let(known.begin + 3 * i)
            across, down = b.let(file[at + 1] >> 4), b.let(file[at + 1] & 15)
            good = te.every(across >= 1, across <= 4, down >= 1, down <= 4)
            outcome.require(good, Problem.DAMAGED)
            b.store(self.across, i, across)
            b.store(self.down, i, down)
            b.store(self.divisors, i, file[at + 2] & 3)
            for variable in (self.table, self.other, self.last, self.done):
                b.store(variable, i, 0)
            b.store(most_across, (), te.maximum(most_across[()], across))
            b.store(most_down, (), te.maximum(most_down[()], down))
        self.most_across, self.most_down = b.let(most_across[()]), b.let(most_down[()])
        # how many groups of blocks of all components there are
        self.units_across = b.let(_divided(known.width, 8 * self.most_across))
        self.units_down = b.let(_divided(known.height, 8 * self.most_down))
        behind = b.variable("int64", 0, "behind")
        with b.if_(outcome.fine), b.loop(known.samples) as i:
            whole = te.equal(self.most_across % self.across[i], 0)
            whole = whole & te.equal(self.most_down % self.down[i], 0)
            outcome.require(whole, Problem.COLOURS)
            b.store(self.begin, i, behind[()])
            b.store(self.stride, i, self.units_across * self.across[i] * 8)
            b.store(behind, (), behind[()] + self.stride[i] * self.units_down * self.down[i] * 8)

    def width(self, known: Picture, component: te.Expr) -> te.Expr:
        """How many samples a row has that are those of pixels."""
        return _divided(known.width * self.across[component], self.most_across)

    def height(self, known: Picture, component: te.Expr) -> te.Expr:
        return _divided(known.height * self.down[component], self.most_down)


def _divided(number: te.Expr, by: te.Expr) -> te.Expr:
    """Rounded up."""
    return (number + by - 1) // by


@frozen
class _Decoder:
    """What segments fill in and scans use."""

    known: Picture
    components: _Components
    bits: Bits
    codes: Codes
    divisors: te.Buffer  # (4, 64), in the order of coefficients
    order: te.Buffer
    block: te.Buffer
    interval: te.Buffer  # units between restarts; 0 for none
    planes: te.Buffer | None


def read_scans(known: Picture, planes: te.Buffer | None, rows: te.Buffer | None) -> None:
    """All scans into planes, and those into rows; without, only a look at whether they are good."""
    b, file, outcome = known.b, known.file, known.outcome
    at = b.variable("int64", 2, "at")
    components = _Components(known)
    order = b.local("int64", (64,), "order")
    for place, target in enumerate(_ORDER):
        b.store(order, place, target)
    divisors = b.local("int32", (4, 64), "divisors")
    with b.loop(4) as table, b.loop(64) as i:
        b.store(divisors, (table, i), 0)
    bits, codes = Bits(b, file, at), Codes(b, file)
    block = b.local("int32", (64,), "block")
    interval = b.variable("int64", 0, "interval")
    as_colours = b.variable("bool", True, "as_colours")
    decoder = _Decoder(known, components, bits, codes, divisors, order, block, interval, planes)
    with b.while_(outcome.fine & (components.seen[()] < known.samples)):
        marker = _next_marker(known, at)
        here = b.let(at[()])
        length = b.let(file.big(here, 2))
        end = b.let(here + length)
        outcome.require((marker > 0) & (end <= file.count), Problem.TRUNCATED)
        outcome.require(te.not_equal(marker, _END), Problem.TRUNCATED)
        alone = b.let((marker >= _RESTART) & (marker < _END))
        with b.if_(~alone):
            b.store(at, (), te.maximum(end, here))
        with b.if_(outcome.fine):
            with b.if_(te.equal(marker, _CODES)):
                _read_codes(decoder, here + 2, end)
            with b.if_(te.equal(marker, _DIVISORS)):
                _read_divisors(decoder, here + 2, end)
            with b.if_(te.equal(marker, _INTERVAL)):
                b.store(interval, (), file.big(here + 2, 2))
            with b.if_(te.equal(marker, _ADOBE) & file.is_at(here + 2, b"Adobe") & (length >= 14)):
                b.store(as_colours, (), te.not_equal(file[here + 13], 0))
            with b.if_(te.equal(marker, _SCAN)):
                _read_scan(decoder, here + 2, end)
    if planes is None or rows is None:
        return
    with b.if_(outcome.fine):
        with b.loop(known.samples) as i:
            plane = Plane(
                planes,
                b.let(components.begin[i]),
                b.let(components.stride[i]),
                b.let(components.height(known, i)),
                b.let(components.width(known, i)),
                b.let(components.most_down // components.down[i]),
                b.let(components.most_across // components.across[i]),
            )
            spread_plane(known, plane, rows, i)
        by_name = file[known.begin], file[known.begin + 3], file[known.begin + 6]
        named = te.every(*(te.equal(n, ord(c)) for n, c in zip(by_name, "RGB", strict=True)))
        with b.if_(te.equal(known.samples, COMPONENTS) & as_colours[()] & ~named):
            to_colours(known, rows)


# --- tables


def _read_codes(decoder: _Decoder, first: te.Expr, end: te.Expr) -> None:
    known = decoder.known
    b, file = known.b, known.file
    at = b.variable("int64", first, "place")
    with b.while_(known.outcome.fine & (at[()] < end)):
        kind = b.let(file[at[()]])
        known.outcome.require(((kind & 15) < 4) & (kind < 32), Problem.DAMAGED)
        table = b.let((kind >> 4) * 4 + (kind & 3))
        with b.if_(known.outcome.fine):
            count = decoder.codes.build(table, b.let(at[()] + 1), known.outcome)
            b.store(at, (), at[()] + 17 + count)
            known.outcome.require(at[()] <= end, Problem.DAMAGED)


def _read_divisors(decoder: _Decoder, first: te.Expr, end: te.Expr) -> None:
    known = decoder.known
    b, file = known.b, known.file
    at = b.variable("int64", first, "place")
    with b.while_(known.outcome.fine & (at[()] < end)):
        kind = b.let(file[at[()]])
        known.outcome.require(((kind & 15) < 4) & (kind < 32), Problem.DAMAGED)
        size = b.let((kind >> 4) + 1)
        start = b.let(at[()] + 1)
        with b.loop(64) as i:
            value = te.select(te.equal(size, 1), file[start + i], file.big(start + 2 * i, 2))
            b.store(decoder.divisors, (kind & 3, i), te.cast(value, "int32"))
        b.store(at, (), start + 64 * size)
        known.outcome.require(at[()] <= end, Problem.DAMAGED)


# --- scans


def _read_scan(decoder: _Decoder, first: te.Expr, end: te.Expr) -> None:
    known, components, bits = decoder.known, decoder.components, decoder.bits
    b, file, outcome = known.b, known.file, known.outcome
    count = b.let(file[first])
    chosen = b.local("int64", (COMPONENTS,), "chosen")
    outcome.require((count >= 1) & (count <= known.samples), Problem.DAMAGED)
    outcome.require(first + 4 + 2 * count <= end, Problem.DAMAGED)
    with b.if_(outcome.fine), b.loop(count) as i:
        _choose(decoder, chosen, i, first)
    together = b.let(count > 1)
    only = b.let(te.select(outcome.fine, chosen[0], 0))
    wide = _divided(components.width(known, only), te.index(8))
    high = _divided(components.height(known, only), te.index(8))
    across = b.let(te.select(together, components.units_across, wide))
    down = te.select(together, components.units_down, high)
    total = b.let(across * down)
    bits.begin_again()
    unit = b.variable("int64", 0, "unit")
    waits = b.variable("int64", decoder.interval[()], "waits")  # units until the next restart
    with b.while_(outcome.fine & (unit[()] < total)):
        with b.if_((decoder.interval[()] > 0) & te.equal(waits[()], 0)):
            _restart(decoder)
            b.store(waits, (), decoder.interval[()])
        b.store(waits, (), waits[()] - 1)
        y, x = b.let(unit[()] // across), b.let(unit[()] % across)
        with b.loop(count) as i:
            component = b.let(chosen[i])
            high = b.let(te.select(together, components.down[component], 1))
            wide = b.let(te.select(together, components.across[component], 1))
            with b.loop(high) as j, b.loop(wide) as k, b.if_(outcome.fine):
                _read_block(decoder, component, b.let(y * high + j), b.let(x * wide + k))
        outcome.require(bits.rest() >= 0, Problem.TRUNCATED)
        b.store(unit, (), unit[()] + 1)
    b.store(components.seen, (), components.seen[()] + count)


def _choose(decoder: _Decoder, chosen: te.Buffer, i: te.Expr, first: te.Expr) -> None:
    """Which component comes as number `i` of a scan, and by which tables of codes."""
    known, components = decoder.known, decoder.components
    b, file = known.b, known.file
    name, tables = b.let(file[first + 1 + 2 * i]), b.let(file[first + 2 + 2 * i])
    found = b.variable("int64", -1, "found")
    with b.loop(known.samples) as one, b.if_(te.equal(file[known.begin + 3 * one], name)):
        b.store(found, (), one)
    known.outcome.require(found[()] >= 0, Problem.DAMAGED)
    component = b.let(te.maximum(found[()], 0))
    known.outcome.require(te.equal(components.done[component], 0), Problem.DAMAGED)
    b.store(components.done, component, 1)
    b.store(chosen, i, component)
    b.store(components.table, component, (tables >> 4) & 3)
    b.store(components.other, component, 4 + (tables & 3))
    b.store(components.last, component, 0)


def _restart(decoder: _Decoder) -> None:
    """A marker between units, after which nothing depends on what was before."""
    known, bits = decoder.known, decoder.bits
    b, file = known.b, known.file
    here = b.let(bits.at[()])
    is_there = te.equal(file[here], 255) & te.equal(file[here + 1] & 0xF8, _RESTART)
    known.outcome.require(is_there & (bits.rest() < 8), Problem.DAMAGED)
    b.store(bits.at, (), here + 2)
    bits.begin_again()
    with b.loop(COMPONENTS) as i:
        b.store(decoder.components.last, i, 0)


def _read_block(decoder: _Decoder, component: te.Expr, row: te.Expr, column: te.Expr) -> None:
    """64 coefficients: the first as a difference from the one before, the others by how many
    zeros come in front of them."""
    known, components, bits = decoder.known, decoder.components, decoder.bits
    b, outcome, block = known.b, known.outcome, decoder.block
    divisors = b.let(components.divisors[component])
    first, others = b.let(components.table[component]), b.let(components.other[component])
    if decoder.planes is not None:
        with b.loop(64) as i:
            b.store(block, i, 0)
    place = b.variable("int64", 0, "place")
    is_flat = b.variable("bool", True, "is_flat")
    with b.while_(outcome.fine & (place[()] < 64)):
        bits.fill()  # enough for a code and the number that follows
        here = b.let(place[()])
        is_first = b.let(te.equal(here, 0))
        code = decoder.codes.read(b.let(te.select(is_first, first, others)), bits, outcome)
        size = b.let(code & 15)
        skipped = b.let(te.select(is_first, 0, code >> 4))
        ends = b.let(te.equal(size, 0) & (skipped < 15) & ~is_first)
        target = b.let(te.select(ends, te.index(63), here + skipped))
        outcome.require(target < 64, Problem.DAMAGED)
        value = bits.take_signed(size)
        with b.if_(is_first):
            b.store(components.last, component, components.last[component] + value)
        if decoder.planes is not None:
            with b.if_(outcome.fine & (is_first | (size > 0))):
                number = te.cast(te.select(is_first, components.last[component], value), "int32")
                scaled = number * decoder.divisors[divisors, target]
                b.store(block, decoder.order[target], scaled)
                b.store(is_flat, (), is_flat[()] & is_first)
        b.store(place, (), target + 1)
    if decoder.planes is not None:
        stride = b.let(components.stride[component])
        start = b.let(components.begin[component] + (row * stride + column) * 8)
        with b.if_(outcome.fine & is_flat[()]):
            fill(b, block, decoder.planes, start, stride)
        with b.if_(outcome.fine & ~is_flat[()]):
            transform(b, block, decoder.planes, start, stride)
