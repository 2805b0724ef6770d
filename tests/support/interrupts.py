"""Ctrl-C, and other signals, while something runs."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

AGAIN = 2  # seconds


def stop() -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


def interrupt(
    run: Callable[[], object],
    after: float = 0.1,
    *,
    handle: Callable[[], None] = stop,
    error: type[BaseException] = KeyboardInterrupt,
    number: int = signal.SIGINT,
    again: float = AGAIN,
) -> float:
    """Press Ctrl-C `after` so many seconds of calling `run` again and again: the seconds until
    KeyboardInterrupt comes out of it. Or send the signal `number`, which is handled by `handle`,
    until its `error` comes out.

    A press without an answer is repeated, as by a user. Python drops what a signal handler raises
    inside a finalizer or a callback of a weak reference, such as garbage of earlier tests may have,
    and says so to `sys.unraisablehook`: the next press, at once, is the one that counts then.
    """
    begun, due = threading.Event(), threading.Event()
    is_done = False
    pressed, answered = math.inf, math.inf
    user_of = threading.get_ident()

    def calling() -> None:
        begun.set()
        while True:
            run()

    def press() -> None:
        nonlocal pressed
        begun.wait()
        time.sleep(after)
        while not is_done:
            pressed = min(pressed, time.perf_counter())
            signal.pthread_kill(user_of, number)
            due.wait(again)
            due.clear()

    def handler(_: int, frame: FrameType | None) -> None:
        # only inside the calls: an answer, once it is out, is not answered again
        while frame is not None and frame.f_code is not calling.__code__:
            frame = frame.f_back
        if frame is not None:
            handle()

    def dropped(lost: Any) -> None:
        nonlocal pressed
        if not isinstance(lost.exc_value, error):
            hook_before(lost)
            return
        pressed = math.inf
        due.set()

    hook_before, sys.unraisablehook = sys.unraisablehook, dropped
    before = signal.signal(number, handler)
    user = threading.Thread(target=press)
    user.start()
    try:
        calling()
    except error:
        answered = time.perf_counter()
    finally:
        is_done = True
        begun.set()
        due.set()
        user.join()
        signal.signal(number, before)
        sys.unraisablehook = hook_before
    return answered - pressed
