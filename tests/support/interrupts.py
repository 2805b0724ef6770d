"""Ctrl-C while something runs."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

AGAIN = 2  # seconds


def interrupt(run: Callable[[], object], after: float = 0.1) -> float:
    """Press Ctrl-C `after` so many seconds of calling `run` again and again: the seconds until
    KeyboardInterrupt comes out of it.

    A press without an answer is repeated, as by a user: Python drops what a signal handler raises
    inside a callback of the garbage collector.
    """
    begun, done = threading.Event(), threading.Event()
    pressed, answered = math.inf, math.inf
    user_of = threading.get_ident()

    def press() -> None:
        nonlocal pressed
        begun.wait()
        time.sleep(after)
        pressed = time.perf_counter()
        while True:
            signal.pthread_kill(user_of, signal.SIGINT)
            if done.wait(AGAIN):
                return

    def handle(*_: Any) -> None:
        if not done.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    user = threading.Thread(target=press)
    user.start()
    try:
        begun.set()
        while True:
            run()
    except KeyboardInterrupt:
        answered = time.perf_counter()
    finally:
        done.set()
        begun.set()
        user.join()
        signal.signal(signal.SIGINT, before)
    return answered - pressed
