"""LLVM IR as text becomes object code.

    compile_module([text, …], target)       one object file, as bytes
    compile_many([[text, …], …], target)    several, by several processes when that is worth it
    assembly([text, …], target)             the instructions, to read and to count

A text is a complete LLVM module without a target: definitions, and declarations of what is not an
intrinsic. Texts that go into one object define different symbols; what is `internal` stays apart.

Kernels arrive in their final form: vectorised, unrolled, tiled. So no pass here vectorises or
unrolls. What remains for LLVM is to keep in registers what a kernel keeps in local memory, which is
all that kernels with a schedule of their own need (level 1), and to remove what other schedules
compute or read several times over (level 2), for a third more of compile time. What surrounds the
kernels of a program is many small functions that call each other: those LLVM puts into one another
(level 3).

The same texts, target and level give the same bytes, on every machine.
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
from relay.errors import Diagnostic, TargetError
from relay.target.llvm.machine import target_machine
from relay.target.llvm.objects import MEMORY_FUNCTIONS, undefined_symbols
from relay.target.llvm.target import LLVMTarget
from relay.target.llvm.worker import CompileWorker

log = logging.getLogger("relay")

# Part of every cache key: raise it whenever the same texts compile to something else.
COMPILER_VERSION: Final = 2

# 0: no passes; 1: registers for local memory; 2: all of LLVM's simplification of functions;
# 3: of the whole module, calls included
Level = Literal[0, 1, 2, 3]
DEFAULT_LEVEL: Final = 2
_REGISTERS: Final = ("sroa", "simplify_cfg")


def llvm_version() -> str:
    """The version of LLVM that generates the code, and of the package that brings it."""
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
    apart: Collection[str] = (),
) -> bytes:
    """One object file with the functions of all texts, position-independent.

    `imports` names the functions of other libraries the code may call; any other is an error.
    `exports` names those that others may call; None for all. Those in `apart` are not put into
    functions that call them: who recurses does not want their memory on the stack.
    """
    with _optimised(texts, target, opt, exports, apart) as (machine, module):
        data: bytes = machine.emit_object(module)
    if unknown := undefined_symbols(data) - MEMORY_FUNCTIONS - frozenset(imports):
        raise TargetError(
            Diagnostic(
                "the code calls functions that are not part of it",
                expected=f"instructions of {target}",
                found=", ".join(sorted(unknown)),
            )
        )
    return data


def assembly(texts: Sequence[str], target: LLVMTarget, *, opt: Level = DEFAULT_LEVEL) -> str:
    """The instructions of all texts, as an assembler reads them."""
    with _optimised(texts, target, opt) as (machine, module):
        text: str = machine.emit_assembly(module)
    return text


@contextmanager
def _optimised(
    texts: Sequence[str],
    target: LLVMTarget,
    opt: Level,
    exports: Collection[str] | None = None,
    apart: Collection[str] = (),
) -> Iterator[tuple[Any, Any]]:
    """(target machine, module with all texts, after the passes), until the end of the block."""
    from llvmlite import binding

    machine = target_machine(target)
    # A context of its own: names in a shared one would depend on what was compiled before. It must
    # outlive its modules, which the garbage collector does not know; so both are closed here.
    with binding.create_context() as context, binding.parse_assembly("", context) as module:
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        try:
            for text in texts:
                with binding.parse_assembly(text, context) as part:
                    part.triple = module.triple
                    part.data_layout = module.data_layout
                    module.link_in(part)
            if exports is not None:
                _hide(module, exports)
            for name in apart:
                module.get_function(name).add_function_attribute("noinline")
            module.verify()
        except RuntimeError as error:
            raise TargetError(
                Diagnostic(
                    "LLVM does not take the code made for a kernel", found=str(error).strip()
                )
            ) from None
        _simplify(module, machine, opt)
        yield machine, module


def _hide(module: Any, exports: Collection[str]) -> None:
    """Let nobody outside see what is not exported."""
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

# Starting a process takes about as long as compiling this much text.
TEXT_PER_WORKER: Final = 300_000


def compile_many(
    modules: Sequence[Sequence[str]],
    target: LLVMTarget,
    *,
    opt: Level = DEFAULT_LEVEL,
    workers: int | None = None,
) -> list[bytes]:
    """An object file for each of `modules`.

    LLVM is used by one thread of a process at a time, so much work is shared with other processes:
    `workers` of them in all, by default as many as there are cores and the work is worth.
    """
    sizes = [sum(map(len, texts)) for texts in modules]
    if workers is None:
        most = settings.WORKERS.read() or _cores()
        workers = min(most, sum(sizes) // TEXT_PER_WORKER)
    started = time.perf_counter()
    # the long ones first: what is left at the end is short, and no process waits for another
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
    """Processes that take modules from the same queue as this one, a thread looking after each."""

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
        """Begin; results appear in `results`."""

        def look_after(worker: CompileWorker) -> None:
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
            self.threads.append(threading.Thread(target=look_after, args=(worker,), daemon=True))
            self.threads[-1].start()

    def finish(self) -> None:
        """Wait for what was begun; raise what went wrong."""
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
