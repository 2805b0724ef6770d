"""Compiles LLVM IR to object code.

    compile_module([text, …], target)       one object file, as bytes
    compile_many([[text, …], …], target)    several, by several processes when that is worth it
    assembly([text, …], target)             the assembly, to read and to count

A text is a complete LLVM module without a target; intrinsics need no declarations. Texts of one
object define different symbols, apart from `internal` ones.

Kernels are already vectorized, unrolled and tiled, so no pass here does that. Level 1 promotes
local memory to registers, which is enough for kernels with a schedule of their own; level 2 also
eliminates redundant computations and loads, for a third more of compile time; level 3 inlines, for
the many small functions of programs.

Compilation is deterministic: the same texts, target and level give the same bytes on every machine.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

from relay import settings
from relay.errors import TargetError
from relay.target.llvm.machine import target_machine
from relay.target.llvm.objects import (
    BUILTIN,
    EXTERNAL,
    MEMORY_FUNCTIONS,
    undefined_symbols,
)
from relay.target.llvm.target import LLVMTarget
from relay.target.llvm.worker import CompileWorker

log = logging.getLogger("relay")

# Part of every cache key: raise it whenever the same texts compile to something else.
COMPILER_VERSION: Final = 2

# 0: no passes; 1: memory to registers; 2: function simplification; 3: with inlining
Level = Literal[0, 1, 2, 3]
DEFAULT_LEVEL: Final = 2
_REGISTERS: Final = ("sroa", "simplify_cfg")


def llvm_version() -> str:
    """The versions of LLVM and llvmlite."""
    import llvmlite
    from llvmlite import binding

    return f"{'.'.join(map(str, binding.llvm_version_info))} ({llvmlite.__version__})"


def compile_module(
    texts: Sequence[str],
    target: LLVMTarget,
    *,
    opt: Level = DEFAULT_LEVEL,
    imports: Collection[str] = (),
    exports: Collection[str] | None = None,
    noinline: Collection[str] = (),
) -> bytes:
    """One position-independent object file with the functions of all texts.

    `imports` are the external functions the code may call; any other is an error. `exports` are the
    visible functions; None for all. Functions in `noinline` are not inlined, so that recursive
    callers do not have their memory on the stack.
    """
    with _optimized(texts, target, opt, exports, noinline) as (machine, module):
        data: bytes = machine.emit_object(module)
    missing = undefined_symbols(data) - MEMORY_FUNCTIONS - frozenset(imports)
    # the code of external compilers is known when the kernel that calls it is loaded
    foreign = (EXTERNAL, *((BUILTIN,) if target.arch in ("arm", "cortex_m") else ()))
    if unknown := {name for name in missing if not any(part in name for part in foreign)}:
        raise TargetError.of(
            "the code calls functions that are not part of it",
            expected=f"instructions of {target}",
            found=", ".join(sorted(unknown)),
        )
    return data


def assembly(texts: Sequence[str], target: LLVMTarget, *, opt: Level = DEFAULT_LEVEL) -> str:
    """The assembly of all texts."""
    with _optimized(texts, target, opt) as (machine, module):
        text: str = machine.emit_assembly(module)
    return text


@contextmanager
def _optimized(
    texts: Sequence[str],
    target: LLVMTarget,
    opt: Level,
    exports: Collection[str] | None = None,
    noinline: Collection[str] = (),
) -> Iterator[tuple[Any, Any]]:
    """The target machine and the optimized module of all texts, until the end of the block."""
    from llvmlite import binding

    from relay.target.llvm.conventions import machine_texts  # not loaded where all is cached

    machine = target_machine(target)
    # Names in a shared context would depend on what was compiled before. A context must outlive its
    # modules, which the garbage collector does not know; so both are closed here.
    with binding.create_context() as context, binding.parse_assembly("", context) as module:
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        try:
            for text in machine_texts(texts, target):
                with binding.parse_assembly(text, context) as part:
                    part.triple = module.triple
                    part.data_layout = module.data_layout
                    module.link_in(part)
            if exports is not None:
                _hide(module, exports)
            for name in noinline:
                module.get_function(name).add_function_attribute("noinline")
            module.verify()
        except RuntimeError as error:
            message = "LLVM does not take the code made for a kernel"
            raise TargetError.of(message, found=str(error).strip()) from None
        _simplify(module, machine, opt)
        yield machine, module


def _hide(module: Any, exports: Collection[str]) -> None:
    """Make everything internal that is not exported."""
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in exports:
            symbol.linkage = "internal"


def _simplify(module: Any, machine: Any, opt: Level) -> None:
    from llvmlite import binding

    if opt == 0:
        return
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    builder = binding.create_pass_builder(machine, options)
    if opt == 1:
        passes = binding.create_new_module_pass_manager()
        for name in _REGISTERS:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, builder)
        return
    if opt == 3:
        builder.getModulePassManager().run(module, builder)
        return
    simplification = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplification.run(function, builder)


# --- several modules ---------------------------------------------------------------------------

# Starting a process takes about as long as compiling this many characters.
TEXT_PER_WORKER: Final = 300_000


def compile_many(
    modules: Sequence[Sequence[str]],
    target: LLVMTarget,
    *,
    opt: Level = DEFAULT_LEVEL,
    workers: int | None = None,
) -> list[bytes]:
    """An object file for each of `modules`.

    LLVM runs in one thread of a process at a time, so large work is shared by `workers` processes,
    by default as many as there are cores and the work is worth.
    """
    sizes = [sum(map(len, texts)) for texts in modules]
    if workers is None:
        most = settings.WORKERS.read() or _cores()
        workers = min(most, sum(sizes) // TEXT_PER_WORKER)
    started = time.perf_counter()
    # the longest first, which balances the load
    waiting = deque(sorted(range(len(modules)), key=lambda i: -sizes[i]))
    results: list[bytes | None] = [None] * len(modules)
    with _Helpers(min(workers, len(modules)) - 1) as helpers:
        helpers.start(modules, target, opt, waiting, results)
        while (index := _next(waiting)) is not None:
            results[index] = compile_module(modules[index], target, opt=opt)
        helpers.finish()
    log.info(
        "compiled %d modules (%d kB of text) for %s in %.2f s, %d processes",
        len(modules),
        sum(sizes) // 1000,
        target,
        time.perf_counter() - started,
        1 + len(helpers.workers),
    )
    return [data for data in results if data is not None]


def _next(waiting: deque[int]) -> int | None:
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Helpers:
    """Processes that take modules from the same queue as this one, each with a thread."""

    def __init__(self, count: int) -> None:
        self.workers = [
            worker for _ in range(count) if (worker := CompileWorker.start()) is not None
        ]
        self.threads: list[threading.Thread] = []
        self.errors: list[TargetError] = []

    def __enter__(self) -> _Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()
        for thread in self.threads:
            thread.join()

    def start(
        self,
        modules: Sequence[Sequence[str]],
        target: LLVMTarget,
        opt: Level,
        waiting: deque[int],
        results: list[bytes | None],
    ) -> None:
        """Start compiling into `results`."""

        def supervise(worker: CompileWorker) -> None:
            if not worker.ready():
                log.info("a process that was to compile did not start; others take its work")
                return
            while (index := _next(waiting)) is not None:
                try:
                    results[index] = worker.compile(modules[index], str(target), opt)
                except TargetError as error:
                    self.errors.append(error)
                    waiting.clear()

        for worker in self.workers:
            self.threads.append(threading.Thread(target=supervise, args=(worker,), daemon=True))
            self.threads[-1].start()

    def finish(self) -> None:
        """Wait for all processes; raise the first error."""
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
