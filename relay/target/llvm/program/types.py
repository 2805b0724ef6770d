"""The types of LLVM that registers have, and the 8-byte words that hold them in memory.

a tensor, data, a closure, a cell     ptr in a register, an object word in memory
float32                               float, its bits in the low half of a word
bool                                  i1, a word that is 0 or 1
"""

from __future__ import annotations

import re

from relay.program.program import ScalarSpec, Spec
from relay.target.llvm.writer import bits, llvm_type


def value_type(spec: Spec) -> str:
    """The LLVM type of a register."""
    return llvm_type(spec.dtype) if isinstance(spec, ScalarSpec) else "ptr"


def word_type(spec: Spec) -> str:
    """The type at the beginning of a word that holds such a value."""
    found = value_type(spec)
    return "i8" if found == "i1" else found


def widening(type: str) -> str | None:
    """The integer with the bits of a float; None for what is none."""
    return {"float": "i32", "double": "i64"}.get(type)


def needs_extension(type: str) -> bool:
    """Whether a word is wider than the value."""
    return type != "ptr" and bits(type) < 64


_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")


def symbol(name: str) -> str:
    """`@name`, as LLVM reads it."""
    if _PLAIN.fullmatch(name):
        return f"@{name}"
    quoted = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in name.encode()
    )
    return f'@"{quoted}"'
