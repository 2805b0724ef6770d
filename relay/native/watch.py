"""Signal handling while native code runs: Ctrl-C ends a call.

Python runs signal handlers in its main thread between bytecode instructions, and a native call is
one instruction. So native code in the main thread calls back at intervals, which runs handlers; an
exception of a handler ends the native call and is raised after it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from typing import Final

from relay.target.llvm import abi

_ASK: Final = ctypes.CFUNCTYPE(ctypes.c_int32)


def _signals(raised: list[BaseException]) -> Generator[int, None, None]:
    """Yields 0 to continue, 1 when a signal handler raised an exception, which is then in `raised`.

    Python runs handlers when it resumes. A function would not be inside its `try` yet, a generator
    is.
    """
    answer = 0
    while True:
        try:
            while True:
                yield answer
                answer = 0
        except GeneratorExit:
            return
        except BaseException as error:  # raised again after the call
            raised.append(error)
            answer = 1


class Signals:
    """The callback of native code. `function` is the address of `i32 ()`: 0 to continue."""

    __slots__ = ("_ask", "_raised", "function")

    def __init__(self) -> None:
        self._raised: list[BaseException] = []
        asked = _signals(self._raised)
        next(asked)
        self._ask = _ASK(asked.__next__)
        self.function = ctypes.cast(self._ask, ctypes.c_void_p).value or 0

    def raised(self, status: int) -> BaseException | None:
        """The exception of a signal handler, if it ended a call with that status."""
        return self._raised.pop() if status == abi.INTERRUPTED and self._raised else None


class Watch(Signals):
    """The callback of kernels: a watch (`relay.target.llvm.abi`) at `address`."""

    __slots__ = ("_words", "address")

    def __init__(self) -> None:
        super().__init__()
        self._words = (ctypes.c_int64 * (abi.WATCH_SIZE // 8))()
        self._words[abi.ASK // 8] = self.function
        self._words[abi.THREAD // 8] = threading.main_thread().ident or 0
        self.address = ctypes.addressof(self._words)
