"""BMP: a palette, or blue, green and red; rows mostly upwards, each of a multiple of 4 bytes."""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Picture
from relay.op.image.pictures.problem import Problem

_INFO = 14  # where what is known of the picture begins
_CORE = 12  # how long that is in the oldest form
_MASKS = (0xFF0000, 0xFF00, 0xFF)  # where red, green and blue are in 32 bits


def is_bmp(known: Picture) -> te.Expr:
    return known.file.is_at(0, b"BM")


def read_bmp(known: Picture) -> None:
    b, file, outcome = known.b, known.file, known.outcome
    length = b.let(file.little(_INFO, 4))
    is_core = b.let(te.equal(length, _CORE))
    outcome.require(is_core | ((length >= 40) & (length <= 124)), Problem.COMPRESSION)
    height = b.let(te.select(is_core, file.little(20, 2), _signed(file.little(22, 4))))
    width = te.select(is_core, file.little(18, 2), _signed(file.little(18, 4)))
    bits = b.let(te.select(is_core, file.little(24, 2), file.little(28, 2)))
    packing = b.let(te.select(is_core, 0, file.little(30, 4)))
    masked = b.let(te.equal(packing, 3))
    outcome.require(te.equal(packing, 0) | masked, Problem.COMPRESSION)
    outcome.require(te.some(*(te.equal(bits, n) for n in (1, 4, 8, 24, 32))), Problem.COLOURS)
    masks = [te.equal(file.little(54 + 4 * i, 4), mask) for i, mask in enumerate(_MASKS)]
    outcome.require(~masked | te.every(te.equal(bits, 32), *masks), Problem.COLOURS)
    known.set(
        height=te.absolute(height),
        width=width,
        upwards=te.cast(height > 0, "int64"),
        samples=te.maximum(bits // 8, 1),
        bits=te.minimum(bits, 8),
        reversed=1,
        maximum=255,
        begin=file.little(10, 4),
    )
    known.close_rows(unit=4)
    known.set(rows=known.height)
    with b.if_(bits <= 8):
        entry = b.let(te.select(is_core, te.index(3), te.index(4)))
        told = b.let(te.select(is_core, 0, file.little(46, 4)))
        most = b.let(te.index(1) << bits)
        with b.loop(te.select((told > 0) & (told < most), told, most)) as place:
            at = b.let(_INFO + length + place * entry)
            known.colour(place, file[at + 2], file[at + 1], file[at])
        known.set(has_palette=1)


def _signed(number: te.Expr) -> te.Expr:
    return te.select(number >= 1 << 31, number - (1 << 32), number)
