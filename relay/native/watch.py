"""Python's signals while native code runs: Ctrl-C ends a call.

Python handles signals in its main thread, between two steps of its own, and a native call is one of
them. So native code that runs in the main thread asks from time to time whether to go on: that lets
handlers run, and what one of them raises ends the call and is raised again after it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from typing import Final

from relay.target.llvm import abi

_ASK: Final = ctypes.CFUNCTYPE(ctypes.c_int32)


def _signals(raised: list[BaseException]) -> Generator[int, None, None]:
    """Let Python handle signals: 1 when a handler raised an exception, which is then in `raised`.

    Python looks for signals before it goes on. A function would do so before it is in its `try`;
    a generator goes on inside of it.
    """
    answer = 0
    while True:
        try:
            while True:
                yield answer
                answer = 0
        except GeneratorExit:
            return
        except BaseException as error:  # whatever it is, it is raised again after the call
            raised.append(error)
            answer = 1


class Signals:
    """Whoever native code asks. `function` is the address of `i32 ()`, which gives 0 to go on."""

    __slots__ = ("_ask", "_raised", "function")

    def __init__(self) -> None:
        self._raised: list[BaseException] = []
        asked = _signals(self._raised)
        next(asked)
        self._ask = _ASK(asked.__next__)
        self.function = ctypes.cast(self._ask, ctypes.c_void_p).value or 0

    def raised(self, status: int) -> BaseException | None:
        """What the handler of a signal has raised, which ended a call with that status."""
        return self._raised.pop() if status == abi.INTERRUPTED and self._raised else None


class Watch(Signals):
    """The same for calls of kernels: a watch (`relay.target.llvm.abi`) at `address`."""

    __slots__ = ("_words", "address")

    def __init__(self) -> None:
        super().__init__()
        self._words = (ctypes.c_int64 * (abi.WATCH_SIZE // 8))()
        self._words[abi.ASK // 8] = self.function
        self._words[abi.THREAD // 8] = threading.main_thread().ident or 0
        self.address = ctypes.addressof(self._words)
