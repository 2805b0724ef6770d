"""Blocks compressed by snappy: literals, and copies of what came before."""

from __future__ import annotations

from relay.frontend.tensorflow.wire import broken, varint


def decompressed(data: memoryview, most: int) -> bytes:
    """The content of a block of at most so many bytes."""
    size, place = varint(data, 0)
    if size > most:
        raise broken(f"a compressed block has {size} bytes, more than {most}")
    found = bytearray()
    while place < len(data):
        tag = data[place]
        place += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                length, place = _number(data, place, length - 59)
            length += 1
            if length > len(data) - place:
                raise broken("a compressed block ends inside of a literal")
            found += data[place : place + length]
            place += length
        else:
            if tag & 3 == 1:
                length, width, high = (tag >> 2 & 7) + 4, 1, tag >> 5 << 8
            else:
                length, width, high = (tag >> 2) + 1, 2 if tag & 3 == 2 else 4, 0
            distance, place = _number(data, place, width)
            distance += high
            if not 0 < distance <= len(found):
                raise broken("a compressed block copies what is not there")
            pattern = bytes(found[len(found) - distance :][:length])
            found += (pattern * (length // len(pattern) + 1))[:length]
        if len(found) > size:
            break
    if len(found) != size:
        raise broken("a compressed block has another size than it says")
    return bytes(found)


def _number(data: memoryview, place: int, width: int) -> tuple[int, int]:
    if width > len(data) - place:
        raise broken("a compressed block ends inside of a number")
    return int.from_bytes(data[place : place + width], "little"), place + width
