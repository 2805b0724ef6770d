"""Nesting without end for code that calls itself through a user's methods.

A visitor is a class whose methods call each other through `super()` and `self.visit`: a user's
override sits between every two levels, does something before and something after, and may decide
not to go on. No loop of ours can stand in for such calls without changing what they mean. So they
stay calls, and each stretch of nesting gets a stack of its own: when the present one is half used,
the next call runs in a fresh greenlet. Python's recursion limit is neither raised nor reached.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

A = TypeVar("A")
T = TypeVar("T")

# Looking at the depth costs about a microsecond, so it is done at every eighth level only.
LOOK_EVERY = 8


class Stack:
    """Counts how deeply calls are nested and moves on to a fresh stack in time.

    The outermost call is the hub: it starts the greenlets, because a greenlet begins at the depth
    of the one that starts it, and the hub is near the bottom.
    """

    __slots__ = ("_hub", "_level", "_room")

    def __init__(self) -> None:
        self._hub: greenlet | None = None
        self._level = 0
        self._room = 0

    def call(self, f: Callable[[A], T], x: A) -> T:
        """`f(x)`, here or on a fresh stack."""
        if self._hub is None:
            return self._serve(f, x)
        self._level += 1
        try:
            if self._level % LOOK_EVERY == 0 and self._is_half_used():
                return self._hub.switch((f, x))  # type: ignore[no-any-return]
            return f(x)
        finally:
            self._level -= 1

    def _is_half_used(self) -> bool:
        try:
            sys._getframe(self._room // 2)
        except ValueError:
            return False
        return True

    def _serve(self, f: Callable[[A], T], x: A) -> T:
        """Run `f(x)` and whatever it asks to have run elsewhere, each in a greenlet of its own."""
        self._hub = getcurrent()
        self._level = 0
        self._room = sys.getrecursionlimit() - _depth()
        waiting: list[greenlet] = []
        current, message = _start(f), (x,)
        resume: Callable[..., Any] = current.switch
        try:
            while True:
                try:
                    answer = resume(*message)
                except BaseException as error:
                    if not waiting:
                        raise
                    current = waiting.pop()
                    resume, message = current.throw, (error,)  # type: ignore[assignment]
                    continue
                if not current.dead:
                    waiting.append(current)
                    wanted, argument = answer
                    current = _start(wanted)
                    resume, message = current.switch, (argument,)
                elif waiting:
                    current = waiting.pop()
                    resume, message = current.switch, (answer,)
                else:
                    return answer  # type: ignore[no-any-return]
        finally:
            self._hub = None


def _start(f: Callable[..., Any]) -> greenlet:
    started = greenlet(f)
    started.gr_context = contextvars.copy_context()
    return started


def _depth() -> int:
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        depth += 1
    return depth
