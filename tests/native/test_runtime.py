"""The runtime in this process: one, whoever asks first, with contexts that say what went wrong."""

import threading

import pytest

from relay.executors.cores import MOST_THREADS, default_threads, usable_cores
from relay.native.runtime import Context, portable, runtime, runtime_object
from relay.target import Target


def test_all_threads_get_the_same_runtime():
    found = []
    askers = [threading.Thread(target=lambda: found.append(runtime())) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len({id(each) for each in found}) == 1


def test_a_context_begins_without_an_error():
    context = Context(3)
    assert (context.threads, context.error, context.details, context.record) == (3, 0, (0, 0, 0), 0)
    context.threads = 2
    assert context.threads == 2


@pytest.mark.parametrize("threads", [0, -1, MOST_THREADS + 1])
def test_a_context_needs_a_sensible_number_of_threads(threads):
    with pytest.raises(ValueError, match="1 to 1024 threads"):
        Context(threads)


def test_the_environment_says_how_many_threads(monkeypatch):
    monkeypatch.setenv("RELAY_NUM_THREADS", "3")
    assert default_threads() == 3
    assert Context().threads == 3
    monkeypatch.delenv("RELAY_NUM_THREADS")
    assert 1 <= default_threads() == usable_cores()


def test_the_same_object_every_time():
    target = portable(Target.host())
    assert runtime_object(target) == runtime_object(target)


def test_the_runtime_runs_on_every_processor_of_its_kind():
    assert portable(Target("llvm -level=avx512")) == Target("llvm -level=baseline")
    assert runtime_object(Target.aarch64())
