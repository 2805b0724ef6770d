"""Reads object files: their architecture and undefined symbols.

Kernels are self-contained. LLVM may still lower an instruction that the processor lacks to a call
of a support library (float16 without F16C, a remainder of floats), which would be slow, not
reproducible, or not available; so every object is checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from relay.immutable import frozen
from relay.target.llvm.architectures import FACTS

# the end of names that kernels give to the code of external compilers
EXTERNAL: Final = ".external"
# functions that every compiler for 32-bit ARM brings along: integers of 64 bits, floats
BUILTIN: Final = "__aeabi_"
# functions of every system that LLVM may call
MEMORY_FUNCTIONS: Final = frozenset({"memcpy", "memmove", "memset", "memcmp", "bcmp"})

_MAGIC: Final = b"\x7fELF"
_SYMBOL_TABLE: Final = 2
_WRITABLE, _ALLOCATED, _RUNS = 1, 2, 4  # flags of sections


@frozen
class _Layout:
    """Where the parts of an ELF file are, which depends on the width of addresses."""

    header: struct.Struct  # offset, size and number of section headers
    section: struct.Struct  # kind, offset, size, link, size of an entry
    symbol: struct.Struct  # name, section


_LAYOUTS: Final = {  # both little endian
    1: _Layout(
        struct.Struct("<32xI10xHH"),
        struct.Struct("<4xI8xIII8xI"),
        struct.Struct("<I10xH"),
    ),
    2: _Layout(
        struct.Struct("<40xQ10xHH"),
        struct.Struct("<4xI16xQQI12xQ"),
        struct.Struct("<I2xH16x"),
    ),
}


def architecture(data: bytes) -> str | None:
    """The architecture of an ELF object; None for other formats and machines."""
    if not data.startswith(_MAGIC):
        return None
    machine = int.from_bytes(data[18:20], "little")
    found = [arch for arch, facts in FACTS.items() if facts.elf == machine]
    return found[0] if found else None


def undefined_symbols(data: bytes) -> frozenset[str]:
    """The undefined symbols of an ELF object, or the functions that a WebAssembly object imports;
    none for other formats."""
    if data.startswith(_WASM):
        return frozenset(_imports(data))
    layout = _LAYOUTS.get(data[4]) if data.startswith(_MAGIC) else None
    if layout is None:
        return frozenset()
    table, entry, count = layout.header.unpack_from(data)
    sections = [layout.section.unpack_from(data, table + entry * i) for i in range(count)]
    found = set()
    for kind, offset, size, link, step in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][1]
        for position in range(offset + step, offset + size, step):  # the first entry is empty
            name, section = layout.symbol.unpack_from(data, position)
            if section == 0:
                start = names + name
                found.add(data[start : data.index(b"\0", start)].decode())
    return frozenset(found - {"_GLOBAL_OFFSET_TABLE_"})


@frozen
class SectionSizes:
    """How many bytes an object file takes in memory."""

    code: int
    constants: int
    written: int  # variables


def section_sizes(data: bytes) -> SectionSizes:
    """The sizes of an ELF object; zeros for other formats."""
    layout = _LAYOUTS.get(data[4]) if data.startswith(_MAGIC) else None
    found = {"code": 0, "constants": 0, "written": 0}
    if layout is None:
        return SectionSizes(**found)
    table, entry, count = layout.header.unpack_from(data)
    narrow = data[4] == 1
    for i in range(count):
        start = table + entry * i
        flags = int.from_bytes(data[start + 8 : start + (12 if narrow else 16)], "little")
        size = layout.section.unpack_from(data, start)[2]
        if flags & _ALLOCATED:
            kind = "written" if flags & _WRITABLE else "code" if flags & _RUNS else "constants"
            found[kind] += size
    return SectionSizes(**found)


# --- WebAssembly ---------------------------------------------------------------------------------

_WASM: Final = b"\0asm"
_IMPORTS: Final = 2  # the section
_LIMITS: Final = (1, 2)  # kinds that have them: tables, memories


def _imports(data: bytes) -> Iterator[str]:
    """The names of imported functions."""
    at = 8
    while at < len(data):
        section = data[at]
        size, at = _number(data, at + 1)
        if section == _IMPORTS:
            yield from _functions(data, at)
            return
        at += size


def _functions(data: bytes, at: int) -> Iterator[str]:
    count, at = _number(data, at)
    for _ in range(count):
        _, at = _name(data, at)  # the module
        name, at = _name(data, at)
        kind = data[at]
        if kind == 0:
            yield name
            _, at = _number(data, at + 1)
        elif kind in _LIMITS:
            at += 1 + (kind == 1)  # a table has a type
            flags, at = _number(data, at)
            for _ in range(1 + (flags & 1)):
                _, at = _number(data, at)
        else:  # a global: its type, and whether it changes
            at += 3


def _number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of seven bits per byte, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _name(data: bytes, at: int) -> tuple[str, int]:
    size, at = _number(data, at)
    return data[at : at + size].decode(), at + size
