"""Threads share a parallel loop: every index once, whoever comes, sleeps, forks or ends."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from relay.executors.cores import MOST_THREADS
from relay.native import pool
from relay.target import Target
from relay.target.llvm.compile import assembly, compile_module


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("extent", [0, 1, 2, 3, 7, 100, 1001])
def test_every_index_is_visited_once_in_every_loop(parked, execute, threads, extent):
    data = np.zeros(max(extent, 1), np.int64)
    status, _ = execute(parked, "counts", data, extent, 300, threads=threads)
    assert status == 0
    assert (data[:extent] == 300).all()


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_worker_w_of_n_has_the_share_that_is_promised(parked, execute, threads):
    for extent in (1, 2, 3, 5, 64, 101):
        data = np.full(extent, -1)
        execute(parked, "workers", data, extent, threads=threads)
        n = min(threads, extent)
        shares = [np.full(extent * (w + 1) // n - extent * w // n, w) for w in range(n)]
        assert data.tolist() in (np.concatenate(shares).tolist(), [0] * extent)


def test_a_loop_inside_a_loop_runs_where_it_is(parked, execute):
    data = np.zeros(500, np.int64)
    for _ in range(50):
        execute(parked, "nested", data, 50, threads=3)
    assert (data == 50).all()


def test_eight_callers_at_once_all_get_their_results(parked, execute):
    failures = []

    def call(size):
        for _ in range(20):
            data = np.zeros(size, np.int64)
            execute(parked, "counts", data, size, 20, threads=3)
            if not (data == 20).all():
                failures.append(size)

    callers = [threading.Thread(target=call, args=(100 + i,)) for i in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def test_threads_that_sleep_are_woken(parked, execute):
    data = np.zeros(10_000, np.int64)
    for _ in range(4):
        time.sleep(4 * pool.AWAKE / 1e9)
        execute(parked, "counts", data, len(data), 5, threads=3)
    assert (data == 20).all()


def test_a_stopped_pool_starts_again(parked, execute):
    data = np.zeros(100, np.int64)
    for _ in range(5):
        execute(parked, "counts", data, 100, 3, threads=4)
        assert parked.stop() == 0
        assert parked.stop() == 0
    assert (data == 15).all()


def test_a_loop_with_more_threads_than_there_are_cores(parked, execute):
    data = np.zeros(3000, np.int64)
    execute(parked, "counts", data, 3000, 20, threads=70)  # more than one word of sleepers
    time.sleep(4 * pool.AWAKE / 1e9)
    execute(parked, "counts", data, 3000, 1, threads=70)
    execute(parked, "counts", data, 3000, 1, threads=2)
    assert (data == 22).all()
    assert parked.stop() == 0


SETUP = """
import os, sys, threading, time
import numpy as np
from relay.native.runtime import Context, runtime
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
sys.path.insert(0, {folder!r})
from conftest import KERNELS, NAMES, Program

library = load(compile_module([KERNELS], Target.host()), NAMES)

def loops(repeat, threads=3, size=1000):
    data = np.zeros(size, np.int64)
    program = Program(library, [("counts", range(3))], [data.ctypes.data, size, repeat])
    assert runtime().run(*program.arguments(Context(threads))) == 0
    assert (data == repeat).all()
"""


def succeeds(code):
    script = SETUP.format(folder=str(Path(__file__).parent)) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system with fork")


@needs_fork
def test_a_forked_child_has_threads_of_its_own_when_it_wants_them():
    succeeds("""
        loops(10)
        for _ in range(3):
            child = os.fork()
            if child == 0:
                loops(10)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            loops(10)
    """)


@needs_fork
def test_a_fork_while_another_thread_is_in_a_loop():
    succeeds("""
        import warnings
        warnings.simplefilter("ignore")  # Python warns of the thread, which is the point here
        loops(1)
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                loops(2000)
        thread = threading.Thread(target=busy)
        thread.start()
        for _ in range(10):
            child = os.fork()
            if child == 0:
                loops(50)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        thread.join()
    """)


@needs_fork
def test_a_child_that_ends_the_usual_way_is_as_clean():
    succeeds("""
        loops(10)
        child = os.fork()
        if child == 0:
            loops(10)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)


@pytest.mark.parametrize("wait", [0, 0.02])
def test_the_process_ends_while_threads_spin_or_sleep(wait):
    succeeds(f"loops(10)\ntime.sleep({wait})")


def test_the_process_ends_while_a_daemon_is_in_a_loop():
    succeeds("""
        def busy():
            while True:
                loops(100_000)
        threading.Thread(target=busy, daemon=True).start()
        time.sleep(0.1)
    """)


def test_loops_still_run_while_the_interpreter_ends():
    succeeds("""
        import atexit
        atexit.register(loops, 10)     # before the runtime is there, so it runs after its own end
        loops(10)
    """)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_signals_go_to_the_main_thread():
    succeeds("""
        import signal
        from pathlib import Path
        tasks = lambda: set(Path("/proc/self/task").iterdir())
        before = tasks()    # NumPy has threads too
        loops(10)
        ours = tasks() - before
        assert len(ours) == 2
        time.sleep(0.1)     # while a thread starts, everything is blocked
        for task in ours:
            mask = int((task / "status").read_text().split("SigBlk:")[1].split()[0], 16)
            assert mask >> (signal.SIGINT - 1) & 1
            assert not mask >> (signal.SIGSEGV - 1) & 1
    """)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_fewer_threads_where_the_system_gives_no_more():
    succeeds("""
        import resource
        loops(1, threads=2)
        used = len(os.listdir("/proc/self/task"))
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))   # room for few stacks
        loops(10, threads=1000, size=5000)
        assert used <= len(os.listdir("/proc/self/task")) < 1000
    """)


@pytest.mark.parametrize(
    "triple", ["x86_64-linux-gnu", "aarch64-linux-gnu", "aarch64-apple-darwin", "x86_64-freebsd"]
)
def test_every_system_has_its_code(triple):
    target = Target(f"llvm -mtriple={triple}")
    code = compile_module([pool.text(target)], target, imports=pool.imports(target))
    assert len(code) > 1000
    text = assembly([pool.text(target)], target)
    assert ("syscall" in text) == (target.system == "linux")
    assert ("isb" if target.arch == "aarch64" else "pause") in text


def test_where_there_are_no_threads_the_caller_does_it_all():
    windows = Target("llvm -mtriple=x86_64-pc-windows-msvc")
    assert pool.parking(windows) == "serial"
    assert not pool.imports(windows)


def test_the_word_has_room_for_every_number_of_threads():
    assert MOST_THREADS < pool._STOP
