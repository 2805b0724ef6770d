"""A process that compiles for another one: its errors, its end."""

import io
import json
import os
import time

import pytest

from relay.cache.process import READY, read_frame, write_frame
from relay.errors import TargetError
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.worker import CompileWorker, serve

TEXT = "define i32 @answer() { ret i32 42 }"


def test_the_serving_end_answers_until_nothing_more_comes():
    requests, answers = io.BytesIO(), io.BytesIO()
    for text in (TEXT, "nonsense", TEXT):
        request = {"target": str(Target.host()), "opt": 1, "texts": 1}
        write_frame(requests, json.dumps(request).encode())
        write_frame(requests, text.encode())
    requests.seek(0)
    serve(requests, answers)
    answers.seek(0)
    assert read_frame(answers) == READY
    expected = compile_module([TEXT], Target.host())
    for right in (True, False, True):
        error = json.loads(read_frame(answers))["error"]
        data = read_frame(answers)
        assert (error is None) == right
        assert data == (expected if right else b"")
    assert answers.read() == b""


@pytest.fixture
def worker():
    made = CompileWorker.start()
    yield made
    made.stop()


def test_another_process_compiles(worker):
    assert worker.ready()
    assert worker.compile([TEXT], str(Target.host()), 1) == compile_module([TEXT], Target.host())
    with pytest.raises(TargetError, match="LLVM does not take the code"):
        worker.compile(["nonsense"], str(Target.host()), 1)
    assert worker.compile([TEXT], str(Target.host()), 0)


def test_a_process_that_dies_is_an_error(worker):
    assert worker.ready()
    worker._process.kill()
    with pytest.raises(TargetError, match="ended unexpectedly"):
        worker.compile([TEXT], str(Target.host()), 1)


def test_what_was_not_sent_does_not_keep_it_from_stopping(worker):
    assert worker.ready()
    worker._process.kill()
    worker._process.wait()
    worker._requests.write(b"not yet sent")
    worker.stop()
    assert worker._requests.closed and worker._answers.closed


def test_it_ends_when_its_starter_is_gone(worker):
    assert worker.ready()
    worker._requests.close()
    assert worker._process.wait(timeout=20) == 0


@pytest.mark.skipif(not hasattr(os, "getpgid"), reason="a system with process groups")
def test_ctrl_c_is_not_for_it(worker):
    assert worker.ready()
    assert os.getpgid(worker._process.pid) != os.getpgid(0)


def test_stopping_does_not_wait_for_work(worker):
    started = time.perf_counter()
    worker.stop()
    assert worker._process.returncode is not None
    assert time.perf_counter() - started < 60
    assert not worker.ready()
