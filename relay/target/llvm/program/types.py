"""The LLVM types of registers, and of the 8-byte words that hold them in memory.

a tensor, data, a closure, a cell     ptr in a register, an object word in memory
float32                               float, its bits in the low half of a word
bool                                  i1, a word that is 0 or 1
"""

from __future__ import annotations

import re

from relay.program.program import ScalarSpec, Spec
from relay.target.llvm.writer import bits, escaped, llvm_type


def value_type(spec: Spec) -> str:
    """The LLVM type of a register."""
    return llvm_type(spec.dtype) if isinstance(spec, ScalarSpec) else "ptr"


def word_type(spec: Spec) -> str:
    """The LLVM type of the low bytes of a word with such a value."""
    found = value_type(spec)
    return "i8" if found == "i1" else found


def widening(type: str) -> str | None:
    """The integer type of the size of a float type; None for other types."""
    return {"float": "i32", "double": "i64"}.get(type)


def needs_extension(type: str) -> bool:
    """Whether a value is narrower than a word."""
    return type != "ptr" and bits(type) < 64


_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")


def symbol(name: str) -> str:
    """`@name`, quoted if necessary."""
    if _PLAIN.fullmatch(name):
        return f"@{name}"
    return f'@"{escaped(name.encode())}"'
