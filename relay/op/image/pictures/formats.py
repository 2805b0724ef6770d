"""Which format bytes are of, and what they say of the picture."""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.bmp import is_bmp, read_bmp
from relay.op.image.pictures.header import Picture, fill_greys, picture
from relay.op.image.pictures.jpeg import is_jpeg, read_jpeg
from relay.op.image.pictures.png import is_png, read_png
from relay.op.image.pictures.pnm import is_pnm, read_pnm
from relay.op.image.pictures.problem import Outcome, Problem
from relay.op.image.pictures.tiff import is_tiff, read_tiff

_READERS = (
    (is_bmp, read_bmp),
    (is_jpeg, read_jpeg),
    (is_pnm, read_pnm),
    (is_png, read_png),
    (is_tiff, read_tiff),
)
# What other formats begin with: (place, bytes), all of which stand there.
FOREIGN: tuple[tuple[Problem, tuple[tuple[int, bytes], ...]], ...] = (
    (Problem.GIF, ((0, b"GIF8"),)),
    (Problem.JPEG_2000, ((0, b"\xff\x4f\xff\x51"),)),
    (Problem.JPEG_2000, ((4, b"jP  \r\n\x87\n"),)),
    (Problem.WEBP, ((0, b"RIFF"), (8, b"WEBP"))),
)


def read_header(b: te.Builder, data: te.Tensor, outcome: Outcome) -> Picture:
    """What is known of the picture, or what is wrong with it."""
    known = picture(b, data, outcome)
    format_known: te.Expr = te.const(False, "bool")
    for is_format, read in _READERS:
        begins = b.let(is_format(known))
        format_known = format_known | begins
        with b.if_(begins):
            read(known)
    for problem, parts in FOREIGN:
        outcome.require(~te.every(*(known.file.is_at(*part) for part in parts)), problem)
    outcome.require(format_known, Problem.UNKNOWN)
    with b.if_(outcome.fine):
        fill_greys(known)
    return known
