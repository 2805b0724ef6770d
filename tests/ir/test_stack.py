"""Calls that nest without end, on stacks of their own."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from greenlet import getcurrent, greenlet

from relay.ir.stack import call
from tests.support.sampling import deep

DEEP = deep(100_000)


def count(n: int) -> int:
    return 1 + call(count, n - 1) if n else 0


def at_depth(frames: int, f: Callable[[], Any]) -> Any:
    """`f()` below that many frames of Python."""
    return f() if frames <= 0 else at_depth(frames - 1, f)


def frames_here() -> int:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def test_a_call_gives_its_result():
    assert call(lambda x: x + 1, 2) == 3


def test_calls_nest_without_limit():
    assert count(0) == 0
    assert count(1) == 1
    assert count(DEEP) == DEEP


def test_the_recursion_limit_is_left_alone():
    limit = sys.getrecursionlimit()
    seen = set()

    def look(n: int) -> None:
        seen.add(sys.getrecursionlimit())
        if n:
            call(look, n - 1)

    call(look, 5 * limit)
    assert seen == {limit}


@pytest.mark.parametrize("left", [600, 400, 200, 100, 60])
def test_calls_begin_at_any_depth(left):
    """With so many frames left of what Python allows."""
    used = sys.getrecursionlimit() - frames_here() - left
    assert at_depth(used, lambda: count(5000)) == 5000


def test_calls_with_frames_of_their_own_between_them():
    def padded(n: int) -> int:
        return at_depth(20, lambda: 1 + call(padded, n - 1)) if n else 0

    assert call(padded, 2000) == 2000


def test_an_exception_goes_through_all_segments():
    class Error(Exception):
        pass

    left = []

    def fail(n: int) -> None:
        try:
            if n == 0:
                raise Error("deep")
            call(fail, n - 1)
        finally:
            left.append(n)

    with pytest.raises(Error, match="deep"):
        call(fail, 5000)
    assert left == list(range(5001))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_interrupts_keep_their_kind(kind):
    def fail(n: int) -> None:
        if n == 0:
            raise kind("deep")
        call(fail, n - 1)

    with pytest.raises(kind, match="deep"):
        call(fail, 2000)


def test_a_caller_may_catch_and_go_on():
    def retry(n: int) -> int:
        if n % 2:
            raise ValueError(n)
        try:
            return call(retry, n - 1) if n else 0
        except ValueError:
            return 1 + (call(retry, n - 2) if n > 1 else 0)

    assert call(retry, 4000) == 2000


def test_an_exception_is_the_same_object_at_both_ends():
    error = ValueError("this one")

    def fail(n: int) -> None:
        if n == 0:
            raise error
        call(fail, n - 1)

    with pytest.raises(ValueError, match="this one") as caught:
        call(fail, 2000)
    assert caught.value is error


def test_uses_inside_each_other_share_the_depth():
    def outer(n: int) -> int:
        inner = count(700) if n % 300 == 0 else 0
        return inner + (call(outer, n - 1) if n else 0)

    assert call(outer, 3000) == 11 * 700

    def layer(k: int) -> Callable[[int], int]:
        def visit(n: int) -> int:
            if n == 0:
                return call(layer(k - 1), 300) if k else 1
            return call(visit, n - 1)

        return visit

    assert call(layer(12), 300) == 1


def test_two_that_call_each_other():
    def even(n: int) -> bool:
        return call(odd, n - 1) if n else True

    def odd(n: int) -> bool:
        return call(even, n - 1) if n else False

    assert call(even, 10_001) is False


def test_context_variables_are_those_of_the_caller():
    depth = contextvars.ContextVar("depth", default=0)
    seen = []

    def nest(n: int) -> None:
        token = depth.set(depth.get() + 1)
        if n == 0:
            seen.append(depth.get())
        else:
            call(nest, n - 1)
        depth.reset(token)

    call(nest, 3000)
    assert seen == [3001]
    assert depth.get() == 0


def test_what_a_call_sets_stays_set():
    name = contextvars.ContextVar("name", default="unset")

    def run() -> str:
        def nest(n: int) -> None:
            if n:
                call(nest, n - 1)
            else:
                name.set("set")

        call(nest, 3000)
        return name.get()

    assert contextvars.copy_context().run(run) == "set"
    assert name.get() == "unset"


def test_calls_in_a_context_of_their_own():
    name = contextvars.ContextVar("name", default="outside")

    def inside(n: int) -> str:
        return call(inside, n - 1) if n else name.get()

    def nest(n: int) -> tuple[str, str]:
        if n:
            return call(nest, n - 1)
        context = contextvars.copy_context()
        context.run(name.set, "inside")
        return context.run(call, inside, 2000), name.get()

    assert call(nest, 2000) == ("inside", "outside")


def test_threads_do_not_meet():
    results: dict[int, int] = {}

    def work(index: int) -> None:
        results[index] = count(deep(10_000) + index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: deep(10_000) + i for i in range(4)}


def test_greenlets_of_the_caller_do_not_meet():
    """Two that take turns, each in the middle of a deep call."""
    order: list[str] = []
    inside: dict[str, greenlet] = {}

    def work(name: str) -> None:
        def nest(n: int) -> None:
            if n == 1500:
                order.append(name)
                inside[name] = getcurrent()
                main.switch()
            if n:
                call(nest, n - 1)

        call(nest, 3000)
        order.append(f"{name} is done")

    main = getcurrent()
    for name in ("first", "second"):
        greenlet(work).switch(name)
    for name in ("first", "second"):
        inside[name].switch()
    assert order == ["first", "second", "first is done", "second is done"]


def test_nothing_stays_behind():
    alive: list[weakref.ref] = []

    class Token:
        pass

    def nest(n: int, fails: bool) -> None:
        token = Token()
        alive.append(weakref.ref(token))
        if n:
            call(lambda m: nest(m, fails), n - 1)
        elif fails:
            raise ValueError

    gc.collect()
    before = sum(issubclass(type(o), greenlet) for o in gc.get_objects())
    gc.disable()
    try:
        call(lambda n: nest(n, False), 2000)
        assert not any(r() for r in alive)
        with pytest.raises(ValueError, match=r"^$"):
            call(lambda n: nest(n, True), 2000)
    finally:
        gc.enable()
    gc.collect()
    assert not any(r() for r in alive)
    after = sum(issubclass(type(o), greenlet) for o in gc.get_objects())
    assert after <= before


def test_generators_inside_are_not_disturbed():
    def numbers(n: int):
        yield n
        yield call(count, n)
        yield n

    def nest(n: int) -> list[int]:
        return call(nest, n - 1) if n else list(numbers(3000))

    assert call(nest, 3000) == [3000, 3000, 3000]
