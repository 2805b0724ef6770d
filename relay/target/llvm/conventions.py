"""Texts of kernels and of the runtime in the conventions of a machine, where these are others than
on x86-64 and AArch64.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from relay.target.llvm.narrow_pointers import narrowed, with_system
from relay.target.llvm.target import LLVMTarget

_HEAD: Final = re.compile(r'^(define|declare)([^@\n]*)(@[\w.]+|@"[^"]*")\(([^)]*)\)', re.MULTILINE)


_ATOMIC: Final = re.compile(
    r"\b(load|store) atomic ([^\n]*?) (?:monotonic|acquire|release|seq_cst)\b"
)


def machine_texts(texts: Sequence[str], target: LLVMTarget) -> list[str]:
    """The same texts, for this target."""
    made = list(texts)
    if target.pointer_bits == 32:
        made = with_system([narrowed(text) for text in made])
    if target.is_bare:  # one thread
        made = [_ATOMIC.sub(r"\1 \2", text) for text in made]
    if target.arch not in ("x86_64", "aarch64"):  # the only ones that can preserve registers
        made = [text.replace("preserve_mostcc ", "") for text in made]
    if target.arch == "riscv64":
        made = [_extended(text) for text in made]
    return made


def _extended(text: str) -> str:
    """Heads of functions whose numbers of 32 bits are extended, as C expects them in registers."""

    def head(found: re.Match[str]) -> str:
        what, result, name, parameters = found.groups()
        result = re.sub(r"\bi32 $", "signext i32 ", result)
        extended = re.sub(r"\bi32\b", "i32 signext", parameters)
        return f"{what}{result}{name}({extended})"

    return _HEAD.sub(head, text)
