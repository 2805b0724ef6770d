"""Compiles whole programs to object code."""

from __future__ import annotations

from typing import Final

from relay.cache.objects import key_of
from relay.program.native import NativeProgram
from relay.program.ownership import own
from relay.program.program import MAIN, Program
from relay.target.llvm.compile import Level, compile_module
from relay.target.llvm.program.translate import translate
from relay.target.llvm.target import LLVMTarget
from relay.target.target import Store

PROGRAM_LEVEL: Final[Level] = 3  # with inlining
# Longer text is a large model, which only calls kernels: inlining would double its compile time
# without making it faster.
LONG_PROGRAM: Final = 300_000
LONG_PROGRAM_LEVEL: Final[Level] = 2


def level_of(text: str) -> Level:
    """How much work the code of a program is worth."""
    return PROGRAM_LEVEL if len(text) < LONG_PROGRAM else LONG_PROGRAM_LEVEL


def compile_program(program: Program, target: LLVMTarget, store: Store) -> NativeProgram:
    """The object code of the functions of a program."""
    made = translate(own(program), target)
    level = level_of(made.ir)
    code = store.get_or_make(
        key_of([made.ir], target, level),
        lambda: compile_module([made.ir], target, opt=level, imports=made.imports),
    )
    return NativeProgram(code, made.entries[MAIN], made.sites, made.constants)
