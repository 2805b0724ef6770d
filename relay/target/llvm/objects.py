"""Reads object files: their architecture and undefined symbols.

Kernels are self-contained. LLVM may still lower an instruction that the processor lacks to a call
of a support library (float16 without F16C, a remainder of floats), which would be slow, not
reproducible, or not available; so every object is checked.
"""

from __future__ import annotations

import struct
from typing import Final

# the end of names that kernels give to the code of external compilers
EXTERNAL: Final = ".external"
# functions of every system that LLVM may call
MEMORY_FUNCTIONS: Final = frozenset({"memcpy", "memmove", "memset", "memcmp", "bcmp"})

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little endian
_HEADER: Final = struct.Struct("<40xQ10xHHH")  # offset, size and number of section headers
_SECTION: Final = struct.Struct("<4xI16xQQI12xQ")  # kind, offset, size, link, size of an entry
_SYMBOL: Final = struct.Struct("<IBxH16x")  # name, kind and binding, section
_SYMBOL_TABLE: Final = 2


_MACHINES: Final = {62: "x86_64", 183: "aarch64"}


def architecture(data: bytes) -> str | None:
    """The architecture of an ELF object; None for other formats and machines."""
    if not data.startswith(_MAGIC):
        return None
    return _MACHINES.get(int.from_bytes(data[18:20], "little"))


def undefined_symbols(data: bytes) -> frozenset[str]:
    """The undefined symbols of an ELF object; none for other formats."""
    if not data.startswith(_MAGIC):
        return frozenset()
    table, entry, count, _ = _HEADER.unpack_from(data)
    sections = [_SECTION.unpack_from(data, table + entry * i) for i in range(count)]
    found = set()
    for kind, offset, size, link, step in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][1]
        for position in range(offset + step, offset + size, step):  # the first entry is empty
            name, _, section = _SYMBOL.unpack_from(data, position)
            if section == 0:
                start = names + name
                found.add(data[start : data.index(b"\0", start)].decode())
    return frozenset(found - {"_GLOBAL_OFFSET_TABLE_"})
