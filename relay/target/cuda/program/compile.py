"""Compiles whole programs, and the runtime they call, to object code of the host."""

from __future__ import annotations

from typing import Final

from relay.cache.objects import key_of
from relay.native import objects
from relay.native.runtime import portable
from relay.program.native import NativeProgram
from relay.program.ownership import own
from relay.program.program import MAIN, Program
from relay.target.cuda.program import runtime
from relay.target.cuda.program.stubs import Stubs, is_on_device
from relay.target.llvm.compile import compile_module
from relay.target.llvm.program.compile import level_of
from relay.target.llvm.program.translate import translate
from relay.target.llvm.target import LLVMTarget
from relay.target.target import Store

RUNTIME: Final = "cuda_runtime.o"


def compile_program(program: Program, store: Store) -> NativeProgram:
    """The object code of the functions of a program."""
    target = LLVMTarget.here()
    made = translate(own(program, frames=False), target, device=Stubs(program.kernels))
    level = level_of(made.ir)
    on_host = [name for name in made.kernels if not _is_on_device(program, name)]
    imports = (*on_host, *objects.PROGRAM_IMPORTS, *runtime.PROGRAM_IMPORTS)
    code = store.get_or_make(
        key_of([made.ir], target, level),
        lambda: compile_module([made.ir], target, opt=level, imports=imports),
    )
    return NativeProgram(code, made.entries[MAIN], made.sites, made.constants)


def _is_on_device(program: Program, name: str) -> bool:
    known = program.kernel_table.get(name)
    return known is not None and is_on_device(known)


def runtime_object(store: Store | None = None) -> bytes:
    """The object code of the runtime."""
    target, text = portable(LLVMTarget.here()), runtime.text()

    def make() -> bytes:
        return compile_module([text], target)

    return make() if store is None else store.get_or_make(key_of([text], target), make)
