"""The native runtime in this process: loaded once, on first use.

    context = Context(threads=2)                        one per call that runs at the same time
    request = Request(context, table, count, frame)     addresses, and a number of calls
    status = runtime().call(request.address)            runs the program; releases the GIL

Its code is never unloaded, because the threads of the pool run in it. They are stopped before the
process ends or forks, unless a parallel loop is running; a child process starts without any. The
next parallel loop starts new ones.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

from relay.executors.cores import MOST_THREADS, default_threads
from relay.immutable import frozen
from relay.native import pool, run
from relay.native.watch import Watch
from relay.target.llvm import abi
from relay.target.llvm.jit import Library, load
from relay.target.llvm.target import LLVMTarget

_FUNCTIONS = (
    "relay_run",
    "relay_call",
    "relay_context",
    "relay_parallel",
    "relay_pool_stop",
    "relay_pool_reset",
)


def runtime_texts(target: LLVMTarget) -> list[str]:
    """The LLVM IR of the runtime."""
    return [pool.text(target), run.text(target)]


def runtime_object(target: LLVMTarget) -> bytes:
    """The object file of the runtime for `target`."""
    from relay.target.llvm.compile import compile_module

    return compile_module(runtime_texts(target), target, imports=pool.imports(target))


@frozen
class Runtime:
    """The functions of the native runtime, callable from Python."""

    library: Library
    # i32 (context, table, count, frame): addresses as integers
    run: Callable[[int, int, int, int], int]
    # i32 (request): the same, with less overhead
    call: Callable[[int], int]
    # void (context, threads)
    prepare: Callable[[int, int], None]
    # i32 (): 1 when a loop is running in another thread
    stop: Callable[[], int]
    reset: Callable[[], None]


class _Process:
    """The one runtime of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtime: Runtime | None = None

    def get(self, code: bytes | None) -> Runtime:
        with self.lock:
            if self.runtime is None:
                self.runtime = start(code or runtime_object(portable(LLVMTarget.here())))
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(before=self.runtime.stop, after_in_child=self.forked)
                atexit.register(self.runtime.stop)
            return self.runtime

    def forked(self) -> None:
        """In a child process: the threads of the pool, and an owner of the lock, do not exist."""
        self.lock = threading.Lock()
        if self.runtime is not None:
            self.runtime.reset()


_process = _Process()


def runtime(code: bytes | None = None) -> Runtime:
    """The native runtime. The first call loads it from `code`, or compiles it first."""
    return _process.runtime or _process.get(code)


def portable(host: LLVMTarget) -> LLVMTarget:
    """The generic processor of that architecture, which is enough for the runtime."""
    return LLVMTarget.read(f"llvm -mtriple={host.triple} -mcpu=generic")


def start(code: bytes) -> Runtime:
    """Load a runtime of its own; programs share `runtime()`, and its threads."""
    library = load(code, _FUNCTIONS)
    library.keep_forever()

    def function(name: str, result: type | None, *arguments: type) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, *arguments)(library.address(name))

    pointer, integer, status = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
    return Runtime(
        library,
        run=function("relay_run", status, pointer, pointer, integer, pointer),
        call=function("relay_call", status, pointer),
        prepare=function("relay_context", None, pointer, integer),
        stop=function("relay_pool_stop", status),
        reset=function("relay_pool_reset", None),
    )


def thread_count(threads: int | None) -> int:
    """How many threads a call uses, by default all cores."""
    wanted = default_threads() if threads is None else threads
    if not 1 <= wanted <= MOST_THREADS:
        raise ValueError(f"a call uses 1 to {MOST_THREADS} threads, not {wanted}")
    return wanted


class Context:
    """The context of kernels (`relay.target.llvm.abi`), for one call at a time."""

    __slots__ = ("_watch", "_words", "address")

    def __init__(self, threads: int | None = None, *, within: Runtime | None = None) -> None:
        self._words = (ctypes.c_int64 * (abi.CONTEXT_SIZE // 8))()
        self.address = ctypes.addressof(self._words)
        (within or runtime()).prepare(self.address, thread_count(threads))
        self._watch = Watch()
        self._words[abi.WATCH // 8] = self._watch.address

    @property
    def threads(self) -> int:
        """The most threads a parallel loop may use."""
        return self._words[abi.THREADS // 8]

    @threads.setter
    def threads(self, count: int) -> None:
        self._words[abi.THREADS // 8] = count

    @property
    def error(self) -> int:
        """0, or the code a parallel loop failed with."""
        return self._words[abi.ERROR // 8]

    @property
    def details(self) -> tuple[int, int, int]:
        """Details of the error."""
        first, second, third = (self._words[offset // 8] for offset in abi.DETAILS)
        return first, second, third

    def raised(self, status: int) -> BaseException | None:
        """The exception of a signal handler, if it ended a call with that status."""
        return self._watch.raised(status)

    @property
    def record(self) -> int:
        """The index of the call that failed."""
        return self._words[abi.RECORD // 8]


class Request:
    """The arguments of `run` in memory, for repeated calls."""

    __slots__ = ("_context", "_words", "address")

    def __init__(self, context: Context, table: int, count: int, frame: int) -> None:
        self._context = context  # must outlive the request
        self._words = (ctypes.c_int64 * 4)(context.address, table, count, frame)
        self.address = ctypes.addressof(self._words)
