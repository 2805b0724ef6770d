"""JPEG in Python, for the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from relay.op.image.pictures.header import MOST_PIXELS
from relay.op.image.pictures.problem import Problem, refused, require


@dataclass
class _Component:
    name: int
    across: int
    down: int
    divisors: int
    coefficients: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (rows, columns, 64)
    done: bool = False


@dataclass
class _Frame:
    height: int
    width: int
    components: list[_Component]

    @property
    def across(self) -> int:
        return max(one.across for one in self.components)

    @property
    def down(self) -> int:
        return max(one.down for one in self.components)

    def size(self, one: _Component) -> tuple[int, int]:
        """The samples of a component that are those of pixels."""
        height = -(-self.height * one.down // self.down)
        return height, -(-self.width * one.across // self.across)


def decode(file: bytes) -> np.ndarray:
    """Red, green and blue of every pixel."""
    frame, divisors = _frame(file), np.zeros((4, 64), np.int64)
    codes: dict[int, Codes] = {}
    at, seen, interval, as_colours = 2, 0, 0, True
    while seen < len(frame.components):
        marker, at = _next_marker(file, at)
        length = int.from_bytes(file[at : at + 2], "big")
        require(marker > 0 and marker != 0xD9 and at + length <= len(file), Problem.TRUNCATED)
        if 0xD0 <= marker < 0xD9:
            continue
        segment = file[at + 2 : at + length]
        at = max(at + length, at)
        match marker:
            case 0xC4:
                _read_codes(segment, codes)
            case 0xDB:
                _read_divisors(segment, divisors)
            case 0xDD:
                interval = int.from_bytes(segment[:2], "big")
            case 0xEE if segment[:5] == b"Adobe" and length >= 14:
                as_colours = segment[11] != 0
            case 0xDA:
                count, at = _read_scan(file, at, segment, frame, codes, interval)
                seen += count
    planes = [_spread(frame, one, _samples(one, divisors)) for one in frame.components]
    pixels = np.stack(planes, -1)
    if len(planes) == 1:
        return np.repeat(pixels, 3, 2).astype(np.uint8)
    if as_colours and [one.name for one in frame.components] != [ord(c) for c in "RGB"]:
        light, blue, red = pixels[..., 0], pixels[..., 1] - 128, pixels[..., 2] - 128
        half = 1 << 15
        each = (
            light + ((red * 91881 + half) >> 16),
            light + ((blue * -22554 - red * 46802 + half) >> 16),
            light + ((blue * 116130 + half) >> 16),
        )
        pixels = np.stack(each, -1).clip(0, 255)
    return pixels.astype(np.uint8)


def _next_marker(file: bytes, at: int) -> tuple[int, int]:
    """The next marker, and where what follows it begins; 0 at the end."""
    while at < len(file):
        if file[at] == 255 and at + 1 < len(file) and 0 < file[at + 1] < 255:
            return file[at + 1], at + 2
        at += 1
    return 0, at


def _frame(file: bytes) -> _Frame:
    at = 2
    while True:
        marker, at = _next_marker(file, at)
        require(marker > 0 and at + 8 <= len(file), Problem.TRUNCATED)
        require(marker not in (0xD9, 0xDA), Problem.DAMAGED)
        require(marker != 0xC2, Problem.PROGRESSIVE)
        is_frame = 0xC0 <= marker < 0xD0 and marker not in (0xC4, 0xC8, 0xCC)
        require(not is_frame or marker < 0xC2, Problem.COMPRESSION)
        length = int.from_bytes(file[at : at + 2], "big")
        if is_frame:
            break
        at += length
    bits, count = file[at + 2], file[at + 7]
    require(bits == 8, Problem.DEEP)
    require(count in (1, 3), Problem.COLOURS)
    require(length >= 8 + 3 * count, Problem.DAMAGED)
    height, width = (int.from_bytes(file[at + i : at + i + 2], "big") for i in (3, 5))
    require(height > 0 and width > 0 and height * width <= MOST_PIXELS, Problem.SIZE)
    told = file[at + 8 : at + 8 + 3 * count].ljust(3 * count, b"\0")
    parts = [told[3 * i : 3 * i + 3] for i in range(count)]
    components = [_Component(name, sizes >> 4, sizes & 15, q & 3) for name, sizes, q in parts]
    good = all(1 <= one.across <= 4 and 1 <= one.down <= 4 for one in components)
    require(good, Problem.DAMAGED)
    frame = _Frame(height, width, components)
    for one in components:
        whole = frame.across % one.across == 0 and frame.down % one.down == 0
        require(whole, Problem.COLOURS)
        rows = -(-height // (8 * frame.down)) * one.down
        columns = -(-width // (8 * frame.across)) * one.across
        one.coefficients = np.zeros((rows, columns, 64), np.int64)
    return frame


Codes = dict[tuple[int, int], int]  # (length, code) -> what it stands for


def _read_codes(segment: bytes, codes: dict[int, Codes]) -> None:
    at = 0
    while at < len(segment):
        kind = segment[at]
        require(kind & 15 < 4 and kind < 32, Problem.DAMAGED)
        counts = segment[at + 1 : at + 17]
        require(at + 17 + sum(counts) <= len(segment), Problem.DAMAGED)
        code, table = 0, Codes()
        at += 17
        for length, count in enumerate(counts, 1):
            require(code + count <= 1 << length and len(table) + count <= 256, Problem.DAMAGED)
            for _ in range(count):
                table[length, code] = segment[at]
                code, at = code + 1, at + 1
            code *= 2
        codes[(kind >> 4) * 4 + (kind & 3)] = table


def _read_divisors(segment: bytes, divisors: np.ndarray) -> None:
    at = 0
    while at < len(segment):
        kind = segment[at]
        require(kind & 15 < 4 and kind < 32, Problem.DAMAGED)
        size = (kind >> 4) + 1
        numbers = segment[at + 1 : at + 1 + 64 * size]
        require(len(numbers) == 64 * size, Problem.DAMAGED)
        divisors[kind & 3] = np.frombuffer(numbers, f">u{size}")
        at += 1 + 64 * size


# --- scans


class _Bits:
    """The bits up to the next marker."""

    def __init__(self, file: bytes, at: int) -> None:
        end = at
        while end < len(file) and not (file[end] == 255 and file[end + 1 : end + 2] > b"\0"):
            end += 2 if file[end] == 255 else 1
        self.end = end
        self.data = file[at:end].replace(b"\xff\0", b"\xff")
        self.at = 0

    def take(self, count: int) -> int:
        end = self.at + count
        require(end <= 8 * len(self.data), Problem.TRUNCATED)
        part = int.from_bytes(self.data[self.at >> 3 : (end + 7) >> 3], "big")
        self.at = end
        return (part >> (-end % 8)) & ((1 << count) - 1)

    def code(self, table: Codes) -> int:
        code = 0
        for length in range(1, 17):
            code = code * 2 + self.take(1)
            if (length, code) in table:
                return table[length, code]
        raise refused(Problem.DAMAGED)

    def signed(self, size: int) -> int:
        value = self.take(size)
        return value - (1 << size) + 1 if size and value < 1 << (size - 1) else value


def _read_scan(
    file: bytes, at: int, head: bytes, frame: _Frame, codes: dict[int, Codes], interval: int
) -> tuple[int, int]:
    """How many components were read, and where the scan ends."""
    count = head[0] if head else 0
    require(1 <= count <= len(frame.components), Problem.DAMAGED)
    require(len(head) >= 4 + 2 * count, Problem.DAMAGED)
    chosen = []
    for i in range(count):
        name, tables = head[1 + 2 * i : 3 + 2 * i]
        named = [one for one in frame.components if one.name == name]
        require(bool(named) and not named[-1].done, Problem.DAMAGED)
        named[-1].done = True
        first, others = (codes.get(t, {}) for t in ((tables >> 4) & 3, 4 + (tables & 3)))
        chosen.append((named[-1], first, others))
    rows, columns = -(-frame.height // (8 * frame.down)), -(-frame.width // (8 * frame.across))
    if count == 1:
        rows, columns = (-(-n // 8) for n in frame.size(chosen[0][0]))
    bits, last = _Bits(file, at), [0] * count
    for number, (y, x) in enumerate(product(range(rows), range(columns))):
        if interval and number and number % interval == 0:
            marker = file[bits.end : bits.end + 2]
            good = len(marker) == 2 and marker[1] & 0xF8 == 0xD0
            require(good and bits.at > 8 * len(bits.data) - 8, Problem.DAMAGED)
            bits, last = _Bits(file, bits.end + 2), [0] * count
        for i, (one, first, others) in enumerate(chosen):
            high, wide = (one.down, one.across) if count > 1 else (1, 1)
            for j, k in product(range(high), range(wide)):
                block = one.coefficients[y * high + j, x * wide + k]
                last[i] = _read_block(bits, block, first, others, last[i])
    return count, bits.end


def _read_block(bits: _Bits, block: np.ndarray, first: Codes, others: Codes, last: int) -> int:
    block[:] = 0
    block[0] = last = last + bits.signed(bits.code(first) & 15)
    place = 1
    while place < 64:
        code = bits.code(others)
        zeros, size = code >> 4, code & 15
        if not size and zeros < 15:
            break
        place += zeros
        require(place < 64, Problem.DAMAGED)
        block[place] = bits.signed(size)
        place += 1
    return last


# --- samples


def _zigzag() -> list[int]:
    """Where coefficients belong: along the diagonals of a block, to and fro."""
    places = product(range(8), range(8))

    def rank(place: tuple[int, int]) -> tuple[int, int]:
        diagonal = sum(place)
        return diagonal, place[0] if diagonal % 2 else place[1]

    return [8 * row + column for row, column in sorted(places, key=rank)]


def _samples(one: _Component, divisors: np.ndarray) -> np.ndarray:
    """The plane of a component."""
    rows, columns, _ = one.coefficients.shape
    ordered = np.zeros((rows, columns, 64), np.int32)  # what is too large wraps around
    scaled = one.coefficients * divisors[one.divisors]
    ordered[:, :, _zigzag()] = scaled.astype(np.int32)
    given = ordered.reshape(rows, columns, 8, 8)
    lines = _eight([given[:, :, i, :] for i in range(8)], 11)
    blocks = np.stack(lines, 2)
    lines = _eight([blocks[:, :, :, i] for i in range(8)], 18)
    blocks = (np.stack(lines, 3) + 128).clip(0, 255)
    return blocks.transpose(0, 2, 1, 3).reshape(rows * 8, columns * 8).astype(np.int64)


def _eight(x: Sequence[np.ndarray], shift: int) -> list[np.ndarray]:
    """The inverse cosine transform in whole numbers, as libjpeg has it."""
    z = (x[2] + x[6]) * 4433
    low, high = z - x[6] * 15137, z + x[2] * 6270
    a, b = (x[0] + x[4]) << 13, (x[0] - x[4]) << 13
    even = [a + high, b + low, b - low, a - high]
    z1, z2, z3, z4 = x[7] + x[1], x[5] + x[3], x[7] + x[3], x[5] + x[1]
    z5 = (z3 + z4) * 9633
    z1, z2, z3, z4 = z1 * -7373, z2 * -20995, z3 * -16069 + z5, z4 * -3196 + z5
    odd = [
        x[1] * 12299 + z1 + z4,
        x[3] * 25172 + z2 + z3,
        x[5] * 16819 + z2 + z4,
        x[7] * 2446 + z1 + z3,
    ]
    half = 1 << (shift - 1)
    upper = [(e + o + half) >> shift for e, o in zip(even, odd, strict=True)]
    lower = [(e - o + half) >> shift for e, o in zip(even, odd, strict=True)]
    return [*upper, *reversed(lower)]


def _spread(frame: _Frame, one: _Component, plane: np.ndarray) -> np.ndarray:
    """A sample for every pixel; those between two are mixed."""
    height, width = frame.size(one)
    plane = plane[:height, :width]
    down, across = frame.down // one.down, frame.across // one.across
    is_wide = width > 2
    if (down, across) == (2, 2) and is_wide:
        tall = _mixed(plane, 0)
        both = _mixed(tall, 1)
        found = (both + np.array([8, 7] * width)) >> 4
    elif (down, across) == (1, 2) and is_wide:
        found = (_mixed(plane, 1) + np.array([1, 2] * width)) >> 2
    elif (down, across) == (2, 1):
        found = (_mixed(plane, 0) + np.array([1, 2] * height)[:, None]) >> 2
    else:
        found = plane.repeat(down, 0).repeat(across, 1)
    return np.asarray(found[: frame.height, : frame.width])


def _mixed(plane: np.ndarray, axis: int) -> np.ndarray:
    """Twice as many along an axis: three parts of the nearest one, and one of the next."""
    widths = [(1, 1) if i == axis else (0, 0) for i in range(2)]
    padded = np.pad(plane, widths, "edge")
    count = plane.shape[axis]
    before, after = (padded.take(range(i, i + count), axis) for i in (0, 2))
    pairs = np.stack([plane * 3 + before, plane * 3 + after], axis + 1)
    shape = list(plane.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)
