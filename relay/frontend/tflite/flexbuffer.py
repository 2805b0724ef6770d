"""Options of custom operators: a map of names to numbers in a FlexBuffer.

Its end says where the map is and how wide its offsets are; every access is checked. A map is a
vector of values behind a vector of names, in front of which its size stands.
"""

from __future__ import annotations

import struct

from relay.errors import FrontendError

MOST = 256  # entries of a map
LONGEST = 256  # bytes of a name: entries may share theirs, so that a file of any size is read often
MAP = 9
_WHOLE, _NATURAL, _FLOAT, _BOOL = 1, 2, 3, 26
_BEHIND = 5  # added to the kind of a number that stands elsewhere
_LETTERS = {
    _WHOLE: {1: "b", 2: "h", 4: "i", 8: "q"},
    _NATURAL: {1: "B", 2: "H", 4: "I", 8: "Q"},
    _FLOAT: {2: "e", 4: "f", 8: "d"},
}


def numbers_of(data: bytes) -> dict[str, int | float | bool]:
    """The numbers and truth values of a map; other values are left out."""
    try:
        return _map(data)
    except (struct.error, LookupError, ValueError):
        raise FrontendError.of("the model is broken: options of a custom operator") from None


def _number(data: bytes, place: int, width: int, kind: int = _NATURAL) -> int | float:
    if place < 0:
        raise ValueError(place)
    found: int | float = struct.unpack_from(f"<{_LETTERS[kind][width]}", data, place)[0]
    return found


def _offset(data: bytes, place: int, width: int) -> int:
    """Where an offset, which counts backwards, leads."""
    return place - int(_number(data, place, width))


def _map(data: bytes) -> dict[str, int | float | bool]:
    width, kind = data[-1], data[-2]
    if kind >> 2 != MAP:
        raise ValueError(kind)
    root = _offset(data, len(data) - 2 - width, width)
    wide = 1 << (kind & 3)
    count = int(_number(data, root - wide, wide))
    names = _offset(data, root - 3 * wide, wide)
    narrow = int(_number(data, root - 2 * wide, wide))
    if count > MOST or narrow not in (1, 2, 4, 8):
        raise ValueError(count)
    found: dict[str, int | float | bool] = {}
    for number in range(count):
        begin = _offset(data, names + number * narrow, narrow)
        if begin < 0:
            raise ValueError(begin)
        name = data[begin : data.index(0, begin, begin + LONGEST + 1)].decode()
        packed = data[root + count * wide + number]
        own, place, own_width = packed >> 2, root + number * wide, wide
        if own - _BEHIND in _LETTERS:
            own, place, own_width = own - _BEHIND, _offset(data, place, wide), 1 << (packed & 3)
        if own == _BOOL:
            found[name] = bool(_number(data, place, wide))
        elif own in _LETTERS:
            found[name] = _number(data, place, own_width, own)
    return found
