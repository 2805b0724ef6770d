"""Decoding in Python, with zlib, for the interpreter."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from relay.immutable import frozen
from relay.op.image.pictures import reference_jpeg
from relay.op.image.pictures.header import MOST_PIXELS
from relay.op.image.pictures.pixels import WEIGHTS, PixelFormat
from relay.op.image.pictures.problem import Problem, refused, require


def decode(data: np.ndarray, pixel_format: PixelFormat) -> np.ndarray:
    """The pixels of a picture, from the bytes of its file."""
    colours = _colours(data.tobytes())
    if pixel_format == "Grayscale":
        total = (colours.astype(np.int64) * WEIGHTS).sum(2, keepdims=True) + (1 << 15)
        return np.asarray(total >> 16, np.uint8)
    return np.ascontiguousarray(colours[:, :, :: 1 if pixel_format == "RGB" else -1])


def _colours(file: bytes) -> np.ndarray:
    """Red, green and blue of every pixel."""
    if file[:2] == b"BM":
        return _bmp(file)
    if re.match(rb"P[2-6]", file):
        return _pnm(file)
    if file[:8] == b"\x89PNG\r\n\x1a\n":
        return _png(file)
    if file[:4] in (b"II*\0", b"MM\0*"):
        return _tiff(file)
    if file[:3] == b"\xff\xd8\xff":
        return reference_jpeg.decode(file)
    require(file[:4] != b"GIF8", Problem.GIF)
    is_new = file[:4] == b"\xff\x4f\xff\x51" or file[4:12] == b"jP  \r\n\x87\n"
    require(not is_new, Problem.JPEG_2000)
    require(file[:4] != b"RIFF" or file[8:12] != b"WEBP", Problem.WEBP)
    raise refused(Problem.UNKNOWN)


def _number(file: bytes, place: int, size: int, order: str = "little") -> int:
    """What is not whole inside of the file is 0."""
    part = file[place : place + size]
    return int.from_bytes(part, "big" if order == "big" else "little") if len(part) == size else 0


def _require_size(height: int, width: int) -> None:
    require(height > 0 and width > 0 and height * width <= MOST_PIXELS, Problem.SIZE)


def _samples(rows: np.ndarray, width: int, samples: int, bits: int) -> np.ndarray:
    """(height, bytes) -> (height, width, samples)"""
    if bits < 8:
        single = np.unpackbits(rows, axis=1)
        single = single[:, : single.shape[1] // bits * bits].reshape(len(rows), -1, bits)
        rows = (single << np.arange(bits - 1, -1, -1, dtype=np.uint8)).sum(2).astype(np.uint8)
    return rows[:, : width * samples].reshape(len(rows), width, samples)


def _rows(expanded: bytes, height: int, stride: int) -> np.ndarray:
    require(len(expanded) >= height * stride, Problem.TRUNCATED)
    return np.frombuffer(expanded, np.uint8, height * stride).reshape(height, stride)


def _greys(maximum: int) -> np.ndarray:
    levels = np.minimum((np.arange(256) * 510 + maximum) // (2 * maximum), 255)
    return np.repeat(levels.astype(np.uint8)[:, None], 3, 1)


def _black_palette() -> np.ndarray:
    return np.zeros((256, 3), np.uint8)


# --- BMP ---------------------------------------------------------------------------------------


def _bmp(file: bytes) -> np.ndarray:
    length = _number(file, 14, 4)
    require(length == 12 or 40 <= length <= 124, Problem.COMPRESSION)
    core = length == 12
    width, height = (_signed(_number(file, place, 4)) for place in (18, 22))
    bits, packing, told = _number(file, 28, 2), _number(file, 30, 4), _number(file, 46, 4)
    if core:
        width, height, bits = (_number(file, place, 2) for place in (18, 20, 24))
        packing = told = 0
    require(packing in (0, 3), Problem.COMPRESSION)
    require(bits in (1, 4, 8, 24, 32), Problem.COLOURS)
    if packing == 3:
        masks = [_number(file, 54 + 4 * i, 4) for i in range(3)]
        require(bits == 32 and masks == [0xFF0000, 0xFF00, 0xFF], Problem.COLOURS)
    _require_size(abs(height), width)
    stride = (width * bits + 31) // 32 * 4
    rows = _rows(file[_number(file, 10, 4) :], abs(height), stride)
    pixels = _samples(rows[::-1] if height > 0 else rows, width, max(bits // 8, 1), min(bits, 8))
    if bits > 8:
        return pixels[:, :, 2::-1]
    palette, entry = _black_palette(), 3 if core else 4
    for place in range(told if 0 < told < 1 << bits else 1 << bits):
        start = 14 + length + place * entry
        palette[place] = [_number(file, start + i, 1) for i in (2, 1, 0)]
    return np.asarray(palette[pixels[:, :, 0]])


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


# --- PNM ---------------------------------------------------------------------------------------

_SKIPPED = rb"(?:\s|#[^\r\n]*(?:[\r\n]|$))*"


def _pnm(file: bytes) -> np.ndarray:
    kind, at = file[1] - ord("0"), 2
    numbers = []
    for _ in range(2 if kind == 4 else 3):
        value, at = _pnm_number(file, at)
        numbers.append(value)
    width, height, maximum = numbers if kind != 4 else (*numbers, 1)
    require(file[at : at + 1].isspace(), Problem.TRUNCATED)
    require(maximum > 0, Problem.DAMAGED)
    require(maximum <= 255, Problem.DEEP)
    _require_size(height, width)
    samples, bits = 3 if kind in (3, 6) else 1, 1 if kind == 4 else 8
    stride = (width * samples * bits + 7) // 8
    begin = at + 1
    if kind in (2, 3):
        found = bytearray()
        while len(found) < height * stride:
            value, begin = _pnm_number(file, begin)
            found.append(min(value, 255))
        rows = _rows(bytes(found), height, stride)
    else:
        rows = _rows(file[begin:], height, stride)
    pixels = _samples(rows, width, samples, bits)
    palette = _greys(maximum)
    if bits == 1:
        palette = 255 - palette
    return np.asarray(palette[pixels[:, :, 0]] if samples == 1 else palette[pixels, 0])


def _pnm_number(file: bytes, at: int) -> tuple[int, int]:
    """The number that comes next, and where it ends."""
    skipped = re.compile(_SKIPPED).match(file, at)
    begin = skipped.end() if skipped else at
    require(begin < len(file), Problem.TRUNCATED)
    found = re.compile(rb"[0-9]+").match(file, begin)
    if found is None:
        raise refused(Problem.DAMAGED)
    digits = found.group().lstrip(b"0")
    return (int(digits or b"0") if len(digits) < 10 else 1 << 31), found.end()


# --- PNG ---------------------------------------------------------------------------------------


def _png(file: bytes) -> np.ndarray:
    good = _number(file, 8, 4, "big") == 13 and file[12:16] == b"IHDR"
    require(good, Problem.DAMAGED)
    width, height = _number(file, 16, 4, "big"), _number(file, 20, 4, "big")
    bits, kind, *methods, interlaced = file[24:29].ljust(5, b"\0")
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(kind, 0)
    require(bits != 16, Problem.DEEP)
    require(samples > 0 and (bits == 8 or (bits in (1, 2, 4) and samples == 1)), Problem.DAMAGED)
    require(methods == [0, 0], Problem.COMPRESSION)
    require(not interlaced, Problem.INTERLACED)
    _require_size(height, width)
    chunks = list(_chunks(file))
    palette = _greys((1 << bits) - 1)
    if kind == 3:
        require(any(name == b"PLTE" for name, _ in chunks), Problem.DAMAGED)
        palette = _black_palette()
        for name, content in chunks:
            if name == b"PLTE":
                entries = np.frombuffer(content[: len(content) // 3 * 3][:768], np.uint8)
                palette[: len(entries) // 3] = entries.reshape(-1, 3)
    stride = 1 + (width * samples * bits + 7) // 8
    stream = b"".join(content for name, content in chunks if name == b"IDAT")
    rows = _rows(_inflated(stream, height * stride), height, stride)
    require(bool((rows[:, 0] <= 4).all()), Problem.DAMAGED)
    whole = _without_filters(rows, max(samples * bits // 8, 1))
    pixels = _samples(whole, width, samples, bits)
    return palette[pixels[:, :, 0]] if samples <= 2 else pixels[:, :, :3]


def _chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(file):
        length = _number(file, at, 4, "big")
        yield file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        at += 12 + length


def _inflated(stream: bytes, wanted: int) -> bytes:
    require(len(stream) >= 2, Problem.TRUNCATED)
    head, flags = stream[:2]
    good = head & 15 == 8 and head >> 4 < 8 and not flags & 32 and (head * 256 + flags) % 31 == 0
    require(good, Problem.DAMAGED)
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)  # without a look at the checksum
    try:
        return inflating.decompress(stream[2:], wanted)
    except zlib.error:
        return _inflated_so_far(stream[2:], wanted)


def _inflated_so_far(stream: bytes, wanted: int) -> bytes:
    """What there is before the stream is damaged, which must be enough."""
    inflating, found = zlib.decompressobj(-zlib.MAX_WBITS), bytearray()
    try:
        for place in range(len(stream)):
            found += inflating.decompress(stream[place : place + 1])
    except zlib.error:
        require(len(found) >= wanted, Problem.DAMAGED)
    return bytes(found[:wanted])


def _without_filters(rows: np.ndarray, step: int) -> np.ndarray:
    """Each row after the one above it; where a row needs itself, one pixel after the other."""
    found = np.zeros((len(rows) + 1, rows.shape[1] - 1 + step), np.uint8)
    for y, row in enumerate(rows):
        above, here = found[y], found[y + 1]
        match row[0]:
            case 0:
                here[step:] = row[1:]
            case 1:
                here[step:] = _running_sums(row[1:], step)
            case 2:
                here[step:] = row[1:] + above[step:]
            case kind:
                for i, value in enumerate(row[1:].tolist()):
                    a, c, d = int(here[i]), int(above[i + step]), int(above[i])
                    near = (a + c) // 2 if kind == 3 else _nearest(a, c, d)
                    here[i + step] = (value + near) & 255
    return found[1:, step:]


def _nearest(left: int, above: int, between: int) -> int:
    guess = left + above - between
    return min((left, above, between), key=lambda each: abs(guess - each))


def _running_sums(row: np.ndarray, step: int) -> np.ndarray:
    """Each element with all those before it that are a multiple of `step` away."""
    padded = np.zeros(-(-len(row) // step) * step, np.uint8)
    padded[: len(row)] = row
    sums = np.cumsum(padded.reshape(-1, step), axis=0, dtype=np.uint8)
    return sums.reshape(-1)[: len(row)]


# --- TIFF --------------------------------------------------------------------------------------


@frozen
class _Tags:
    """The numbers of every tag, read when they are asked for."""

    file: bytes
    order: str
    entries: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # place, size, count

    def count(self, tag: int) -> int:
        return self.entries.get(tag, (0, 0, 0))[2]

    def size(self, tag: int) -> int:
        return self.entries.get(tag, (0, 0, 0))[1]

    def element(self, tag: int, index: int) -> int:
        place, size, _ = self.entries[tag]
        return _number(self.file, place + index * size, size or 4, self.order)

    def single(self, tag: int, default: int) -> int:
        if tag not in self.entries:
            return default
        return self.element(tag, 0)


def _tiff(file: bytes) -> np.ndarray:
    tags = _tiff_tags(file)
    width, height = tags.single(256, 0), tags.single(257, 0)
    samples, kind = tags.single(277, 1), tags.single(262, -1)
    depths = {tags.element(258, i) for i in range(min(tags.count(258), 4))} or {1}
    require(len(depths) == 1, Problem.COLOURS)
    (bits,) = depths
    require(bits <= 8, Problem.DEEP)
    require(bits == 8 or (bits in (1, 2, 4) and samples == 1), Problem.COLOURS)
    require(kind in (0, 1, 2, 3), Problem.COLOURS)
    require(samples in ((3, 4) if kind == 2 else (1, 2)), Problem.COLOURS)
    compression = tags.single(259, 1)
    require(compression in (1, 5, 8, 32946, 32773), Problem.COMPRESSION)
    require(not tags.single(322, 0), Problem.PARTS)
    require(tags.single(284, 1) == 1 or samples == 1, Problem.PARTS)
    predictor = tags.single(317, 1)
    require(predictor == 1 or (predictor == 2 and bits == 8), Problem.COMPRESSION)
    _require_size(height, width)
    stride = (width * samples * bits + 7) // 8
    rows = _rows(_tiff_strips(tags, height, stride, compression), height, stride)
    if predictor == 2:
        rows = np.stack([_running_sums(row, samples) for row in rows])
    pixels = _samples(rows, width, samples, bits)
    if samples > 2:
        return pixels[:, :, :3]
    palette = _greys((1 << bits) - 1)
    if kind == 0:
        palette = 255 - palette
    if kind == 3:
        entries = 1 << bits
        require(tags.count(320) >= 3 * entries and tags.size(320) == 2, Problem.DAMAGED)
        palette = _black_palette()
        colours = [tags.element(320, i) >> 8 for i in range(3 * entries)]
        palette[:entries] = np.array(colours, np.uint8).reshape(3, entries).T
    return np.asarray(palette[pixels[:, :, 0]])


def _tiff_tags(file: bytes) -> _Tags:
    tags = _Tags(file, "big" if file[:2] == b"MM" else "little")
    first = _number(file, 4, 4, tags.order)
    count = _number(file, first, 2, tags.order)
    require(first + 2 + 12 * count <= len(file), Problem.TRUNCATED)
    for i in range(count):
        at = first + 2 + 12 * i
        tag, kind = (_number(file, at + j, 2, tags.order) for j in (0, 2))
        many, size = _number(file, at + 4, 4, tags.order), {1: 1, 3: 2, 4: 4}.get(kind, 0)
        place = at + 8 if many * size <= 4 else _number(file, at + 8, 4, tags.order)
        tags.entries[tag] = place, size, many
    return tags


def _tiff_strips(tags: _Tags, height: int, stride: int, compression: int) -> bytes:
    rows = min(tags.single(278, 1 << 32), height)
    require(rows > 0, Problem.DAMAGED)
    strips = -(-height // rows)
    for tag in (273, 279):
        require(tags.count(tag) >= strips and tags.size(tag) >= 2, Problem.DAMAGED)
    found, seen = [], 0
    for number in range(strips):
        begin = tags.element(273, number)
        stored = tags.file[begin : begin + tags.element(279, number)]
        seen += len(stored)
        require(seen <= len(tags.file), Problem.DAMAGED)
        wanted = min(rows, height - number * rows) * stride
        match compression:
            case 1:
                expanded = stored[:wanted]
            case 5:
                expanded = _unfolded(stored, wanted)
            case 32773:
                expanded = _unpacked(stored, wanted)
            case _:
                expanded = _inflated(stored, wanted)
        require(len(expanded) >= wanted, Problem.TRUNCATED)
        found.append(expanded)
    return b"".join(found)


def _unpacked(stored: bytes, wanted: int) -> bytes:
    found, at = bytearray(), 0
    while len(found) < wanted and at < len(stored):
        code = stored[at]
        if code < 128:
            found += stored[at + 1 : at + 2 + code]
            at += 2 + code
        else:
            found += stored[at + 1 : at + 2] * (257 - code if code > 128 else 0)
            at += 2 if code > 128 else 1
    return bytes(found[:wanted])


def _unfolded(stored: bytes, wanted: int) -> bytes:
    """Codes of 9 to 12 bits for bytes that came before."""
    bits, found, at = int.from_bytes(stored, "big"), bytearray(), 0
    total, strings, before = 8 * len(stored), [b""] * 258, b""
    width = 9
    while len(found) < wanted and at + width <= total:
        at += width
        code = (bits >> (total - at)) & ((1 << width) - 1)
        if code == 256:
            strings, before, width = [b""] * 258, b"", 9
            continue
        if code == 257:
            break
        makes = before and len(strings) < 4096
        if code < 256:
            here = bytes((code,))
        elif code < len(strings):
            here = strings[code]
        else:
            require(bool(makes) and code == len(strings), Problem.DAMAGED)
            here = before + before[:1]
        if makes:
            strings.append(before + here[:1])
            if len(strings) >= (1 << width) - 1:
                width = min(width + 1, 12)
        found += here
        before = here
    return bytes(found[:wanted])
