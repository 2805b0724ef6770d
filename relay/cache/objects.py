"""Object code by the text it is compiled from.

A key is a digest of everything the code depends on: the text, the target, the compiler.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import relay
from relay.cache.store import Cache
from relay.native.runtime import Runtime, portable, runtime, runtime_object, runtime_texts
from relay.program.native import NativeProgram
from relay.program.program import MAIN, Program
from relay.target.llvm.target import LLVMTarget
from relay.target.target import Target

if TYPE_CHECKING:
    from relay.native.call import ProgramRuntime
    from relay.target.llvm.compile import Level

log = logging.getLogger("relay")

PROGRAM_LEVEL: Level = 3  # of LLVM: small functions are inlined
# A program of more text calls kernel after kernel: inlining takes twice as long, and gains nothing.
LONG_PROGRAM: Final = 300_000
LONG_PROGRAM_LEVEL: Level = 2


def key_of(texts: Sequence[str], target: Target, level: int | None = None) -> str:
    """The name of the code these texts compile to: a digest of all it depends on."""
    made = hashlib.sha256()
    compiler = (relay.__version__, target.version, str(level))
    for part in (*compiler, str(target), *texts):
        data = part.encode()
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.hexdigest()


def compile_cached(modules: Sequence[Sequence[str]], target: Target, cache: Cache) -> list[bytes]:
    """The code of each of `modules`, lists of texts; compiled where the cache does not have it."""
    keys = [key_of(texts, target) for texts in modules]
    found = {key: data for key in dict.fromkeys(keys) if (data := cache.get(key)) is not None}
    missing = {key: texts for key, texts in zip(keys, modules, strict=True) if key not in found}
    if missing:
        log.info(
            "%d of %d kernels are new to %s",
            len(missing),
            len(set(keys)),
            f"the cache in {cache.path}" if cache.path is not None else "this process",
        )
        compiled = target.compile(["\n".join(texts) for texts in missing.values()])
        for key, data in zip(missing, compiled, strict=True):
            cache.put(key, data)
            found[key] = data
    return [found[key] for key in keys]


def cached_program(program: Program, target: Target, cache: Cache) -> NativeProgram:
    """The code of the functions of a whole program."""
    from relay.program.llvm.translate import translate  # not for straight-line code
    from relay.program.ownership import own
    from relay.target.llvm.compile import compile_module

    assert isinstance(target, LLVMTarget)
    made = translate(own(program), target)
    level: Level = PROGRAM_LEVEL if len(made.ir) < LONG_PROGRAM else LONG_PROGRAM_LEVEL
    code = cache.get_or_make(
        key_of([made.ir], target, level),
        lambda: compile_module([made.ir], target, opt=level, imports=made.imports),
    )
    cached_program_runtime(cache)
    return NativeProgram(code, made.entries[MAIN], made.sites, made.constants)


def cached_runtime(cache: Cache) -> Runtime:
    """The native runtime of this process, its code from the cache where that has it."""
    target = portable(LLVMTarget.here())
    key = key_of(runtime_texts(target), target)
    return runtime(cache.get_or_make(key, lambda: runtime_object(target)))


def cached_program_runtime(cache: Cache) -> ProgramRuntime:
    """The same for the runtime of programs with functions of their own."""
    from relay.native.call import program_runtime, program_runtime_object, program_runtime_text

    target = portable(LLVMTarget.here())
    key = key_of([program_runtime_text(target)], target)
    return program_runtime(cache.get_or_make(key, lambda: program_runtime_object(target)))
