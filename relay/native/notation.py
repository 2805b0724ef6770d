"""The notation of the runtime's code: LLVM IR with memory operands and compare-and-branch.

    %limit = load i64, ptr %context[$limit]            the field at a byte offset
    store i64 %count, ptr %request[i64 3]              element 3 of an array of i64
    br eq ptr %chunk, null, label %done, label %drop

A pointer operand `ptr base[offset]` or `ptr base[type index]` stands for the result of a
`getelementptr` before the instruction, `br predicate type left, right` for an `icmp` and a `br`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from string import Template
from typing import Final

_INSTRUCTION: Final = re.compile(r"^  \S.*(?:\n    .*)*", re.MULTILINE)
_OPERAND: Final = re.compile(r"ptr ([%@][\w.]+)\[(?:(\w+) )?([^\]]+)\]")
_BRANCH: Final = re.compile(r"  br (?!i1 )(\w+ \w+ \S+, \S+), (label .+)")
_SYSTEM: Final = re.compile(r"^declare .*@((?!llvm\.|relay_)\w+)\(", re.MULTILINE)


def assemble(text: str, names: Mapping[str, object]) -> str:
    """LLVM IR for `text`, whose `$name`s stand for `names`."""
    numbers = count()

    def expand(instruction: re.Match[str]) -> str:
        lines = []

        def define(value: str) -> str:
            name = f"%.{next(numbers)}"
            lines.append(f"  {name} = {value}")
            return name

        def operand(found: re.Match[str]) -> str:
            base, kind, index = found.groups(default="i8")
            return f"ptr {define(f'getelementptr {kind}, ptr {base}, i64 {index}')}"

        code = _OPERAND.sub(operand, instruction[0])
        if (branch := _BRANCH.fullmatch(code)) is not None:
            code = f"  br i1 {define(f'icmp {branch[1]}')}, {branch[2]}"
        return "\n".join([*lines, code])

    return _INSTRUCTION.sub(expand, Template(text).substitute(names))


def system_functions(text: str) -> frozenset[str]:
    """The functions that the code declares and neither LLVM nor the runtime defines."""
    return frozenset(_SYSTEM.findall(text))
