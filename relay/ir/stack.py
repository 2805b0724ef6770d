"""Unbounded recursion for visitors, whose methods users override.

The methods of a visitor call each other through `super()` and `self.visit`, with a user's override
between every two levels, so no loop can replace these calls. Instead the recursion is split into
segments: when the current stack is half used, the next call runs in a fresh greenlet. Python's
recursion limit is neither raised nor reached.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

A = TypeVar("A")
T = TypeVar("T")

# Measuring the depth takes about a microsecond, so it is done at every eighth level only, except
# where little room is left.
LOOK_EVERY = 8
LITTLE_ROOM = 400


class _Segment(greenlet):
    """One segment of the recursion; its stack may grow to the depth `room`.

    The hub is the greenlet of the outermost call. It starts all segments, because a greenlet begins
    at the depth of the one that starts it, and the hub is near the bottom. Nested visitors share a
    hub.
    """

    hub: greenlet
    room: int
    level: int = 0

    def is_half_used(self) -> bool:
        if self.level % LOOK_EVERY and self.room > LITTLE_ROOM:
            return False
        try:
            sys._getframe(self.room // 2)
        except ValueError:
            return False
        return True


def call(f: Callable[[A], T], x: A) -> T:
    """`f(x)`, here or on a fresh stack."""
    segment = getcurrent()
    if not isinstance(segment, _Segment):
        return _serve(f, x)
    segment.level += 1
    try:
        if segment.is_half_used():
            return segment.hub.switch((f, x))  # type: ignore[no-any-return]
        return f(x)
    finally:
        segment.level -= 1


def _serve(f: Callable[[A], T], x: A) -> T:
    """Run `f(x)` and whatever it asks to have run elsewhere, each in a segment of its own."""
    hub = getcurrent()
    room = sys.getrecursionlimit() - _depth()
    contextvars.copy_context()  # makes sure that there is a context to share
    waiting: list[_Segment] = []
    current = _start(f, hub, room, hub.gr_context)
    resume: Callable[..., Any] = current.switch
    message: Any = x
    while True:
        try:
            answer = resume(message)
        except BaseException as error:
            if not waiting:
                message = None  # or an error and this frame, in its traceback, stay alive together
                raise
            current = waiting.pop()
            resume, message = current.throw, error
            continue
        if not current.dead:
            wanted, message = answer
            waiting.append(current)
            current = _start(wanted, hub, room, current.gr_context)
            resume = current.switch
        elif waiting:
            current = waiting.pop()
            resume, message = current.switch, answer
        else:
            return answer  # type: ignore[no-any-return]


def _start(
    f: Callable[..., Any], hub: greenlet, room: int, context: contextvars.Context | None
) -> _Segment:
    segment = _Segment(f, hub)
    segment.hub = hub
    segment.room = room
    segment.gr_context = context  # the caller's own: a call sees and changes the same variables
    return segment


def _depth() -> int:
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        depth += 1
    return depth
