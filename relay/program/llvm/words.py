"""Values and the 8-byte words that hold them in memory.

    a tensor, data, a closure, a cell     ptr in a register, an object word in memory
    float32                               float, its bits in the low half of a word
    bool                                  i1, a word that is 0 or 1

In objects the object words come first, whatever the order of the fields:

    Node(int32, Tree, float32[?], bool)   ->   [Tree] [float32[?]] [int32] [bool]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relay.program.program import ScalarSpec, Spec
from relay.target.llvm.writer import bits, llvm_type


def value_type(spec: Spec) -> str:
    """The LLVM type of a register."""
    return llvm_type(spec.dtype) if isinstance(spec, ScalarSpec) else "ptr"


def word_type(spec: Spec) -> str:
    """The type at the beginning of a word that holds such a value."""
    found = value_type(spec)
    return "i8" if found == "i1" else found


def is_object(spec: Spec) -> bool:
    """Whether a word of that type is an object word."""
    return not isinstance(spec, ScalarSpec)


@dataclass(frozen=True)
class Arrangement:
    """Where the fields of an object lie: the word of each, and how many are object words."""

    positions: tuple[int, ...]
    objects: int

    @property
    def words(self) -> int:
        return len(self.positions)


def arrange(specs: Sequence[Spec]) -> Arrangement:
    """The words of fields of these types."""
    objects = [index for index, spec in enumerate(specs) if is_object(spec)]
    others = [index for index, spec in enumerate(specs) if not is_object(spec)]
    positions = [0] * len(specs)
    for position, index in enumerate((*objects, *others)):
        positions[index] = position
    return Arrangement(tuple(positions), len(objects))


def widening(type: str) -> str | None:
    """How a number becomes a word: the conversion to an integer, None when it is one."""
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
