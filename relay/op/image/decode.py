"""Decoding: the bytes of a file of a picture, to its pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.dyn.extents import Need, Shapes
from relay.op.image.pictures import reference
from relay.op.image.pictures.expand import check, expand
from relay.op.image.pictures.formats import read_header
from relay.op.image.pictures.header import PADDING, SAMPLES
from relay.op.image.pictures.jpeg import COMPONENTS, LARGEST_UNIT
from relay.op.image.pictures.pixels import PixelFormat, channels, undo_filters, write_pixels
from relay.op.image.pictures.problem import MESSAGES, outcome
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Site


@attrs
class DecodeAttrs(Attrs):
    """pixel_format: red, green and blue; blue, green and red; or how bright a pixel is"""

    pixel_format: PixelFormat = "RGB"


def _decode_type(site: Site) -> Type | None:
    """(n,) -> (?, ?, 3 or 1), both uint8"""
    data = site.tensor(0, rank=1)
    if data is None:
        return None
    site.require(data.dtype == "uint8", "bytes are of another type", "uint8", data.dtype)
    return TensorType((dims.ANY, dims.ANY, channels(site.attrs.pixel_format)), "uint8")


def _decode_extents(data: te.Tensor, need: Need, pixel_format: PixelFormat) -> Shapes:
    """The header, after a look at everything that the rest relies on."""

    def write(b: te.Builder, result: te.Buffer) -> None:
        found = outcome(b)
        known = read_header(b, data, found)
        with b.if_(found.fine):
            check(known)
        for place, value in enumerate((found.problem[()], known.height, known.width)):
            b.store(result, place, value)

    (header,) = te.procedure([data], [((3,), "int64")], write, "picture")
    for problem, message in MESSAGES.items():
        need(te.not_equal(header[0], int(problem)), message)
    return ((header[1], header[2], te.index(channels(pixel_format))),)


def _decode_loops(data: te.Tensor, pixel_format: PixelFormat, out: te.Spec) -> te.Tensor:
    def write(b: te.Builder, result: te.Buffer) -> None:
        height, width, _ = out.shape
        found = outcome(b)
        known = read_header(b, data, found)
        rows = b.local("uint8", (height * (width * SAMPLES + PADDING),), "rows")
        unit = LARGEST_UNIT  # planes end with whole units
        planes = b.local("uint8", (COMPONENTS * (height + unit) * (width + unit),), "planes")
        expand(known, rows, planes)
        with b.if_(found.fine):
            undo_filters(known, rows)
            write_pixels(known, rows, result, pixel_format)

    return te.procedure([data], [(out.shape, out.dtype)], write, "decode")[0]


def _decode_shape(data: np.ndarray, **given: Any) -> tuple[int, ...]:
    return reference.decode(data, **given).shape


decode = define(
    "image.decode",
    doc="The pixels of a picture, from the bytes of its file: BMP without compression, JPEG (not "
    "progressive; as libjpeg decodes it), PNM (P2 to P6), PNG without interlacing, and TIFF in "
    "strips (stored, LZW, PackBits or deflate), with samples of up to 8 bits. Alpha is left out, "
    "checksums are not looked at. Bytes that are no such picture end the run.",
    arguments=[("data", "the bytes")],
    attrs=DecodeAttrs,
    relation=_decode_type,
    reference=reference.decode,
    compute=_decode_loops,
    extents=_decode_extents,
    runtime_shape=_decode_shape,
    fusion=FusionKind.OPAQUE,
    samples=[
        sample(np.frombuffer(b"P6 2 1 255\n\1\2\3\4\5\6", np.uint8)),
        sample(np.frombuffer(b"P3 1 2 9 0 3 9 9 1 0", np.uint8), pixel_format="BGR"),
        sample(np.frombuffer(b"P5 2 1 255\n\7\x80", np.uint8), pixel_format="Grayscale"),
    ],
)
