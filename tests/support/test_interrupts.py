"""The presses of Ctrl-C that tests make arrive."""

import signal
import threading
import time
import weakref

import pytest

from tests.support.interrupts import interrupt


class Key:
    """Something that a weak reference may look at."""


def test_what_python_drops_is_pressed_again():
    """In callbacks of weak references, which are those of `WeakKeyDictionary` as well."""
    dropped = 0

    def forget(_):
        nonlocal dropped
        dropped += 1
        time.sleep(60)

    def run():
        if dropped == 3:
            time.sleep(60)
        key = Key()
        seen = weakref.ref(key, forget)
        del key
        assert seen() is None

    interrupt(run, after=0.01)
    assert dropped == 3


def test_it_ends_in_the_thread_that_runs_and_leaves_everything_as_it_was():
    before = signal.getsignal(signal.SIGINT), threading.active_count()
    for _ in range(20):
        assert interrupt(lambda: time.sleep(60), after=0.001) >= 0
    assert (signal.getsignal(signal.SIGINT), threading.active_count()) == before


def test_an_error_of_what_runs_comes_out():
    with pytest.raises(ZeroDivisionError):
        interrupt(lambda: 1 / 0)
